"""The Bellman target is linear in K: time per row at 4,096 intervals over that at 1,024."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings
from lincat.core.bellman import bellman_target
from lincat.core.grid import Grid


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure ``bellman_target`` at two sizes, side by side."""
    rows, sizes = (5, (16, 64)) if settings.quick else (500, (1024, 4096))
    progress("bellman_target")
    rng = np.random.default_rng(settings.seed)
    reward = rng.random(rows)
    cases = {K: (Grid(0.0, 10.0, K), np.sort(rng.random((rows, K)), axis=1)) for K in sizes}
    seconds: dict[int, list[float]] = {K: [] for K in sizes}
    for round_ in range(settings.rounds + 1):  # the first one compiles
        for K, (grid, cdf) in cases.items():
            start = time.process_time()
            bellman_target(cdf, reward, 0.9, grid)
            if round_:
                seconds[K].append(time.process_time() - start)
    small, large = sizes
    ratio = median(b / a for a, b in zip(seconds[small], seconds[large], strict=True))
    shown = [
        {"case": f"K = {K:,}", "microseconds a row": 1e6 * median(seconds[K]) / rows} for K in sizes
    ]
    what = f"bellman_target, K {large:,} over K {small:,}"
    return Result("The Bellman target alone", shown, [Bar(what, ratio, "<=", 6.0)])
