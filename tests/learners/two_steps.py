"""Whether two step sizes give a stream its error: ``python -m tests.learners.two_steps``.

Linear-CTD with steps a and 2a along the same walk; 2 Theta(a) − Theta(2a) cancels the bias that is
proportional to the step. Bars come from the iterates themselves, as a stream has nothing else:
cosine sums over the means of 32 blocks of the last half. Prints, for one step and for the pair, the
share of CDF values held, the width of the mean's interval over the ideal one, and the bias of CVaR
in standard deviations: the table of docs/decisions.md. Takes some minutes.
"""

import itertools
import warnings

import numpy as np
from scipy.stats import norm

import lincat
from lincat.core.uncertainty import Uncertainty
from lincat.coverage.cases import case_named, fixed_point
from lincat.learners import schedules
from lincat.solvers.influence import cosines

BLOCKS, ORDERS = 64, 8  # of which the last half count


def block_means(case, t, start):
    """Means of the iterates over blocks of time, (blocks, d, K), with start/R for a first step."""
    schedules._START = start
    model = lincat.LinearCTD(grid=case.grid, gamma=case.gamma, averaging="full")
    edges, sums = np.linspace(0, len(t), BLOCKS + 1).astype(int), [0.0]
    for first, last in itertools.pairwise(edges):
        sums.append(last * model.partial_fit(t[first:last]).Theta_mean_)
    added = np.diff(np.array(sums[1:]), axis=0)
    return np.array([sums[1], *added]) / np.diff(edges)[:, None, None]


def with_bars(case, means):
    """The average of the last half, with bars from it."""
    last = means[BLOCKS // 2 :]
    Phi = case.Phi[list(case.probes)]
    weights = cosines(np.ones(len(last)), ORDERS)
    directions = np.einsum("jb,nd,bdk->jnk", weights, Phi, last) / len(last)
    known = Uncertainty(directions, 0.95, np.zeros(len(Phi), dtype=bool))
    return lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, last.mean(0)), case.grid, known)


def study(name, rows, seeds):
    """Print what one step and two steps do on one process."""
    case, true = (
        case_named(name),
        lincat.ReturnDistribution(fixed_point(name), case_named(name).grid),
    )
    inner = (true.cdf_values > 1e-3) & (true.cdf_values < 1.0 - 1e-3)
    found = {"one": [], "two": []}
    for seed in seeds:
        seen = case.process.sample(rows, seed=seed)
        phi, phi_next = case.Phi[seen.state], case.Phi[seen.next_state]
        t = lincat.Transitions(phi, seen.reward, phi_next, seen.terminated)
        small, large = (block_means(case, t, start) for start in (0.375, 0.75))
        for key, means in (("one", large), ("two", 2.0 * small - large)):
            dist = with_bars(case, means)
            low, high = dist.band()
            held = ((low <= true.cdf_values) & (true.cdf_values <= high))[inner].mean()
            width = np.subtract(*dist.interval("mean")[::-1])
            found[key].append((held, width, dist.mean(), dist.cvar(0.05)))
    for key, values in found.items():
        held, width, mean, cvar = (np.array(column) for column in zip(*values, strict=True))
        ideal = 2.0 * norm.ppf(0.975) * mean.std(axis=0, ddof=1)
        bias = (cvar.mean(axis=0) - true.cvar(0.05)) / cvar.std(axis=0, ddof=1)
        print(
            f"{name}, {rows:,}, {key}: {held.mean():.0%} held, width {np.mean(width / ideal):.2f}, "
            f"bias of CVaR {np.abs(bias).max():.1f}",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for rows, n in ((20_000, 150), (100_000, 100)):
        for name in ("paper", "slow features", "hidden regime", "gamma 0.99"):
            study(name, rows, range(n))
