"""Ten times as many rows: ten times the seconds, and the same memory.

    lincat bench rows --log-rows 100000000

Rows are transitions of two numbers with their next ones, d = 5, summed by two processes. One file
of 2^20 rows lies in its folder under as many names as it takes, so that 10^8 rows need no room.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings
from lincat.bench.workers import job_of, write_log
from lincat.scale.pool import Here, Pool
from lincat.scale.processes import Processes

_FILE = 2**20
_NUMBERS, _TERMS = 2, 5


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Sum a tenth of the rows, then all of them."""
    size = 1_000 if settings.quick else _FILE
    pool: Pool = Here() if settings.quick else Processes(2)
    files = max(settings.log_rows // size, 10) if not settings.quick else 10
    rows: list[dict[str, Any]] = []
    for n in (files // 10, files):
        progress(f"rows: {n * size:,}")
        with tempfile.TemporaryDirectory() as folder:
            write_log(Path(folder), size, numbers=_NUMBERS, seed=settings.seed)
            for i in range(1, n):
                os.link(Path(folder) / "0000.parquet", Path(folder) / f"{i:04d}.parquet")
            job = job_of(Path(folder), _TERMS)
            begun = time.perf_counter()
            for _ in pool.results(job, range(len(job.parts))):
                pass
            seconds = time.perf_counter() - begun
        rows.append(
            {
                "rows": f"{n * size:,}",
                "parts": len(job.parts),
                "seconds": seconds,
                "million rows/s": n * size / seconds / 1e6,
                "MB of a process, at most": _peak(),
            }
        )
    few, many = rows
    ratio = many["seconds"] / few["seconds"] / (files / (files // 10))
    growth = many["MB of a process, at most"] - few["MB of a process, at most"]
    return Result(
        f"Narrow rows (d = {_TERMS}) by two processes, their start included",
        rows,
        [
            Bar("seconds a row, all rows over a tenth of them", ratio, "<=", 1.1),
            Bar("growth of a process's memory, MB", growth, "<=", 32.0),
        ],
    )


def _peak() -> float:
    """The most that a process took which has ended, in MB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
