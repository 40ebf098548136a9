"""An approximate inverse on many intervals, from grids that are coarser and coarser.

What differs between neighbouring cells the operator makes small by itself, as it averages over
them; of what is alike in both, the equation on half as many intervals knows the answer. So a grid
of few intervals is solved as it is, and each finer one corrects it: memory is that of a few
solutions, however wide the bands of the Bellman matrices are (a payoff that is far from where most
returns lie makes them as wide as the grid).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse

from lincat._typing import FloatArray
from lincat.core.grid import Grid
from lincat.solvers.equation import BatchEquation


def overlaps(fine: int, coarse: int) -> scipy.sparse.csr_array:
    """Return which share of each of the fine cells lies in each coarse one, (fine, coarse).

    Examples
    --------
    >>> from lincat.solvers.multigrid import overlaps
    >>> overlaps(3, 2).toarray()
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    # In units in which both have whole ends: a cell is cut in two at most.
    left = np.arange(fine) * coarse
    first = left // fine
    inside = np.minimum((first + 1) * fine - left, coarse) / coarse
    cells = np.arange(fine)
    cut = np.flatnonzero(inside < 1.0)
    entries = np.concatenate([inside, 1.0 - inside[cut]])
    place = (np.concatenate([cells, cut]), np.concatenate([first, first[cut] + 1]))
    return scipy.sparse.csr_array((entries, place), shape=(fine, coarse))


def on_intervals(equation: BatchEquation, intervals: int) -> BatchEquation:
    """Return the same equation on so many intervals."""
    grid = Grid(equation.grid.low, equation.grid.high, intervals)
    return BatchEquation(equation.totals, equation.all_discounts, grid, equation.whitening)


class Level:
    """One grid, above what is about the inverse on a coarser one."""

    def __init__(self, equation: BatchEquation, coarser: BatchEquation) -> None:
        self._equation = equation
        self._finer = overlaps(equation.intervals, coarser.intervals)
        columns = np.asarray(self._finer.sum(axis=0))
        self._coarser = scipy.sparse.csr_array(self._finer.T / columns[:, None])

    def down(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a first answer, (K, r), and what it leaves for the coarser grid to solve."""
        # One step of the iteration: X = R leaves the image of R.
        left = self._equation.apply(right)
        return right, np.asarray(self._coarser @ left)

    def up(self, right: FloatArray, first: FloatArray, solved: FloatArray) -> FloatArray:
        """Return the answer corrected by that of the coarser grid, and by one more step."""
        X = first + np.asarray(self._finer @ solved)
        return right + self._equation.apply(X)


class MultigridSolver:
    """About the inverse of X ↦ X − Σ_g B_g X Ñ_gᵀ on many intervals.

    Parameters
    ----------
    levels : sequence of Level
        From the finest grid down.
    bottom : function
        The inverse on the coarsest grid, from (k, r) to (k, r).
    """

    def __init__(self, levels: Sequence[Level], bottom: Callable[[FloatArray], FloatArray]) -> None:
        self._levels, self._bottom = levels, bottom

    def solve(self, right: FloatArray) -> FloatArray:
        """Return about X for right-hand sides of shape (K, r), or (m, K, r)."""
        if right.ndim == 3:
            return np.stack([self.solve(one) for one in right])
        passed, rest = [], right
        for level in self._levels:
            first, left = level.down(rest)
            passed.append((level, rest, first))
            rest = left
        X = self._bottom(np.ascontiguousarray(rest))
        for level, at, first in reversed(passed):
            X = level.up(at, first, X)
        return X
