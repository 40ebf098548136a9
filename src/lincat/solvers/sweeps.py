"""Going through the states of a table once, those that come later first: Gauss and Seidel's step.

Where states follow each other (days of a year, stages of a process), every eigenvalue of the chain
may be of modulus one, and no few directions are slow. But in an order in which a state comes after
those that it leads to, X − Σ_g B_g X N_gᵀ is all but triangular: one sweep is its inverse, except
for the few transitions that lead the other way round, which GMRES sees to.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.solvers.equation import BatchEquation, Outcomes


def successors_first(N: FeatureMatrix) -> IntArray:
    """Return states in an order in which most of N, sparse (r, r), leads to earlier ones.

    The heuristic of Eades, Lin and Smyth (1993) for feedback arcs: at least half of it does. What
    leads back to the same state is not looked at.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from lincat.solvers.sweeps import share_before, successors_first
    >>> ring = scipy.sparse.csr_array(np.roll(np.eye(4), 1, axis=1))  # 0 leads to 1, 3 to 0
    >>> successors_first(ring), share_before(ring, successors_first(ring))
    (array([3, 2, 1, 0]), 0.75)
    """
    there = abs(scipy.sparse.csr_array(N))
    there = scipy.sparse.csr_array(there - scipy.sparse.diags_array(there.diagonal()))
    back = scipy.sparse.csc_array(there)
    leaving, coming = there.sum(axis=1), there.sum(axis=0)
    n = there.shape[0]
    n_next, left = np.diff(there.indptr), np.ones(n, dtype=bool)
    ends, others = [], []
    sinks = list(np.flatnonzero(n_next == 0)[::-1])
    preferred = leaving - coming
    for _ in range(n):
        while sinks and not left[sinks[-1]]:
            sinks.pop()
        if sinks:
            state = int(sinks.pop())
            ends.append(state)
        else:
            state = int(np.argmax(np.where(left, preferred, -np.inf)))
            others.append(state)
        left[state] = False
        before = slice(back.indptr[state], back.indptr[state + 1])
        after = slice(there.indptr[state], there.indptr[state + 1])
        preferred[back.indices[before]] -= back.data[before]
        preferred[there.indices[after]] += there.data[after]
        n_next[back.indices[before]] -= 1
        sinks += [i for i in back.indices[before] if n_next[i] == 0 and left[i]]
    return np.array([*ends, *others[::-1]], dtype=np.int64)


def share_before(N: FeatureMatrix, order: IntArray) -> float:
    """Return how much of what N holds leads to a state that is before, as a share of all."""
    entries, place = scipy.sparse.coo_array(N), np.argsort(order)
    size = np.abs(entries.data)
    earlier = place[entries.col] < place[entries.row]
    return float(size[earlier].sum() / max(size.sum(), np.finfo(float).tiny))


class SweepSolver:
    """The inverse of the triangular part of the operator of a table, in an order of its states.

    Parameters
    ----------
    equation : BatchEquation
        Of a table: its features are one-hot.
    order : array of shape (r,)
    """

    def __init__(self, equation: BatchEquation, order: IntArray) -> None:
        self._equation, self._order = equation, order
        W, all_of_them, place = equation.whitening.matrix, equation.outcomes, np.argsort(order)
        row, column = place[all_of_them.row], place[all_of_them.column]
        kept = np.flatnonzero(column < row)
        kept = kept[np.lexsort((column[kept], row[kept]))]
        row = row[kept]
        # Of Theta = W X, so that targets are those of distributions: Theta − W² Σ_g N_g Theta B_gᵀ.
        self._before = Outcomes(
            all_of_them.group[kept],
            row,
            column[kept],
            all_of_them.data[kept] * W[order[row]] ** 2,
            np.searchsorted(row, np.arange(len(order) + 1)),
        )
        self._root = W
        self._seen = W > 0.0

    def solve(self, right: FloatArray) -> FloatArray:
        """Return X for right-hand sides of shape (K, r), or (m, K, r)."""
        if right.ndim == 3:
            return np.stack([self.solve(one) for one in right])
        Theta = np.ascontiguousarray((right * self._root).T[self._order])
        # In place: rows before the one that is added to are whole already.
        self._equation.push(Theta, Theta, self._before)
        X = np.empty_like(right)
        X[:, self._order] = Theta.T
        return np.divide(X, self._root, out=right.copy(), where=self._seen)
