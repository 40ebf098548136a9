"""Summing transitions up: against a bare matrix product, and on a log against the stream."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from lincat.bench.evaluate import Learned, learn, write_log
from lincat.bench.page import table
from lincat.bench.results import Bar
from lincat.bench.settings import Settings
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions
from lincat.solvers.batch import solve_totals
from lincat.statistics.block_statistics import Statistics

_LIMIT_MB = 64.0  # that memory may grow by from a fifth of a log on


@dataclass(frozen=True)
class _Case:
    rows: int
    d: int
    rewards: int  # 0 for continuous ones
    dtype: str = "float64"

    def __str__(self) -> str:
        rewards = f"{self.rewards} rewards" if self.rewards else "continuous rewards"
        return f"{self.rows:,} rows, d {self.d}, {rewards}, {self.dtype}"

    @property
    def bound(self) -> float:
        """Half a product for Sigma, and one, or three where a reward is split over three nodes."""
        return 1.0 / ((1.0 if self.rewards else 3.0) + 0.5)


_CASES = (
    _Case(1_000_000, 64, 11),
    _Case(1_000_000, 64, 11, "float32"),
    _Case(1_000_000, 64, 0),
    _Case(1_000_000, 17, 0),
    _Case(100_000, 256, 11),
    _Case(100_000, 256, 0),
)
_QUICK = (_Case(300, 4, 5),)


def summing(settings: Settings, progress: Callable[[str], None]) -> tuple[list[Bar], str]:
    """Rows a second of Statistics over those of one bare matrix product of the same features."""
    rows: list[dict[str, Any]] = []
    for case in _QUICK if settings.quick else _CASES:
        progress(f"summing up: {case}")
        rows.append(_sum_row(case, settings))
    what = "summing transitions up: speed over that of phi.T @ phi_next"
    bar = Bar(what, rows[0]["of a bare product"], ">=", 0.5, rows[0]["case"])
    note = (
        "Summing transitions up, one core, CPU time, in turns with phi.T @ phi_next of the same "
        "rows: Statistics also takes Sigma, half a product more, looks rows up by their reward, "
        "keeps sums by blocks of time, and splits continuous rewards over three of 64 nodes, three "
        "products; at most: the share if only these products took time. Another question: gamma .9 "
        "and 50 intervals, solved from the same sums without a pass.\n\n"
    )
    return [bar], note + table(rows)


def _sum_row(case: _Case, settings: Settings) -> dict[str, Any]:
    rng = np.random.default_rng(settings.seed)
    Phi = rng.random((case.rows + 1, case.d), dtype=np.float32).astype(case.dtype)
    reward = rng.normal(size=case.rows)
    if case.rewards:
        reward = np.floor(rng.random(case.rows) * case.rewards)
    data = Transitions(Phi[:-1], reward, Phi[1:])
    product, taken = [], []
    for _ in range(1 + min(settings.rounds, 5)):
        product.append(_cpu(lambda: data.phi.T @ data.phi_next))
        taken.append(_cpu(lambda: Statistics().update(data).totals()))
    totals = Statistics().update(data).totals()
    grid = Grid(10.0 * float(reward.min()), 10.0 * float(reward.max()), 50)
    return {
        "case": str(case),
        "million a second": case.rows / median(taken[1:]) / 1e6,
        "of a bare product": median(a / b for a, b in zip(product[1:], taken[1:], strict=True)),
        "at most": case.bound,
        "another question, s": _cpu(lambda: solve_totals(totals, grid, 0.9)),
    }


def learning(settings: Settings, progress: Callable[[str], None]) -> tuple[list[Bar], str]:
    """``lincat evaluate`` by sums over ``lincat evaluate`` step by step, on the same log."""
    n = 20_000 if settings.quick else settings.log_rows
    learners: tuple[Any, ...] = ("linear_ctd", "lstd")
    found: dict[str, list[Learned]] = {name: [] for name in learners}
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log.parquet"
        progress(f"writing {n:,} rows")
        write_log(log, n, "transition rows", settings.seed)
        for turn in range(1 if settings.quick else 3):
            for name in learners:
                progress(f"learning from them: {name}")
                found[name].append(learn(log, Path(place) / f"{name} {turn}", name))
    rows = [
        {
            "learner": name,
            "million rows a second": median(run.rate for run in runs) / 1e6,
            "start and end included": n / median(run.seconds for run in runs) / 1e6,
            "growth, MB": max(run.growth for run in runs),
        }
        for name, runs in found.items()
    ]
    pairs = zip(found["lstd"], found["linear_ctd"], strict=True)
    where = f"{n:,} rows of Parquet, d 17"
    ratio = median(ours.rate / stream.rate for ours, stream in pairs)
    growth = max(run.growth for run in found["lstd"])
    bars = [
        Bar("lincat evaluate --learner lstd, rows a second over stream", ratio, ">=", 1.0, where),
        Bar("growth of memory, MB, lstd", growth, "<=", _LIMIT_MB, where),
    ]
    note = (
        f"lincat evaluate on {n:,} rows of Parquet, d 17, 50 intervals, in turns; growth is that "
        "of resident memory over the last four fifths.\n\n"
    )
    return bars, note + table(rows)


def _cpu(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start
