"""Intervals without sums, from streams beside the stream: ``python -m tests.learners.sub_streams``.

Pieces of 64 rows go in turns to eight streams beside the one that answers; how much their tail
averages differ says how far the answer may be off, and how far their mean is from it what a start
that is not forgotten, or a step, leaves. Prints the share of CDF values (states that are often
seen) that intervals of 95 % hold, and their width over the ideal, without and with the second term;
along walks. Takes some minutes. What came of it is in docs/decisions.md.
"""

import numpy as np
from scipy.stats import t as student

import lincat
from lincat.coverage.cases import case_named, fixed_point
from lincat.tuning.cases import _PROCESSES

STREAMS, PIECE, LOGS = 8, 64, 40
CASES = ("paper", "slow features", "hidden regime", "gamma 0.99")
TABLES = (("jumps", 300), ("line", 60))


def cases():
    """Name, process, features (None for a table), gamma, grid, probes and their true CDF values."""
    for name in CASES:
        case = case_named(name)
        probes = case.Phi[list(case.probes)]
        yield name, case.process, case.Phi, case.gamma, case.grid, probes, fixed_point(name)
    rng = np.random.default_rng(5)
    for name, n in TABLES:
        process = _PROCESSES[name](rng, n)
        grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=0.9, intervals=40)
        probes = np.argsort(-process.stationary)[[0, n // 4, n // 2]]
        truth = lincat.true_returns(process, 0.9, grid)[probes].cdf_values
        yield f"{name}, {n} places", process, None, 0.9, grid, probes, truth


def learned(data, gamma, grid, n_features):
    return lincat.LinearCTD(grid=grid, gamma=gamma, n_features=n_features).fit(data)


def held(case, rows):
    """Share held and relative width, without and with the second term, (2, 2)."""
    _, process, Phi, gamma, grid, probes, truth = case
    inner = (truth > 1e-3) & (truth < 1.0 - 1e-3)
    n_features = process.n_states if Phi is None else Phi.shape[1]
    turn = np.arange(rows) // PIECE % STREAMS
    centres, reaches = [], []
    for seed in range(LOGS):
        x = process.sample(rows, seed=seed)
        phi, ahead = (s if Phi is None else Phi[s] for s in (x.state, x.next_state))
        parts = [slice(None), *(turn == i for i in range(STREAMS))]
        centre, *beside = (
            learned(
                lincat.Transitions(phi[part], x.reward[part], ahead[part]), gamma, grid, n_features
            ).predict(probes).cdf_values
            for part in parts
        )  # fmt: skip
        se = np.std(beside, axis=0, ddof=1) / np.sqrt(STREAMS)
        reach = student.ppf(0.975, STREAMS - 1) * se
        centres.append(centre)
        reaches.append([reach, np.hypot(reach, 1.5 * (np.mean(beside, axis=0) - centre))])
    errors, sizes = np.abs(np.array(centres) - truth), np.array(reaches)
    ideal = 1.96 * np.std(centres, axis=0)[inner]
    return [
        ((errors <= sizes[:, i])[:, inner].mean(), np.median(sizes[:, i].mean(0)[inner] / ideal))
        for i in range(2)
    ]


if __name__ == "__main__":
    for case in cases():
        for rows in (20_000, 100_000):
            text = " → ".join(f"{share:.0%}, {width:.2f}" for share, width in held(case, rows))
            print(f"{case[0]}, {rows:,} steps: {text}", flush=True)
