"""BLAS on one thread, where the number of threads would change the last bits of a sum."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401  (brings a BLAS of its own, which must be there to be found)

    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return how many threads BLAS may use now."""
    return max((library["num_threads"] for library in _blas().info()), default=1)


class _OneBlasThread:
    """Counts who is inside: the limit is the whole process's.

    Were each to restore what it found, the first of two learners side by side to leave would
    lift the limit of the other, and the last would leave it on for ever.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = _blas().limit(limits=1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


#: ``with one_blas_thread:`` from any thread, within another too.
one_blas_thread = _OneBlasThread()
