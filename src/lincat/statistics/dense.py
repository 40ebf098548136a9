"""The sums of one block as dense matrices, one for each group that it has.

Narrow features are multiplied by a loop of our own, wide ones by BLAS, bucket after bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import cycle

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.statistics.groups import Shares
from lincat.statistics.placement import Bucket, Placement
from lincat.statistics.rows import Rows
from lincat.statistics.sparse import SparseSums

__all__ = ["DenseSums", "Stack", "as_dense"]

_NARROW = 48  # below, packing rows for BLAS takes longer than multiplying them


class Stack:
    """Arrays of one shape by number of their group, one behind the other."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.slots: dict[int, int] = {}
        self.values: FloatArray = np.zeros((0, *shape))

    def make_room(self, groups: Iterable[int]) -> None:
        """Have zeros for groups that are new."""
        new = sorted(set(groups) - self.slots.keys())
        if new:
            self.slots |= {g: len(self.slots) + i for i, g in enumerate(new)}
            zeros = np.zeros((len(new), *self.values.shape[1:]))
            self.values = np.concatenate([self.values, zeros])

    def add(self, group: int, term: FloatArray) -> None:
        """Add to one group."""
        self.make_room([group])
        self.values[self.slots[group]] += term

    def plus(self, other: Stack) -> Stack:
        """Return the sums of both."""
        both = self.copy()
        both.make_room(other.slots)
        both.values[[both.slots[g] for g in other.slots]] += other.values
        return both

    def copy(self) -> Stack:
        """Return a stack that can be added to without changing this one."""
        other = Stack(self.values.shape[1:])
        other.slots, other.values = dict(self.slots), self.values.copy()
        return other

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
            return
        phi, phi_next = _as_dense(rows.phi), _as_dense(rows.phi_next)
        weight = None if (rows.weight == 1.0).all() else rows.weight
        if self.d < _NARROW:
            self._add_narrow(phi, phi_next, placement, placement.parts(rows.weight))
            self._add_Sigma(phi, weight)
        else:
            self._add_wide(phi, phi_next, placement, weight, workers)

    def _add_Sigma(self, phi: FloatArray, weight: FloatArray | None) -> None:
        weighted = np.asarray(phi, dtype=np.float64)
        if weight is not None:
            weighted = weighted * np.sqrt(weight)[:, None]
        self.Sigma += weighted.T @ weighted

    def _add_narrow(
        self, phi: FloatArray, phi_next: FloatArray, placement: Placement, parts: FloatArray
    ) -> None:
        order, last = placement.sorted()
        slots, phi_slots = (
            np.array([[stack.slots.get(g, -1) for g in b.groups] for b in placement.buckets])
            for stack in (self.cross, self.phi_sum)
        )
        slots[~placement.follows] = -1
        kernels.sums.add_products(
            *(self.cross.values, self.phi_sum.values, phi, phi_next),
            *(order, last, slots, phi_slots, parts),
        )

    def _add_wide(
        self,
        phi: FloatArray,
        phi_next: FloatArray,
        placement: Placement,
        weight: FloatArray | None,
        workers: Sequence[Executor],
    ) -> None:
        def add_buckets(buckets: list[tuple[Bucket, IntArray]]) -> None:
            for bucket, index in buckets:
                self._add_bucket(bucket, index, phi, phi_next, placement.split, weight)

        tasks = [partial(self._add_Sigma, phi, weight)]
        # Buckets of a phase have no group in common: the order of sums is always the same.
        for phase in placement.phases():
            tasks += [partial(add_buckets, share) for share in _shares(phase, len(workers) + 1)]
            _run(tasks, workers)
            tasks = []

    def _add_bucket(
        self,
        bucket: Bucket,
        index: IntArray,
        phi: FloatArray,
        phi_next: FloatArray,
        split: FloatArray | None,
        weight: FloatArray | None,
    ) -> None:
        here = phi[index].astype(np.float64, copy=False)
        parts = np.ones((len(index), 1)) if split is None else split[index]
        if weight is not None:
            parts *= weight[index][:, None]
        for g, total in zip(bucket.groups, parts.T @ here, strict=True):
            self.phi_sum.values[self.phi_sum.slots[g]] += total
        if not bucket.follows:
            return
        if split is not None:  # one product for the three nodes
            here = (parts[:, :, None] * here[:, None, :]).reshape(len(index), -1)
        elif weight is not None:
            here *= parts
        products = here.T @ phi_next[index].astype(np.float64, copy=False)
        for g, product in zip(bucket.groups, products.reshape(-1, self.d, self.d), strict=True):
            self.cross.values[self.cross.slots[g]] += product

    def _count(self, rows: Rows, placement: Placement) -> None:
        np.add.at(self.Sigma, (rows.phi, rows.phi), rows.weight)
        row, group, weight = placement.expanded(rows.weight)
        slot = _lookup(self.phi_sum.slots)[group]
        np.add.at(self.phi_sum.values, (slot, rows.phi[row]), weight)
        follows = placement.follows[placement.bucket][row]
        row, group = row[follows], group[follows]
        slot = _lookup(self.cross.slots)[group]
        np.add.at(self.cross.values, (slot, rows.phi[row], rows.phi_next[row]), weight[follows])

    def plus(self, other: DenseSums) -> DenseSums:
        """Return the sum of two blocks, whose groups have the same numbers."""
        both = DenseSums(self.d)
        both.cross, both.phi_sum = self.cross.plus(other.cross), self.phi_sum.plus(other.phi_sum)
        both.Sigma = self.Sigma + other.Sigma
        return both

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


def _shares(buckets: list[tuple[Bucket, IntArray]], n: int) -> list[list[tuple[Bucket, IntArray]]]:
    """Deal buckets out in n lists with about as many rows each."""
    shares: list[list[tuple[Bucket, IntArray]]] = [[] for _ in range(n)]
    sizes = [0] * n
    for bucket in sorted(buckets, key=lambda b: -len(b[1])):
        least = sizes.index(min(sizes))
        shares[least].append(bucket)
        sizes[least] += len(bucket[1])
    return shares


def _run(tasks: Sequence[Callable[[], None]], workers: Sequence[Executor]) -> None:
    """Run tasks in any order, the last one here."""
    waiting = [worker.submit(task) for worker, task in zip(cycle(workers), tasks[:-1])]
    for task in tasks[len(waiting) :]:
        task()
    for done in waiting:
        done.result()


def _lookup(slots: dict[int, int]) -> IntArray:
    table = np.zeros(max(slots, default=-1) + 1, dtype=np.int64)
    table[list(slots)] = list(slots.values())
    return table


def _as_dense(features: FeatureMatrix) -> FloatArray:
    array: FloatArray = features.toarray() if scipy.sparse.issparse(features) else features
    return array
