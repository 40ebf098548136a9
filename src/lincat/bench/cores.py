"""Independent runs on two cores: compiled loops hold no lock, so threads are enough."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from lincat.bench import ours
from lincat.bench.cases import Case, draw
from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings

_WHAT, _LIMIT = "two idle cores over independent runs", 1.4
_STAT = Path("/proc/stat")
_IDLE = 0.05  # share of the machine that other processes may take in a round that counts
_ATTEMPTS = 4  # rounds to try for each that should count


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Time two runs one after the other, and at the same time."""
    result = Result("Two independent runs in two threads: speed-up over one after the other")
    case, count = (Case("dense", 3, 8), 200) if settings.quick else (Case("dense", 16, 51), 400_000)
    progress(case.name)
    runs = [ours.kernel(draw(case, count, settings.seed + i)).run for i in range(2)]
    for run in runs:  # compiles
        run()
    quiet, all_rounds = [], []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(_ATTEMPTS * settings.rounds):
            speed_up, others = _round(runs, pool)
            all_rounds.append(speed_up)
            if others <= _IDLE:
                quiet.append(speed_up)
            if len(quiet) == settings.rounds:
                break
    row = {"case": case.name, "speed-up": median(all_rounds), "rounds": len(all_rounds)}
    row |= {"with idle cores": median(quiet) if quiet else None, "idle rounds": len(quiet)}
    result.rows = [row]
    if _cores() < 2:
        result.bars = [Bar(_WHAT, None, ">=", _LIMIT, "only one core here")]
    elif not quiet:
        result.bars = [Bar(_WHAT, None, ">=", _LIMIT, "other work kept the cores busy")]
    else:
        result.bars = [Bar(_WHAT, median(quiet), ">=", _LIMIT, case.name)]
    return result


def _round(runs: list[Callable[[], object]], pool: ThreadPoolExecutor) -> tuple[float, float]:
    """Return the speed-up, and the share of the machine that other processes took meanwhile."""
    busy, own, start = _busy(), time.process_time(), time.perf_counter()
    for run in runs:
        run()
    middle = time.perf_counter()
    list(pool.map(lambda run: run(), runs))
    end = time.perf_counter()
    others = (_busy() - busy) - (time.process_time() - own)
    return (middle - start) / (end - middle), others / ((end - start) * (os.cpu_count() or 1))


def _busy() -> float:
    """CPU seconds that all processes have used (0 where the system does not tell)."""
    if not _STAT.exists():
        return 0.0
    user, nice, system, _idle, _wait, irq, soft, steal = map(
        int, _STAT.read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
