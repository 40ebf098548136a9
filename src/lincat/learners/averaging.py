"""Averages of the iterates without keeping them (Polyak-Ruppert).

Kernels keep U such that the sum of the iterates Theta_1 .. Theta_t is t Theta_t + U (see
``kernels/dense.py``), at O(nnz * K) an update. An average over a *window* is then a difference of
two such sums, of which the earlier one is remembered when the window begins: a copy of the matrix,
but only once per window.

full        all iterates, Theta_1 .. Theta_t
tail        Theta_{T/2} .. Theta_T when the horizon T is known (the paper's); otherwise *anytime*:
            the window begins at 512 * 2^m and is replaced when its successor is half of all, so
            that at every t it holds between t/2 and t iterates.
"""

from __future__ import annotations

import numpy as np

from lincat._typing import FloatArray

__all__ = ["IterateAverage"]

_FIRST_WINDOW = 512  # copies of the matrix before that would cost more than the updates


class IterateAverage:
    """The average of the iterates that a learner reports.

    Parameters
    ----------
    kind : "none", "full" or "tail"
    horizon : int or None
        Number of updates T, if it is known.
    """

    def __init__(self, kind: str, horizon: int | None) -> None:
        self.kind, self.horizon = kind, horizon
        #: Beginnings of the window in use and of its successor (updates), and the sums there.
        self.begin, self.next_begin = 0, 0
        self.begin_sum: FloatArray | None = None
        self.next_sum: FloatArray | None = None

    @property
    def needs_sums(self) -> bool:
        """Whether kernels have to keep U."""
        return self.kind != "none"

    def updates_to_boundary(self, done: int) -> int | None:
        """Return how many updates may be made before :meth:`pass_boundary` must be called."""
        if self.kind != "tail":
            return None
        if self.horizon is not None:
            begin = self.horizon // 2 - 1
            return begin - done if begin > 0 and self.begin_sum is None else None
        return max(_FIRST_WINDOW, 2 * self.next_begin) - done

    def pass_boundary(self, done: int, theta: FloatArray, sums: FloatArray) -> None:
        """Remember the sum of the iterates so far, where a window begins."""
        total = done * theta.astype(np.float64) + sums
        if self.horizon is not None:
            self.begin, self.begin_sum = done, total
        else:
            self.begin, self.begin_sum = self.next_begin, self.next_sum
            self.next_begin, self.next_sum = done, total

    def mean(self, done: int, theta: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the average after ``done`` updates."""
        if self.kind == "none" or done == 0:
            return theta.astype(np.float64)
        if self.begin_sum is None or done == self.begin:  # no iterate in the window yet
            return np.asarray(theta + sums / done)
        # (t Theta + U − S_begin)/(t − begin), with the large terms taken apart.
        n = done - self.begin
        return np.asarray(theta + (sums + self.begin * theta - self.begin_sum) / n)
