"""BLAS on one thread, where the number of threads would change the last bits of a sum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401  (brings a BLAS of its own, which must be there to be found)

    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return how many threads may be used now, by BLAS or by loops of ours whose bits are the same.

    Where only BLAS is held to one thread, these may have as many as it had.
    """
    return one_blas_thread.found or _blas_threads()


def _blas_threads() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


class _OneBlasThread:
    """Counts who is inside: the limit is the whole process's.

    Were each to restore what it found, the first of two learners side by side to leave would
    lift the limit of the other, and the last would leave it on for ever.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = self._alone = 0
        self._limits: Any = None
        self._found = 1

    @property
    def found(self) -> int:
        """Threads that BLAS had before, if it alone is held to one; else 0."""
        with self._lock:
            return self._found if self._inside and not self._alone else 0

    def enter(self, *, alone: bool) -> None:
        """Hold BLAS to one thread, and with ``alone`` whoever asks for more."""
        with self._lock:
            if self._inside == 0:
                self._found = _blas_threads()
                self._limits = _blas().limit(limits=1)
            self._inside += 1
            self._alone += alone

    def leave(self, *, alone: bool) -> None:
        """Undo one call of :meth:`enter`; the last restores what the first found."""
        with self._lock:
            self._inside -= 1
            self._alone -= alone
            if self._inside == 0:
                self._limits.restore_original_limits()

    def __enter__(self) -> None:
        self.enter(alone=True)

    def __exit__(self, *_: object) -> None:
        self.leave(alone=True)


#: ``with one_blas_thread:`` from any thread, within another too.
one_blas_thread = _OneBlasThread()


@contextmanager
def steady_blas() -> Iterator[None]:
    """Hold BLAS to one thread at the door of what is long, so that bits do not depend on cores."""
    one_blas_thread.enter(alone=False)
    try:
        yield
    finally:
        one_blas_thread.leave(alone=False)
