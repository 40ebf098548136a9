"""Threads that share the work of sums."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["workers"]

_MOST = 4


def workers() -> list[ThreadPoolExecutor]:
    """Return as many threads as BLAS may use, beside this one."""
    allowed = max((library["num_threads"] for library in _blas().info()), default=1)
    return [_worker(os.getpid(), i) for i in range(min(allowed, _MOST) - 1)]


@cache
def _blas() -> Any:
    return ThreadpoolController().select(user_api="blas")


@cache
def _worker(process: int, number: int) -> ThreadPoolExecutor:
    """Return a thread of this process: a fork of it has none."""
    return ThreadPoolExecutor(1, f"lincat statistics {number}")
