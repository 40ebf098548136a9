"""Averages of the iterates without keeping them (Polyak-Ruppert).

Kernels keep U such that the sum of the iterates Theta_1 .. Theta_t is t Theta_t + U (see
``kernels/dense.py``), at O(nnz * K) an update. An average over a *window* is then a difference of
two such sums, of which the earlier one is remembered when the window begins: a copy of the matrix,
but only once per window.

full        all iterates, Theta_1 .. Theta_t
tail        Theta_{T/2} .. Theta_T when the horizon T is known (the paper's); otherwise *anytime*:
            the window begins at 512 * 2^m and is replaced when its successor is half of all, so
            that at every t it holds between t/2 and t iterates. Learners that work in epochs have
            windows that grow by less: between 1/growth² and 1/growth of t are then left out.

U counts the increments as they were meant, not as Theta rounded them. In float32 the difference
grows with t, so from time to time the sum so far is put aside in float64 and U starts again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lincat._typing import FloatArray
from lincat.learners.inputs import Rows

_FIRST_WINDOW = 512  # copies of the matrix before that would cost more than the updates


class IterateAverage:
    """The average of the iterates that a learner reports.

    Parameters
    ----------
    kind : "none", "full" or "tail"
    horizon : int or None
        Number of updates T, if it is known.
    fold_every : int or None
        After how many updates to put the sum aside; None for never.
    growth : float
        Of the beginnings of windows, where the horizon is not known.
    least : int
        Updates between two of them, at least.
    """

    def __init__(
        self,
        kind: str,
        horizon: int | None,
        fold_every: int | None = None,
        growth: float = 2.0,
        least: int = 0,
    ) -> None:
        self.kind, self.horizon, self.fold_every = kind, horizon, fold_every
        self.growth, self.least = growth, least
        #: Beginnings of the window in use and of its successor (updates), and the sums there.
        self.begin, self.next_begin = 0, 0
        self.begin_sum: FloatArray | None = None
        self.next_sum: FloatArray | None = None
        #: The sum that was put aside, and after how many updates.
        self.folded = 0
        self.folded_sum: FloatArray | None = None

    @property
    def needs_sums(self) -> bool:
        """Whether kernels have to keep U."""
        return self.kind != "none"

    def in_sums(self, done: int) -> int:
        """Return how many iterates U stands for: those since it started again."""
        return done - self.folded

    def updates_to_boundary(self, done: int) -> int | None:
        """Return how many updates may be made before :meth:`pass_boundary` must be called."""
        boundaries = (self._window_boundary(), self._fold_boundary())
        left = [boundary - done for boundary in boundaries if boundary is not None]
        return min(left, default=None)

    def pass_boundary(self, done: int, theta: FloatArray, sums: FloatArray) -> None:
        """Remember the sum of the iterates so far, where a window begins or U starts again."""
        total = self.total(done, theta, sums)
        if done == self._window_boundary():
            if self.horizon is not None:
                self.begin, self.begin_sum = done, total
            else:
                self.begin, self.begin_sum = self.next_begin, self.next_sum
                self.next_begin, self.next_sum = done, total
        if done == self._fold_boundary():
            self.folded, self.folded_sum = done, total
            sums[:] = 0.0

    def reexpress(self, made: Callable[[FloatArray, int], FloatArray]) -> None:
        """Put other sums in the place of those that are remembered: made(sum, iterates in it)."""
        if self.begin_sum is not None:
            self.begin_sum = made(self.begin_sum, self.begin)
        if self.next_sum is not None:
            self.next_sum = made(self.next_sum, self.next_begin)
        if self.folded_sum is not None:
            self.folded_sum = made(self.folded_sum, self.folded)

    def mean(
        self, done: int, theta: FloatArray, sums: FloatArray, rows: Rows = slice(None)
    ) -> FloatArray:
        """Return the average after ``done`` updates, or some rows of it."""
        if self.kind == "none" or done == 0:
            return theta[rows].astype(np.float64)
        total = self.total(done, theta, sums, rows)
        if self.begin_sum is None or done == self.begin:  # no iterate in the window yet
            return total / done
        return (total - self.begin_sum[rows]) / (done - self.begin)

    def total(
        self, done: int, theta: FloatArray, sums: FloatArray, rows: Rows = slice(None)
    ) -> FloatArray:
        """Return the sum of all iterates so far, or some rows of it."""
        recent = self.in_sums(done) * theta[rows].astype(np.float64) + sums[rows]
        return recent if self.folded_sum is None else self.folded_sum[rows] + recent

    def _window_boundary(self) -> int | None:
        """After how many updates the next window begins."""
        if self.kind != "tail":
            return None
        if self.horizon is not None:
            begin = self.horizon // 2 - 1
            return begin if begin > 0 and self.begin_sum is None else None
        return next_window(self.next_begin, self.growth, self.least)

    def _fold_boundary(self) -> int | None:
        """After how many updates U starts again next."""
        if self.fold_every is None or not self.needs_sums:
            return None
        return self.folded + self.fold_every


def next_window(begin: int, growth: float, least: int = 0) -> int:
    """Return where the window after the one that began after ``begin`` updates begins."""
    return max(_FIRST_WINDOW, math.ceil(growth * begin), begin + least)
