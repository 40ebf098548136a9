"""Threads that share the work of sums."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from lincat._threads import blas_threads

_MOST = 4


def workers() -> list[ThreadPoolExecutor]:
    """Return as many threads as BLAS may use, beside this one."""
    return [_worker(os.getpid(), i) for i in range(min(blas_threads(), _MOST) - 1)]


@cache
def _worker(process: int, number: int) -> ThreadPoolExecutor:
    """Return a thread of this process: a fork of it has none."""
    return ThreadPoolExecutor(1, f"lincat statistics {number}")
