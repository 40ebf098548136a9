"""Intervals on processes that nothing was chosen on: ``python -m tests.coverage.others``.

The random processes of `make tuning` (tables, dense features and tiles; jumps, lines and episodes),
walks of 20,000 steps, three states each. Prints the share of intervals of 95 % that hold the fixed
point, their width over the ideal one, and the share of logs with a caution. Takes some minutes.
"""

import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

import lincat
from lincat.tuning.cases import random_case
from lincat.tuning.run import fixed_point

SEED, ROWS, LOGS, STATES = 11, 20_000, 60, 3
FIGURES = ("mean", "quantile", "cvar", "probability_below")


def around_returns(problem, intervals):
    """A grid of six standard deviations about the means, within what can be reached."""
    whole = problem.grid(intervals)
    wide = fixed_point(problem, whole)
    seen = problem.process.stationary > 1e-9
    mean, sd = wide.mean()[seen], np.sqrt(np.maximum(wide.variance()[seen], 0.0))
    low, high = (mean - 6.0 * sd).min(), (mean + 6.0 * sd).max()
    return lincat.Grid(max(low, whole.low), min(high, whole.high), intervals)


def figure(dist, name, argument):
    if name == "mean":
        return dist.mean()
    options = {} if name == "cvar" else {"interpolate": True}
    value = getattr(dist, name)(argument, **options)
    # A signed distribution has chances below 0, of which intervals show 0.
    return np.clip(value, 0.0, 1.0) if name == "probability_below" else value


def counted(number):
    """Shares held and widths, (figures, 2), on one process, and its name."""
    problem, intervals = random_case(number, SEED)
    process, grid = problem.process, around_returns(problem, min(intervals, 100))
    often = np.argsort(-process.stationary)[: max(process.n_states // 2, STATES)]
    states = np.random.default_rng(number).choice(often, STATES, replace=False)
    true = fixed_point(problem, grid)[states]
    threshold = float(true.quantile(0.2, interpolate=True).mean())
    questions = list(zip(FIGURES, (None, 0.05, 0.05, threshold), strict=True))
    Phi = np.arange(process.n_states) if problem.is_tabular else problem.Phi
    held, width, estimate, warned = [], [], [], []
    for seed in range(LOGS):
        x = process.sample(ROWS, seed=seed)
        t = lincat.Transitions(Phi[x.state], x.reward, Phi[x.next_state], x.terminated)
        model = lincat.CategoricalLSTD(
            gamma=problem.gamma, grid=grid, n_features=problem.Phi.shape[1]
        )
        dist = model.fit(t).predict(Phi[states], confidence=0.95)
        warned.append(bool(model.ensemble_.cautions))
        ends = [dist.interval(*question) for question in questions]
        values = [figure(true, *question) for question in questions]
        held.append([(a <= v) & (v <= b) for (a, b), v in zip(ends, values, strict=True)])
        width.append([b - a for a, b in ends])
        estimate.append([figure(dist, *question) for question in questions])
    ideal = 2.0 * norm.ppf(0.975) * np.std(estimate, axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = np.median(width, axis=0) / ideal
    shares, widths = np.mean(held, axis=(0, 2)), np.median(wide, axis=1)
    return problem.name, problem.gamma, shares, widths, np.mean(warned)


if __name__ == "__main__":
    with threadpool_limits(1):
        for number in range(24):
            name, gamma, held, wide, warned = counted(number)
            found = zip(FIGURES, held, wide, strict=True)
            text = ", ".join(f"{figure} {share:.0%} {w:.2f}" for figure, share, w in found)
            line = f"{number} {name}, gamma {gamma:g}: {text}; warned {warned:.0%}"
            print(line, flush=True)
