"""The Bellman target is linear in K: time per row at 4,096 intervals over that at 1,024."""

import time
from statistics import median

import numpy as np

import lincat

ROWS = 500
REPEATS = 15


def rows():
    seconds = {1024: [], 4096: []}
    rng = np.random.default_rng(0)
    cases = {
        K: (lincat.Grid(0.0, 10.0, K), np.sort(rng.random((ROWS, K)), axis=1)) for K in seconds
    }
    reward = rng.random(ROWS)
    for repeat in range(REPEATS + 1):  # side by side, and the first round only compiles
        for K, (grid, cdf) in cases.items():
            start = time.perf_counter()
            lincat.bellman_target(cdf, reward, 0.9, grid)
            if repeat:
                seconds[K].append(time.perf_counter() - start)
    ratio = median(b / a for a, b in zip(seconds[1024], seconds[4096], strict=True))
    return [{"what": "bellman_target, K 4,096 over K 1,024", "measured": ratio, "at_most": 6.0}]
