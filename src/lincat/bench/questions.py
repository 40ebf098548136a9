"""How long another question takes, of statistics that are there: another gamma, K, level, time.

    lincat bench questions

Answers are distributions of eight groups of states and the start, on 200 intervals
(``SourceStatistics.returns``); with intervals; and as a run with verdict and page data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from lincat.bench.results import Bar, Result, worst
from lincat.bench.settings import Settings
from lincat.runs.evaluate import evaluate
from lincat.runs.source_statistics import SourceStatistics
from lincat.runs.stats import stats

_GAMMAS = (0.9, 0.95, 0.97, 0.99)
_ORDERS = {4: 1, 17: 8}  # of the Fourier basis in the plane, by its number of terms
_ALONE = "milliseconds, distributions"


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Ask each of some statistics in turns."""
    rows: list[dict[str, Any]] = []
    for d in (4,) if settings.quick else _ORDERS:
        progress(f"questions: {d} features")
        rows.append(_row(_sums(d, 3_000 if settings.quick else 100_000, settings), settings))
    return Result(
        "A question after the first, of statistics in memory",
        rows,
        [
            worst("another gamma from sums, milliseconds", rows, _ALONE, "<=", 100.0),
            Bar(
                "likewise, d = 4",
                next(row[_ALONE] for row in rows if row["features"] == 4),
                "<=",
                50.0,
            ),
        ],
    )


def _sums(d: int, n: int, settings: Settings) -> SourceStatistics:
    """Of a walk in the plane."""
    rng = np.random.default_rng(settings.seed)
    x, noise = np.zeros((n + 1, 2)), rng.normal(size=(n, 2))
    for i in range(n):
        x[i + 1] = 0.9 * x[i] + noise[i]
    table = {
        **{f"obs_{j}": x[:-1, j] for j in range(2)},
        **{f"next_obs_{j}": x[1:, j] for j in range(2)},
        "reward": np.round(x[:-1, 0]),
    }
    return stats(table, features="fourier", feature_options={"order": _ORDERS[d], "max_terms": d})


def _row(sums: SourceStatistics, settings: Settings) -> dict[str, Any]:
    asked: dict[str, Callable[[float], object]] = {
        _ALONE: lambda gamma: sums.returns(gamma=gamma),
        "of the last 16 blocks": lambda gamma: sums.returns(gamma=gamma, last_blocks=16),
        "with intervals": lambda gamma: sums.returns(gamma=gamma, confidence=0.95).interval("mean"),
    }
    d = sums.features.n_features_
    row: dict[str, Any] = {"case": f"{d} features", "features": d}
    for name, ask in asked.items():
        ask(0.92)
        row[name] = median(_milliseconds(partial(ask, gamma)) for gamma in _GAMMAS)
    if not settings.quick:
        evaluate(sums, gamma=0.5, intervals=50)  # kernels are compiled
        row["as a run, with verdict"] = _milliseconds(lambda: evaluate(sums, gamma=0.95))
    return row


def _milliseconds(work: Callable[[], object]) -> float:
    begun = time.process_time()  # on one core, by one thread
    work()
    return 1e3 * (time.process_time() - begun)
