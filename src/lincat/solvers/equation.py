"""The equation of the data in whitened coordinates: X − Σ_g B_g X Ñ_gᵀ = R, X of shape (K, r).

Row k of X belongs to atom k, so that B_g, which has at most two entries in a column, combines
neighbouring rows and Ñ_g = Wᵀ N_g W multiplies from the right: one product of matrices for each
group (Thm linear_cate_TD_equation with expectations replaced by sums).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from scipy.linalg import blas

from lincat import kernels
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.core.bellman import reward_shifts
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf
from lincat.solvers.whitening import Whitening
from lincat.statistics.totals import Totals

_AT_ONCE = 2**20  # numbers in all B_g X, up to which they are made at once: calls cost more


def bellman_stack(reward: FloatArray, discount: FloatArray, grid: Grid) -> scipy.sparse.csr_array:
    """Return B(r_g, δ_g) of all groups, one below the other: a sparse (G * K, K) matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import Grid, bellman_matrix
    >>> from lincat.solvers.equation import bellman_stack
    >>> grid = Grid(0.0, 2.0, intervals=4)
    >>> stack = bellman_stack(np.array([0.5, 1.0]), np.array([0.5, 0.0]), grid)
    >>> np.array_equal(stack[:4].toarray(), bellman_matrix(grid, 0.5, 0.5)), stack[4:].nnz
    (True, 0)
    """
    K, G = grid.intervals, len(reward)
    edge = reward_shifts(reward, discount, grid)[:, None] + discount[:, None] * np.arange(K + 1.0)
    left, right = edge[:, :-1], edge[:, 1:]
    first = np.floor(np.maximum(left, 0.0))
    rows, columns, entries = [], [], []
    # A source cell meets at most two output cells, or more where the discount is above 1.
    for step in range(2 + math.ceil(max(float(discount.max(initial=0.0)) - 1.0, 0.0))):
        k = first + step
        overlap = np.minimum(right, k + 1.0) - np.maximum(left, k)
        g, m = np.nonzero((overlap > 0.0) & (k < K))
        rows.append(g * K + k[g, m].astype(np.int64))
        columns.append(m)
        entries.append(overlap[g, m])
    place = (np.concatenate(rows), np.concatenate(columns))
    return scipy.sparse.csr_array((np.concatenate(entries), place), shape=(G * K, K))


@dataclass(frozen=True)
class Outcomes:
    """Entries of sparse N_g, ordered by the row that they add to, for the kernel."""

    group: IntArray
    row: IntArray
    column: IntArray
    data: FloatArray
    offsets: IntArray  # entries of row i are offsets[i] : offsets[i + 1]


class BatchEquation:
    """Operator and right-hand side of the equation of the data.

    Parameters
    ----------
    totals : Totals
    discount : array of shape (G,)
    grid : Grid
    whitening : Whitening
    """

    def __init__(
        self, totals: Totals, discount: FloatArray, grid: Grid, whitening: Whitening
    ) -> None:
        self.totals, self.grid, self.whitening = totals, grid, whitening
        #: How often the operator was applied.
        self.applied = 0
        self.intervals, self.size = grid.intervals, whitening.size
        # Groups that lead nowhere have no operator.
        self.moving = moving = np.flatnonzero(discount > 0.0)
        self.reward, self.discount = totals.reward[moving], discount[moving]
        self.is_sparse = scipy.sparse.issparse(totals.cross)
        if self.is_sparse:
            #: Of a table: what follows each state, and how often.
            self.outcomes = self._arranged(totals)
        else:
            #: Ñ_g, shape (G', r, r).
            self.cross = np.empty((len(moving), self.size, self.size))
            for whitened, g in zip(self.cross, moving, strict=True):
                whitened[:] = whitening.down(whitening.down(totals.cross[g].T).T)
        #: B_g of the groups that lead somewhere, one below the other (G' * K, K).
        self.stack = bellman_stack(self.reward, self.discount, grid)
        #: Of every group, those that lead nowhere among them.
        self.all_discounts = discount

    def _arranged(self, totals: Totals) -> Outcomes:
        d = totals.n_features
        entries = scipy.sparse.coo_array(totals.cross)
        group, row = entries.row // d, entries.row % d
        place = np.full(len(totals.reward), -1)
        place[self.moving] = np.arange(len(self.moving))
        kept = place[group] >= 0
        group, row, column, data = (a[kept] for a in (place[group], row, entries.col, entries.data))
        order = np.lexsort((column, row))
        row = row[order]
        return Outcomes(
            group[order],
            row,
            np.asarray(column[order], np.int64),
            data[order],
            np.searchsorted(row, np.arange(d + 1)),
        )

    @cached_property
    def _pushes(self) -> list[scipy.sparse.csr_array]:
        """B_g, (K, K) each."""
        K = self.intervals
        return [self.stack[g * K : (g + 1) * K] for g in range(len(self.moving))]

    @cached_property
    def _below(self) -> FloatArray:
        """Ñ_gᵀ one below the other, shape (G' * r, r)."""
        G, r = len(self.cross), self.size
        return np.ascontiguousarray(self.cross.transpose(0, 2, 1)).reshape(G * r, r)

    @cached_property
    def right(self) -> FloatArray:
        """The right-hand side, shape (K, r): Σ_g b_g (Wᵀ c_g)ᵀ."""
        return self.offsets.T @ self.whitening.down(self.totals.phi_sum)

    @cached_property
    def offsets(self) -> FloatArray:
        """b_g of all groups, shape (G, K) (Eq. (bt) without the feature)."""
        K, discount = self.intervals, self.all_discounts
        uniform = uniform_cdf(K)
        shifts = reward_shifts(self.totals.reward, discount, self.grid)
        out = np.empty((len(shifts), K))
        source = np.tile(uniform, (len(shifts), 1))
        kernels.bellman.target_rows(out, source, shifts, discount)
        return out - uniform

    @cached_property
    def mean_matrix(self) -> FeatureMatrix:
        """Σ_g δ_g Ñ_g, shape (r, r): what the operator does to means, as 1ᵀB_g = δ_g 1ᵀ."""
        if not self.is_sparse:
            return np.tensordot(self.discount, self.cross, 1)
        d, weighted = (
            self.totals.n_features,
            self.outcomes.data * self.discount[self.outcomes.group],
        )
        total = scipy.sparse.csr_array(
            (weighted, (self.outcomes.row, self.outcomes.column)), shape=(d, d)
        )
        return self.whitening.inner(total)

    @cached_property
    def mean_bellman(self) -> scipy.sparse.csr_array:
        """The B with Σ_g Ñ_g ⊗ B_g nearest to mean_matrix ⊗ B: (K, K), columns summing to one.

        The weight of B_g is that of Ñ_g along the mean matrix, in the Frobenius product.
        """
        mean, G = self.mean_matrix, len(self.discount)
        if self.is_sparse:  # ⟨WᵀN_gW, M⟩ = ⟨N_g, W M Wᵀ⟩
            up = self.whitening.up
            outer = (
                up(up(mean).T).T if not scipy.sparse.issparse(mean) else self.whitening.inner(mean)
            )
            entry = (
                np.asarray(outer[self.outcomes.row, self.outcomes.column]).ravel()
                * self.outcomes.data
            )
            weight = np.bincount(self.outcomes.group, entry, G)
        else:
            weight = self.cross.reshape(G, -1) @ mean.ravel()
        share = scipy.sparse.csr_array(weight[None, :] / max(float((mean**2).sum()), 1e-300))
        K = self.intervals
        return scipy.sparse.csr_array(
            scipy.sparse.kron(share, scipy.sparse.eye_array(K), format="csr") @ self.stack
        )

    @property
    def is_table(self) -> bool:
        """Whether sums are sparse, and every row has one feature: a state."""
        return self.is_sparse and self.whitening.matrix.ndim == 1

    @property
    def entries(self) -> int:
        """The number of entries of all N_g that are not zero, where they are sparse."""
        return len(self.outcomes.data)

    def group(self, g: int) -> scipy.sparse.csr_array:
        """Return Ñ_g of a table, (r, r), for the g-th group that leads somewhere."""
        chosen = self.outcomes.group == g
        place = (self.outcomes.row[chosen], self.outcomes.column[chosen])
        shape = (self.totals.n_features, self.totals.n_features)
        N = scipy.sparse.csr_array((self.outcomes.data[chosen], place), shape=shape)
        return scipy.sparse.csr_array(self.whitening.inner(N))

    def projected(self, directions: FloatArray) -> FloatArray:
        """Return Zᵀ Ñ_g Z of every group that leads somewhere, for Z of shape (r, s)."""
        if not self.is_sparse:
            return np.asarray(np.matmul(directions.T, np.matmul(self.cross, directions)))
        d, s = self.totals.n_features, directions.shape[1]
        outer = np.ascontiguousarray(self.whitening.up(directions.T).T)
        out = np.empty((len(self.discount), s, s))
        for g, square in enumerate(out):
            chosen = self.outcomes.group == g
            place = (self.outcomes.row[chosen], self.outcomes.column[chosen])
            N = scipy.sparse.csr_array((self.outcomes.data[chosen], place), shape=(d, d))
            square[:] = outer.T @ (N @ outer)
        return out

    @cached_property
    def bandwidth(self) -> tuple[int, int]:
        """How many diagonals of blocks lie (below, above) the main one."""
        entries = scipy.sparse.coo_array(self.stack)
        offset = entries.row % self.intervals - entries.col
        return max(int(offset.max(initial=0)), 0), max(int(-offset.min(initial=0)), 0)

    def apply(self, X: FloatArray) -> FloatArray:
        """Return Σ_g B_g X Ñ_gᵀ; X is (K, r), or (K, m, r) for m of them at once."""
        self.applied += 1
        if self.is_sparse:
            return self._apply_sparse(X)
        K, r, G = self.intervals, self.size, len(self.cross)
        flat, n = X.reshape(K, -1), X.size // max(r, 1)
        if X.size * G <= _AT_ONCE:
            side_by_side = np.asarray(self.stack @ flat).reshape(G, n, r).transpose(1, 0, 2)
            return np.asarray(side_by_side.reshape(n, G * r) @ self._below).reshape(X.shape)
        out = np.zeros((n, r))
        for push, cross in zip(self._pushes, self.cross, strict=True):
            pushed = np.asarray(push @ flat).reshape(-1, r)
            # out += pushed Ñ_gᵀ; BLAS sees the transposes of arrays in C's order.
            blas.dgemm(1.0, cross.T, pushed.T, 1.0, out.T, trans_a=1, overwrite_c=1)
        return out.reshape(X.shape)

    def _apply_sparse(self, X: FloatArray) -> FloatArray:
        Theta = self.whitening.up(X)
        out = np.empty_like(Theta)
        for i in range(X.size // (self.intervals * self.size)):
            at = (slice(None), i) if X.ndim == 3 else (slice(None),)
            out[at] = self._pushed(self.outcomes, np.ascontiguousarray(Theta[at].T)).T
        return self.whitening.down(out)

    def _pushed(self, outcomes: Outcomes, Theta: FloatArray) -> FloatArray:
        """Return Σ_g N_g Theta B_gᵀ of sparse N_g, shape (d, K)."""
        out = np.zeros_like(Theta)
        self.push(out, Theta, outcomes)
        return out

    def push(self, out: FloatArray, Theta: FloatArray, outcomes: Outcomes) -> None:
        """Add Σ_g N_g Theta B_gᵀ of sparse N_g to ``out``, (d, K), one row after another."""
        discount = self.discount[outcomes.group]
        kernels.bellman.add_expected_targets(
            out,
            Theta,
            outcomes.offsets,
            outcomes.column,
            reward_shifts(self.reward[outcomes.group], discount, self.grid),
            discount,
            outcomes.data,
            0.0,
        )

    def scores(self, Theta: FloatArray, parts: Iterable[Totals]) -> Iterator[FloatArray]:
        """Yield Σ_g c_g b_gᵀ − (Sigma Theta − Σ_g N_g Theta B_gᵀ), (d, K), of parts of the data.

        They have the groups of the whole, so that every Theta B_gᵀ is made once.
        """
        if self.is_sparse:
            for part in parts:
                score = part.phi_sum.T @ self.offsets - part.Sigma @ Theta
                yield score + self._pushed(self._arranged(part), Theta)
            return
        d, every = len(Theta), len(self.moving) == len(self.totals.reward)
        ahead = np.asarray(self.stack @ Theta.T).reshape(-1, self.intervals, d)
        below = np.ascontiguousarray(ahead.transpose(0, 2, 1)).reshape(-1, self.intervals)
        for part in parts:
            score = part.phi_sum.T @ self.offsets - part.Sigma @ Theta
            cross = part.cross if every else part.cross[self.moving]
            yield score + cross.transpose(1, 0, 2).reshape(d, -1) @ below  # one for all groups
