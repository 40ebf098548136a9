"""The sums of one block as dense matrices, one for each group that it has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import cache, partial

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.statistics.groups import Shares
from lincat.statistics.placement import Placement
from lincat.statistics.rows import Rows
from lincat.statistics.sparse import SparseSums

_CACHED = 2**19  # numbers
_FEW = 7  # features, up to which rows are not sorted by bucket first
_NARROW = 32  # columns that a thread should have at least: each looks up all rows


class Stack:
    """Arrays of one shape by number of their group, one behind the other.

    Attributes
    ----------
    groups : array of shape (m,)
        The numbers of their groups.
    values : array of shape (m, ...)
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.groups: IntArray = np.zeros(0, dtype=np.int64)
        self.values: FloatArray = np.zeros((0, *shape))
        self._room = self.values  # zeros behind the values, which take no memory until written to
        self._slots: IntArray = np.full(1, -1)  # of each group; −1 for none, as beyond the last

    def slots(self, groups: IntArray) -> IntArray:
        """Return where groups lie among the values; −1 for those that are not there."""
        return self._slots.take(groups, mode="clip")

    def missing(self, groups: IntArray) -> IntArray:
        """Return those groups that are not there, ascending."""
        return np.flatnonzero(np.bincount(groups[self.slots(groups) < 0]))

    def make_room(self, groups: IntArray) -> None:
        """Have zeros for groups that are new."""
        new = self.missing(groups)
        if not len(new):
            return
        old, n = len(self.groups), len(self.groups) + len(new)
        self._name(np.concatenate([self.groups, new]))
        if n > len(self._room):
            self._room = np.zeros((n + old // 2, *self.values.shape[1:]))
            self._room[:old] = self.values
        self.values = self._room[:n]

    def _name(self, groups: IntArray) -> None:
        self.groups = groups
        self._slots = np.full(int(groups.max(initial=-1)) + 2, -1)
        self._slots[groups] = np.arange(len(groups))

    def add(self, group: int, term: FloatArray) -> None:
        """Add to one group."""
        at = np.array([group])
        self.make_room(at)
        self.values[self.slots(at)] += term

    def absorb(self, other: Stack) -> None:
        """Add the sums of another stack."""
        if np.array_equal(self.groups, other.groups):
            self.values += other.values
        else:
            self.make_room(other.groups)
            self.values[self.slots(other.groups)] += other.values

    def clear(self) -> None:
        """Forget everything but the memory."""
        self.values[:] = 0.0
        self.values = self._room[:0]
        self._name(self.groups[:0])

    def copy(self) -> Stack:
        """Return a stack that can be added to without changing this one."""
        other = Stack(self.values.shape[1:])
        other.replace(self.groups, self.values.copy())
        return other

    def replace(self, groups: IntArray, values: FloatArray) -> None:
        """Put these values in place of those that are there."""
        self.values = self._room = values
        self._name(groups)

    def regrouped(self, shares: Shares) -> Stack:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = Stack(self.values.shape[1:])
        other.make_room(np.array([to for g in self.groups for to, _ in shares[g]], dtype=np.int64))
        for g, value in zip(self.groups, self.values, strict=True):
            for to, part in shares[g]:
                other.add(to, part * value)
        return other

    def ordered(self, order: Sequence[int]) -> FloatArray:
        """Return the arrays in this order of groups, zeros for groups that are not there."""
        slots = self.slots(np.asarray(order, dtype=np.int64))
        out: FloatArray = np.zeros((len(order), *self.values.shape[1:]))
        out[slots >= 0] = self.values[slots[slots >= 0]]
        return out


class DenseSums:
    """N_g = Σ w phi phi'ᵀ and c_g = Σ w phi by group, and Sigma = Σ w phi phiᵀ of all.

    Groups in which nothing follows have no N_g.
    """

    def __init__(self, d: int) -> None:
        self.cross, self.phi_sum = Stack((d, d)), Stack((d,))
        self.Sigma: FloatArray = np.zeros((d, d))

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.Sigma)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.cross.values.nbytes + self.phi_sum.values.nbytes + self.Sigma.nbytes

    def new_bytes(self, placement: Placement) -> int:
        """Return how many bytes the sums will grow by when these rows are added."""
        cross, phi_sum = placement.used_groups()
        new = len(self.cross.missing(cross)), len(self.phi_sum.missing(phi_sum))
        return 8 * (self.d**2 * new[0] + self.d * new[1])

    def add(self, rows: Rows, placement: Placement, workers: Sequence[Executor]) -> None:
        """Add rows; ``workers`` may take a part of the products, which changes no bit of them."""
        slots = self._slots(placement)
        if min(slots[0][placement.follows].min(initial=0), slots[1].min()) < 0:
            cross, phi_sum = placement.used_groups()
            self.cross.make_room(cross)
            self.phi_sum.make_room(phi_sum)
            slots = self._slots(placement)
        if rows.kind == "states":
            self._each(kernels.sums.count_states, rows, placement, slots)
        elif self.d <= _FEW:
            self._each(kernels.sums.add_rows, rows, placement, slots)
            kernels.sums.mirror(self.Sigma)
        else:
            self._multiply(rows, placement, slots, workers)

    def _multiply(
        self,
        rows: Rows,
        placement: Placement,
        slots: tuple[IntArray, IntArray],
        workers: Sequence[Executor],
    ) -> None:
        mine, *others = _column_shares(self.d, len(workers) + 1)
        # Rows that are looked up should be in the cache, and many enough for each bucket.
        step = max(_CACHED // self.d, 64 * len(placement.groups))
        for first in range(0, len(rows), step):
            part, placed = rows[first : first + step], placement[first : first + step]
            add = partial(
                kernels.sums.add_products,
                *(self.cross.values, self.phi_sum.values, self.Sigma),
                *(_as_dense(part.phi), _as_dense(part.phi_next), *placed.sorted()),
                *(*slots, placed.parts(part.weight), part.weight),
            )
            waiting = [w.submit(add, share) for w, share in zip(workers, others, strict=False)]
            add(mine)
            for done in waiting:
                done.result()
        kernels.sums.mirror(self.Sigma)

    def _each(
        self,
        add: Callable[..., None],
        rows: Rows,
        placement: Placement,
        slots: tuple[IntArray, IntArray],
    ) -> None:
        """Add row by row."""
        phi, phi_next = _as_dense(rows.phi), _as_dense(rows.phi_next)
        add(
            *(self.cross.values, self.phi_sum.values, self.Sigma, phi, phi_next),
            *(placement.bucket, *slots, placement.parts(rows.weight), rows.weight),
        )

    def _slots(self, placement: Placement) -> tuple[IntArray, IntArray]:
        """Where the groups of each bucket lie, (buckets, parts), in N (−1 for none) and in c."""
        slots, phi_slots = (x.slots(placement.groups) for x in (self.cross, self.phi_sum))
        slots[~placement.follows] = -1
        return slots, phi_slots

    def absorb(self, other: DenseSums) -> None:
        """Add the sums of another block, whose groups have the same numbers."""
        self.cross.absorb(other.cross)
        self.phi_sum.absorb(other.phi_sum)
        self.Sigma += other.Sigma

    def clear(self) -> None:
        """Forget everything but the memory."""
        self.cross.clear()
        self.phi_sum.clear()
        self.Sigma[:] = 0.0

    def copy(self) -> DenseSums:
        """Return sums that can be added to without changing these."""
        other = DenseSums(self.d)
        other.cross, other.phi_sum = self.cross.copy(), self.phi_sum.copy()
        other.Sigma = self.Sigma.copy()
        return other

    def regrouped(self, shares: Shares) -> DenseSums:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = DenseSums(self.d)
        other.cross, other.phi_sum = self.cross.regrouped(shares), self.phi_sum.regrouped(shares)
        other.Sigma = self.Sigma.copy()
        return other

    def stacked(self, order: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return N (G, d, d), c (G, d) and Sigma, with groups in this order."""
        return self.cross.ordered(order), self.phi_sum.ordered(order), self.Sigma.copy()


def as_dense(sums: SparseSums, n_groups: int) -> DenseSums:
    """Return sparse sums as dense ones."""
    cross, phi_sum, Sigma = sums.stacked(range(n_groups))
    d = sums.d
    dense = DenseSums(d)
    dense.Sigma = np.asarray(Sigma.toarray())
    for g in range(n_groups):
        product = cross[g * d : (g + 1) * d]
        if product.nnz:
            dense.cross.add(g, np.asarray(product.toarray()))
        if phi_sum[g].any():
            dense.phi_sum.add(g, phi_sum[g])
    return dense


@cache
def _column_shares(d: int, n: int) -> list[IntArray]:
    """Return the first and last column of each of at most n shares of about equal work.

    Above the diagonal of Sigma, column j has j of d entries: the later ones are more work.
    """
    n = min(n, max(d // _NARROW, 1))
    first = np.arange(0, d, 8)
    work = np.cumsum(1.0 + first / d)
    inner = first[np.searchsorted(work, work[-1] * np.arange(1, n) / n)]
    edges = [0, *inner.tolist(), d]
    return [np.array(share) for share in itertools.pairwise(edges)]


def _as_dense(features: FeatureMatrix) -> FloatArray:
    array: FloatArray = features.toarray() if scipy.sparse.issparse(features) else features
    return array
