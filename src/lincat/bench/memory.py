"""A long stream through the learner: memory does not grow with the number of transitions."""

from __future__ import annotations

import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions
from lincat.learners.linear_ctd import LinearCTD

_CHUNK = 200_000
_STATM = Path("/proc/self/statm")


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Learn from 10^8 transitions, drawn in chunks, with tail averaging."""
    total = 3 * _CHUNK if settings.quick else 100_000_000
    warm_up = _CHUNK if settings.quick else 2_000_000
    progress(f"{total:,} transitions")
    rng = np.random.default_rng(settings.seed)
    model = LinearCTD(grid=Grid(0.0, 10.0, 8), gamma=0.9, averaging="tail")
    before = most = 0.0
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounding may clip a last bit of mass
        for seen in range(_CHUNK, total + 1, _CHUNK):
            phi, phi_next = rng.random((_CHUNK, 2)), rng.random((_CHUNK, 2))
            model.partial_fit(Transitions(phi, rng.random(_CHUNK), phi_next))
            if seen == warm_up:
                before = resident()
            elif seen > warm_up:
                most = max(most, resident())
    growth = most - before
    row = {
        "transitions": f"{model.n_seen_:,}",
        "seconds, drawing included": time.perf_counter() - start,
        "MB after warm-up": before,
        "growth, MB": growth,
    }
    bar = Bar("growth of memory over the stream, MB", growth, "<=", 16.0, f"{total:.0e}")
    return Result("A long stream through LinearCTD (d = 2, K = 8), in MB of resident memory",
                  [row], [bar])  # fmt: skip


def resident() -> float:
    """Resident memory in MB (where there is no /proc: the most so far)."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
