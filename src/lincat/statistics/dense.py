"""The sums of one block as dense matrices, one for each group that it has."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from functools import cache, partial

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.statistics.groups import Shares
from lincat.statistics.placement import Bucket, Placement
from lincat.statistics.rows import Rows
from lincat.statistics.sparse import SparseSums

_CACHED = 2**19  # numbers
_NARROW = 32  # columns that a thread should have at least: each looks up all rows


class Stack:
    """Arrays of one shape by number of their group, one behind the other."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.slots: dict[int, int] = {}
        self.values: FloatArray = np.zeros((0, *shape))
        self._room = self.values  # zeros behind the values, which take no memory until written to

    def make_room(self, groups: Iterable[int]) -> None:
        """Have zeros for groups that are new."""
        new = sorted(set(groups) - self.slots.keys())
        if not new:
            return
        old = len(self.slots)
        n = old + len(new)
        self.slots |= {g: old + i for i, g in enumerate(new)}
        if n > len(self._room):
            self._room = np.zeros((n + old // 2, *self.values.shape[1:]))
            self._room[:old] = self.values
        self.values = self._room[:n]

    def add(self, group: int, term: FloatArray) -> None:
        """Add to one group."""
        self.make_room([group])
        self.values[self.slots[group]] += term

    def absorb(self, other: Stack) -> None:
        """Add the sums of another stack."""
        self.make_room(other.slots)
        if list(self.slots) == list(other.slots):
            self.values += other.values
        else:
            for g, slot in other.slots.items():
                self.values[self.slots[g]] += other.values[slot]

    def clear(self) -> None:
        """Forget everything but the memory."""
        self.values[:] = 0.0
        self.slots, self.values = {}, self._room[:0]

    def copy(self) -> Stack:
        """Return a stack that can be added to without changing this one."""
        other = Stack(self.values.shape[1:])
        other.replace(dict(self.slots), self.values.copy())
        return other

    def replace(self, slots: dict[int, int], values: FloatArray) -> None:
        """Put these values in place of those that are there."""
        self.slots, self.values, self._room = slots, values, values

    def regrouped(self, shares: Shares) -> Stack:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = Stack(self.values.shape[1:])
        other.make_room(to for g in self.slots for to, _ in shares[g])
        for g, slot in self.slots.items():
            for to, part in shares[g]:
                other.values[other.slots[to]] += part * self.values[slot]
        return other

    def ordered(self, order: Sequence[int]) -> FloatArray:
        """Return the arrays in this order of groups, zeros for groups that are not there."""
        out: FloatArray = np.zeros((len(order), *self.values.shape[1:]))
        place = {g: i for i, g in enumerate(order)}
        out[[place[g] for g in self.slots]] = self.values
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
        cross, phi_sum = _groups(placement.used())
        new = len(cross - self.cross.slots.keys()), len(phi_sum - self.phi_sum.slots.keys())
        return 8 * (self.d**2 * new[0] + self.d * new[1])

    def add(self, rows: Rows, placement: Placement, workers: Sequence[Executor]) -> None:
        """Add rows; ``workers`` may take a part of the products, which changes no bit of them."""
        cross, phi_sum = _groups(placement.used())
        self.cross.make_room(cross)
        self.phi_sum.make_room(phi_sum)
        if rows.kind == "states":
            self._count(rows, placement)
        else:
            self._multiply(rows, placement, workers)

    def _multiply(self, rows: Rows, placement: Placement, workers: Sequence[Executor]) -> None:
        slots, phi_slots = self._slots(placement)
        mine, *others = _column_shares(self.d, len(workers) + 1)
        # Rows that are looked up should be in the cache, and many enough for each bucket.
        step = max(_CACHED // self.d, 64 * len(placement.buckets))
        for first in range(0, len(rows), step):
            part, placed = rows[first : first + step], placement[first : first + step]
            add = partial(
                kernels.sums.add_products,
                *(self.cross.values, self.phi_sum.values, self.Sigma),
                *(_as_dense(part.phi), _as_dense(part.phi_next), *placed.sorted()),
                *(slots, phi_slots, placed.parts(part.weight), part.weight),
            )
            waiting = [w.submit(add, share) for w, share in zip(workers, others, strict=False)]
            add(mine)
            for done in waiting:
                done.result()
        kernels.sums.mirror(self.Sigma)

    def _count(self, rows: Rows, placement: Placement) -> None:
        kernels.sums.count_states(
            *(self.cross.values, self.phi_sum.values, self.Sigma),
            *(rows.phi, rows.phi_next, placement.bucket, *self._slots(placement)),
            *(placement.parts(rows.weight), rows.weight),
        )

    def _slots(self, placement: Placement) -> tuple[IntArray, IntArray]:
        """Where the groups of each bucket lie, (buckets, parts), in N (−1 for none) and in c."""
        slots, phi_slots = (
            _lookup(stack.slots, int(placement.groups.max()))[placement.groups]
            for stack in (self.cross, self.phi_sum)
        )
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


def _groups(buckets: list[Bucket]) -> tuple[set[int], set[int]]:
    """Return the groups in which something follows, and all groups."""
    return {g for b in buckets if b.follows for g in b.groups}, {
        g for b in buckets for g in b.groups
    }


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


def _lookup(slots: dict[int, int], last: int) -> IntArray:
    """The slots of groups 0 .. last, at least; −1 for those that have none."""
    table = np.full(max(last, *slots, 0) + 1, -1, dtype=np.int64)
    table[list(slots)] = list(slots.values())
    return table


def _as_dense(features: FeatureMatrix) -> FloatArray:
    array: FloatArray = features.toarray() if scipy.sparse.issparse(features) else features
    return array
