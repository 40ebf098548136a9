"""The sums of one block where features are sparse: only what is not zero, by number of its place.

The place of N_g[i, j] is (g d + i) d + j, of c_g[i] it is g d + i, of Sigma[i, j] it is i d + j.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._typing import BoolArray, FeatureMatrix, FloatArray, IntArray
from lincat.statistics.groups import Shares
from lincat.statistics.placement import Placement
from lincat.statistics.rows import Rows


class Entries:
    """Rows of sums by place, as pieces of ascending places, the largest piece first.

    A new piece joins those not much larger than itself, so that adding many small ones to a large
    one costs little; nothing else depends on it.
    """

    def __init__(self, pieces: list[tuple[IntArray, FloatArray]] | None = None) -> None:
        self.pieces = [] if pieces is None else pieces

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(place.nbytes + sums.nbytes for place, sums in self.pieces)

    def add(self, place: IntArray, values: FloatArray) -> None:
        """Add values (n,) or (n, width) to places, in any order, of which some may be the same."""
        rows = values[:, None] if values.ndim == 1 else values
        self.join(*kernels.entries.summed(place, rows))

    def join(self, place: IntArray, sums: FloatArray) -> None:
        """Add rows of sums to ascending places."""
        while self.pieces and len(self.pieces[-1][0]) <= 2 * len(place):
            place, sums = kernels.entries.merged(*self.pieces.pop(), place, sums)
        if len(place):
            self.pieces.append((place, sums))

    def absorb(self, other: Entries) -> None:
        """Add all of other entries."""
        if other.pieces:
            self.join(*other.whole())

    def whole(self) -> tuple[IntArray, FloatArray]:
        """Return all places, ascending, and their sums, (n, width)."""
        if not self.pieces:
            return np.zeros(0, dtype=np.int64), np.zeros((0, 1))
        place, sums = self.pieces[-1]
        for before in self.pieces[-2::-1]:
            place, sums = kernels.entries.merged(*before, place, sums)
        return place, sums

    def copy(self) -> Entries:
        """Return entries that can be added to without changing these."""
        return Entries(list(self.pieces))  # pieces are replaced, never written to


class SparseSums:
    """N_g = Σ w phi phi'ᵀ and c_g = Σ w phi by group, and Sigma = Σ w phi phiᵀ of all.

    Rows of states are kept apart, and together where a reward is split over three nodes: ``cells``
    are the sums of N by the first group of their bucket, a column for each group of it, and
    ``cell_groups`` are these groups. Whatever follows a state is one state, so that the rows of N
    add up to c.
    """

    def __init__(self, d: int) -> None:
        self.d = d
        self.clear()

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        parts = (self.cells, self.cross, self.phi_sum, self.Sigma)
        return sum(entries.nbytes for entries in parts)

    def new_bytes(self, placement: Placement) -> int:
        """Nothing is known before the rows have been added."""
        return 0

    def add(self, rows: Rows, placement: Placement, workers: Sequence[Executor]) -> None:
        """Add rows."""
        if rows.kind == "states":
            self._count(rows, placement)
        else:
            row, group, weight = placement.expanded()
            follows = placement.buckets.follows[placement.bucket][row]
            self._multiply(rows, row, group, weight, follows)

    def _count(self, rows: Rows, placement: Placement) -> None:
        d, bucket, parts, buckets = self.d, placement.bucket, placement.parts, placement.buckets
        self.cell_groups |= {of[0]: of for of in map(tuple, buckets.groups.tolist())}
        state, weight = kernels.entries.summed(rows.phi, rows.weight[:, None])
        self.Sigma.join(state * (d + 1), weight)
        place, ahead = buckets.groups[bucket, 0] * d + rows.phi, rows.phi_next
        if not buckets.follows.all():
            follows = buckets.follows[bucket]
            ended = buckets.groups[bucket[~follows]] * d + rows.phi[~follows, None]
            self.phi_sum.add(ended.ravel(), parts[~follows].ravel())
            place, ahead, parts = place[follows], ahead[follows], parts[follows]
        self.cells.add(place * d + ahead, parts)

    def parted(self) -> tuple[Entries, Entries]:
        """Return N and c of all rows, the cells parted among their groups."""
        cross, phi_sum = self.cross.copy(), self.phi_sum.copy()
        place, sums = self.cells.whole()
        if not len(place):  # a block that is empty, whatever groups others have
            return cross, phi_sum
        group, rest = np.divmod(place, self.d**2)
        groups = np.zeros((max(self.cell_groups) + 1, sums.shape[1]), dtype=np.int64)
        for first, of in self.cell_groups.items():
            groups[first] = of
        parted = (groups[group] * self.d**2 + rest[:, None]).ravel()
        cross.add(parted, sums.ravel())
        phi_sum.add(parted // self.d, sums.ravel())
        return cross, phi_sum

    def _multiply(
        self, rows: Rows, row: IntArray, group: IntArray, weight: FloatArray, follows: BoolArray
    ) -> None:
        # Features that do not occur here are left out of the products, which may be narrow then.
        phi, names = _narrow(scipy.sparse.csr_array(rows.phi))
        phi_next, next_names = _narrow(scipy.sparse.csr_array(rows.phi_next))
        self._add_product(self.Sigma, names, names, phi, phi, rows.weight)
        groups, number = np.unique(group, return_inverse=True)
        shifted = phi[row]  # feature i of group g becomes column g d + i
        length = np.diff(shifted.indptr)
        columns = np.repeat(number * len(names), length) + shifted.indices
        shape = (len(row), len(groups) * len(names))
        shifted = scipy.sparse.csr_array((shifted.data, columns, shifted.indptr), shape=shape)
        places = (groups[:, None] * self.d + names).ravel()
        entry = np.repeat(weight, length)
        self.phi_sum.add(places[columns], shifted.data * entry)
        ahead, behind = phi_next[row[follows]], shifted[follows]
        self._add_product(self.cross, places, next_names, behind, ahead, weight[follows])

    def _add_product(
        self,
        entries: Entries,
        names: IntArray,
        next_names: IntArray,
        left: Any,
        right: Any,
        weight: FloatArray,
    ) -> None:
        weighted = scipy.sparse.csr_array(
            (left.data * np.repeat(weight, np.diff(left.indptr)), left.indices, left.indptr),
            shape=left.shape,
        )
        product = scipy.sparse.coo_array(weighted.T @ right)
        i, j = product.coords
        entries.add(names[i] * self.d + next_names[j], product.data)

    def absorb(self, other: SparseSums) -> None:
        """Add the sums of another block, whose groups have the same numbers."""
        self.cell_groups |= other.cell_groups
        self.cells.absorb(other.cells)
        self.cross.absorb(other.cross)
        self.phi_sum.absorb(other.phi_sum)
        self.Sigma.absorb(other.Sigma)

    def clear(self) -> None:
        """Forget everything."""
        self.cells, self.cell_groups = Entries(), dict[int, tuple[int, ...]]()
        self.cross, self.phi_sum, self.Sigma = Entries(), Entries(), Entries()

    def copy(self) -> SparseSums:
        """Return sums that can be added to without changing these."""
        other = SparseSums(self.d)
        other.cells, other.cell_groups = self.cells.copy(), dict(self.cell_groups)
        other.cross, other.phi_sum = self.cross.copy(), self.phi_sum.copy()
        other.Sigma = self.Sigma.copy()
        return other

    def regrouped(self, shares: Shares) -> SparseSums:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = SparseSums(self.d)
        other.Sigma = self.Sigma.copy()
        cross, phi_sum = self.parted()
        for mine, theirs, size in (
            (cross, other.cross, self.d * self.d),
            (phi_sum, other.phi_sum, self.d),
        ):
            place, value = mine.whole()
            group, rest = np.divmod(place, size)
            edges = np.searchsorted(group, np.arange(len(shares) + 1))
            for g, to_all in enumerate(shares):
                part = slice(edges[g], edges[g + 1])
                for to, share in to_all:
                    theirs.join(to * size + rest[part], share * value[part])
        return other

    def stacked(self, order: IntArray) -> tuple[Any, FloatArray, Any]:
        """Return N (G d, d), c (G, d) and Sigma, with groups in this order; N and Sigma as CSR."""
        d = self.d
        position = np.zeros(order.max(initial=-1) + 1, dtype=np.int64)
        position[order] = np.arange(len(order))
        all_cross, all_phi_sum = self.parted()
        place, value = _single(all_cross)
        group, rest = np.divmod(place, d * d)
        row = position[group] * d + rest // d
        cross = scipy.sparse.csr_array((value, (row, rest % d)), shape=(len(order) * d, d))
        phi_sum = np.zeros((len(order), d))
        place, value = _single(all_phi_sum)
        phi_sum[position[place // d], place % d] = value
        place, value = _single(self.Sigma)
        return (
            cross,
            phi_sum,
            scipy.sparse.csr_array((value, (place // d, place % d)), shape=(d, d)),
        )


def _single(entries: Entries) -> tuple[IntArray, FloatArray]:
    place, sums = entries.whole()
    return place, sums[:, 0]


def _narrow(matrix: FeatureMatrix) -> tuple[Any, IntArray]:
    """Return a matrix without its empty columns, and the numbers of those left."""
    used = np.zeros(matrix.shape[1], dtype=bool)
    used[matrix.indices] = True
    names = np.flatnonzero(used)
    index = (np.cumsum(used) - 1)[matrix.indices]
    shape = (matrix.shape[0], len(names))
    return scipy.sparse.csr_array((matrix.data, index, matrix.indptr), shape=shape), names
