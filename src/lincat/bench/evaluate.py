"""``lincat evaluate`` on a large log, against the bare kernel on the same sizes in memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from lincat.bench import ours
from lincat.bench.cases import GAMMA, Case, draw
from lincat.bench.memory import resident
from lincat.bench.results import Result, worst
from lincat.bench.settings import Settings
from lincat.learners.registry import LearnerName
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun

_WIDTH, _K = 16, 50  # 16 numbers and the intercept: 17 features
_WARM_UP = 0.2  # of the log, before memory is looked at
_BLOCK = 500_000  # rows written at a time


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Learn from a Parquet log of 10^7 rows, in both of its forms."""
    rows = 20_000 if settings.quick else 10_000_000
    kernel = _Kernel(settings)
    table: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for form in ("episode rows", "transition rows"):
            progress(f"{form}: writing {rows:,}")
            log = Path(place) / "log.parquet"
            write_log(log, rows, form, settings.seed)
            progress(f"{form}: learning")
            kernel.time()
            done = learn(log, Path(place) / form)
            kernel.time()
            table.append(
                {
                    "case": form,
                    "GB": log.stat().st_size / 1e9,
                    "million a second": done.rate / 1e6,
                    "of the kernel": done.rate / kernel.rate,
                    "of the kernel, start and end included": rows / done.seconds / kernel.rate,
                    "growth, MB": done.growth,
                }
            )
            log.unlink()
    share = "lincat evaluate, share of the kernel's throughput"
    bars = [
        worst(share, table, "of the kernel", ">=", 0.6),
        worst("growth of memory over the run, MB", table, "growth, MB", "<=", 16.0),
    ]
    note = (
        "The kernel alone, in memory, with the sums of tail averaging: "
        f"{kernel.rate / 1e6:.3g} million transitions a second, timed before and after each run. "
        "The run reads, checks, standardises and learns; its throughput is that of the loop, from "
        "the first batch to the last."
    )
    title = f"lincat evaluate on {rows:,} rows of Parquet (d = {_WIDTH + 1}, K = {_K})"
    return Result(title, table, bars, [note])


class _Kernel:
    """The loop that a run calls, on data in memory."""

    def __init__(self, settings: Settings) -> None:
        self._count = 2_000 if settings.quick else 200_000
        self._rounds = max(settings.rounds, 3)
        data = draw(Case("dense", _WIDTH + 1, _K), self._count, settings.seed)
        self._run = ours.kernel(data, averaging=True).run
        self._run()  # compiles
        self._seconds: list[float] = []

    def time(self) -> None:
        """Let it run some more times."""
        for _ in range(self._rounds):
            start = time.perf_counter()
            self._run()
            self._seconds.append(time.perf_counter() - start)

    @property
    def rate(self) -> float:
        """Transitions a second, the median of all times so far."""
        return self._count / median(self._seconds)


def write_log(path: Path, rows: int, form: str, seed: int) -> None:
    """Write a walk of 16 numbers, with rewards that are hardly ever the same."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(seed)
    writer = None
    for begin in range(0, rows, _BLOCK):
        n = min(_BLOCK, rows - begin)
        seen = rng.normal(size=(n + 1, _WIDTH))
        columns: dict[str, Any] = {f"obs_{j}": seen[:-1, j] for j in range(_WIDTH)}
        if form == "transition rows":
            columns |= {f"next_obs_{j}": seen[1:, j] for j in range(_WIDTH)}
            columns["terminated"] = np.zeros(n, dtype=bool)
        else:
            columns["episode"] = np.arange(begin, begin + n) // 200
        columns["reward"] = np.tanh(seen[:-1, 0]) + 0.3 * rng.random(n)
        table = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


@dataclass(frozen=True)
class Learned:
    """What a run took: seconds in all, transitions a second of its loop, growth of memory in MB."""

    seconds: float
    rate: float
    growth: float


def learn(log: Path, folder: Path, learner: LearnerName = "auto") -> Learned:
    """Let ``lincat evaluate`` learn from a log that :func:`write_log` wrote, on a given grid."""
    config = EvaluationConfig(
        source=[str(log)],
        gamma=GAMMA,
        learner=learner,
        features="scaling",
        intervals=_K,
        low=-11.0,
        high=14.0,
    )
    start = time.perf_counter()
    run = EvaluationRun(RunFolder.create(folder, config))
    before = most = 0.0
    for state in run.run():
        if state.doing == "learning" and state.transitions > _WARM_UP * (state.total or 1):
            now = resident()
            before = before or now
            most = max(most, now)
    seconds = time.perf_counter() - start
    return Learned(seconds, state.transitions / run.seconds, most - before)
