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
from lincat.statistics.placement import Names, Placement
from lincat.statistics.rows import Rows
from lincat.statistics.sparse import SparseSums

_CACHED = 2**19  # numbers
_FEW = 7  # features, up to which rows are not sorted by bucket first
_MANY = 4  # rows a bucket, from which on a block has room for all that others have
_NARROW = 32  # columns that a thread should have at least: each looks up all rows


_NOBODY = Names(np.zeros(0, dtype=np.int64))


class Stack:
    """Arrays of one shape by number of their group, one behind the other.

    Attributes
    ----------
    names : Names
        The numbers of their groups, (m,).
    values : array of shape (m, ...)
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.names = _NOBODY
        self.values: FloatArray = np.zeros((0, *shape))
        self._room = self.values  # zeros behind the values, which take no memory until written to

    @property
    def groups(self) -> IntArray:
        """The numbers of their groups, (m,)."""
        return self.names.groups

    def make_room(self, groups: IntArray) -> None:
        """Have zeros for groups that are new."""
        new = self.names.missing(groups)
        if len(new):
            self._name(Names(np.concatenate([self.groups, new])))

    def make_room_for(self, names: Names) -> None:
        """The same for groups that have been named, which costs next to nothing in a new block."""
        if not len(self.names):
            self._name(names)
        elif names is not self.names:
            self.make_room(names.groups)

    def _name(self, names: Names) -> None:
        old, n = len(self.values), len(names)
        if n > len(self._room):
            self._room = np.zeros((n + old // 2, *self.values.shape[1:]))
            self._room[:old] = self.values
        self.names, self.values = names, self._room[:n]

    def add(self, group: int, term: FloatArray) -> None:
        """Add to one group."""
        at = np.array([group])
        self.make_room(at)
        self.values[self.names.slots(at)] += term

    def absorb(self, other: Stack) -> None:
        """Add the sums of another stack."""
        if self.names is other.names or np.array_equal(self.groups, other.groups):
            self.values += other.values
        else:
            self.make_room(other.groups)
            self.values[self.names.slots(other.groups)] += other.values

    def clear(self) -> None:
        """Forget everything but the memory."""
        self.values[:] = 0.0
        self.names, self.values = _NOBODY, self._room[:0]

    def copy(self) -> Stack:
        """Return a stack that can be added to without changing this one."""
        other = Stack(self.values.shape[1:])
        other.replace(self.names, self.values.copy())
        return other

    def replace(self, names: Names, values: FloatArray) -> None:
        """Put these values in place of those that are there."""
        self.names, self.values, self._room = names, values, values

    def regrouped(self, shares: Shares) -> Stack:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = Stack(self.values.shape[1:])
        other.make_room(np.array([to for g in self.groups for to, _ in shares[g]], dtype=np.int64))
        for g, value in zip(self.groups, self.values, strict=True):
            for to, part in shares[g]:
                other.add(to, part * value)
        return other

    def ordered(self, order: IntArray) -> FloatArray:
        """Return the arrays in this order of groups, zeros for groups that are not there."""
        slots = self.names.slots(order)
        if slots.min(initial=0) == 0:
            return self.values[slots]
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
        cross, phi_sum = _needed(placement)
        new = (
            len(self.cross.names.missing(cross.groups)),
            len(self.phi_sum.names.missing(phi_sum.groups)),
        )
        return 8 * (self.d**2 * new[0] + self.d * new[1])

    def add(self, rows: Rows, placement: Placement, workers: Sequence[Executor]) -> None:
        """Add rows; ``workers`` may take a part of the products, which changes no bit of them."""
        cross, phi_sum = _needed(placement)
        self.cross.make_room_for(cross)
        self.phi_sum.make_room_for(phi_sum)
        slots = placement.buckets.slots(self.cross.names, self.phi_sum.names)
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
        step = max(_CACHED // self.d, 64 * len(placement.buckets.groups))
        for first in range(0, len(rows), step):
            part, placed = rows[first : first + step], placement[first : first + step]
            add = partial(
                kernels.sums.add_products,
                *(self.cross.values, self.phi_sum.values, self.Sigma),
                *(_as_dense(part.phi), _as_dense(part.phi_next), *placed.sorted()),
                *(*slots, placed.parts, part.weight),
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
            *(placement.bucket, *slots, placement.parts, rows.weight),
        )

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

    def stacked(self, order: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return N (G, d, d), c (G, d) and Sigma, with groups in this order."""
        return self.cross.ordered(order), self.phi_sum.ordered(order), self.Sigma.copy()


def as_dense(sums: SparseSums, n_groups: int) -> DenseSums:
    """Return sparse sums as dense ones."""
    cross, phi_sum, Sigma = sums.stacked(np.arange(n_groups))
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


def _needed(placement: Placement) -> tuple[Names, Names]:
    """The groups of N and of c that a block has to have room for.

    All that its chunk has, if there are so many rows that they have nearly all; else those of the
    rows, as a block of a few rows with many rewards would be large otherwise.
    """
    if len(placement) >= _MANY * len(placement.buckets.groups):
        return placement.buckets.names
    cross, phi_sum = placement.used_groups()
    return Names(np.unique(cross)), Names(np.unique(phi_sum))


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
