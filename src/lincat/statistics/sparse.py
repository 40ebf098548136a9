"""The sums of one block where features are sparse: only what is not zero, by number of its place.

The place of N_g[i, j] is (g d + i) d + j, of c_g[i] it is g d + i, of Sigma[i, j] it is i d + j.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import scipy.sparse

from lincat._typing import BoolArray, FeatureMatrix, FloatArray, IntArray
from lincat.statistics.groups import Shares
from lincat.statistics.placement import Placement
from lincat.statistics.rows import Rows


class Entries:
    """Sums by place, as pieces of ascending places, the largest piece first.

    A new piece joins those not much larger than itself, so that adding many small ones to a large
    one costs little; nothing else depends on it.
    """

    def __init__(self, pieces: list[tuple[IntArray, FloatArray]] | None = None) -> None:
        self.pieces = [] if pieces is None else pieces

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return 16 * sum(len(place) for place, _ in self.pieces)

    def add(self, place: IntArray, value: FloatArray) -> None:
        """Add values to places, which may come in any order and more than once."""
        piece = _reduced(place, value)
        while self.pieces and len(self.pieces[-1][0]) <= 2 * len(piece[0]):
            before = self.pieces.pop()
            piece = _reduced(*(np.concatenate(x) for x in zip(before, piece, strict=True)))
        if len(piece[0]):
            self.pieces.append(piece)

    def whole(self) -> tuple[IntArray, FloatArray]:
        """Return all places, ascending, and their sums."""
        if not self.pieces:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        place, value = self.pieces[-1]
        for before in self.pieces[-2::-1]:
            place, value = _reduced(
                np.concatenate([before[0], place]), np.concatenate([before[1], value])
            )
        return place, value

    def copy(self) -> Entries:
        """Return entries that can be added to without changing these."""
        return Entries(list(self.pieces))  # pieces are replaced, never written to


class SparseSums:
    """N_g = Σ w phi phi'ᵀ and c_g = Σ w phi by group, and Sigma = Σ w phi phiᵀ of all."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.cross, self.phi_sum, self.Sigma = Entries(), Entries(), Entries()

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.cross.nbytes + self.phi_sum.nbytes + self.Sigma.nbytes

    def new_bytes(self, placement: Placement) -> int:
        """Nothing is known before the rows have been added."""
        return 0

    def add(self, rows: Rows, placement: Placement, workers: Sequence[Executor]) -> None:
        """Add rows."""
        row, group, weight = placement.expanded(rows.weight)
        follows = placement.follows[placement.bucket][row]
        if rows.kind == "states":
            self._count(rows, row, group, weight, follows)
        else:
            self._multiply(rows, row, group, weight, follows)

    def _count(
        self, rows: Rows, row: IntArray, group: IntArray, weight: FloatArray, follows: BoolArray
    ) -> None:
        self.Sigma.add(rows.phi * (self.d + 1), rows.weight)
        place = group * self.d + rows.phi[row]
        self.phi_sum.add(place, weight)
        pair = place * self.d + rows.phi_next[row]
        self.cross.add(pair[follows], weight[follows])

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
        self.cross.add(*other.cross.whole())
        self.phi_sum.add(*other.phi_sum.whole())
        self.Sigma.add(*other.Sigma.whole())

    def clear(self) -> None:
        """Forget everything."""
        self.cross, self.phi_sum, self.Sigma = Entries(), Entries(), Entries()

    def copy(self) -> SparseSums:
        """Return sums that can be added to without changing these."""
        other = SparseSums(self.d)
        other.cross, other.phi_sum = self.cross.copy(), self.phi_sum.copy()
        other.Sigma = self.Sigma.copy()
        return other

    def regrouped(self, shares: Shares) -> SparseSums:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = SparseSums(self.d)
        other.Sigma = self.Sigma.copy()
        for mine, theirs, size in (
            (self.cross, other.cross, self.d * self.d),
            (self.phi_sum, other.phi_sum, self.d),
        ):
            place, value = mine.whole()
            group, rest = np.divmod(place, size)
            edges = np.searchsorted(group, np.arange(len(shares) + 1))
            for g, to_all in enumerate(shares):
                part = slice(edges[g], edges[g + 1])
                for to, share in to_all:
                    theirs.add(to * size + rest[part], share * value[part])
        return other

    def stacked(self, order: Sequence[int]) -> tuple[Any, FloatArray, Any]:
        """Return N (G d, d), c (G, d) and Sigma, with groups in this order; N and Sigma as CSR."""
        d = self.d
        position = np.zeros(max(order, default=-1) + 1, dtype=np.int64)
        position[list(order)] = np.arange(len(order))
        place, value = self.cross.whole()
        group, rest = np.divmod(place, d * d)
        row = position[group] * d + rest // d
        cross = scipy.sparse.csr_array((value, (row, rest % d)), shape=(len(order) * d, d))
        phi_sum = np.zeros((len(order), d))
        place, value = self.phi_sum.whole()
        phi_sum[position[place // d], place % d] = value
        place, value = self.Sigma.whole()
        return (
            cross,
            phi_sum,
            scipy.sparse.csr_array((value, (place // d, place % d)), shape=(d, d)),
        )


def _reduced(place: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return ascending places, each once, and the sums of their values."""
    order = np.argsort(place, kind="stable")  # runs that ascend already are merged, not sorted
    place, value = place[order], value[order]
    if not len(place):
        return place, value
    first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
    return place[first], np.add.reduceat(value, first)


def _narrow(matrix: FeatureMatrix) -> tuple[Any, IntArray]:
    """Return a matrix without its empty columns, and the numbers of those left."""
    used = np.zeros(matrix.shape[1], dtype=bool)
    used[matrix.indices] = True
    names = np.flatnonzero(used)
    index = (np.cumsum(used) - 1)[matrix.indices]
    shape = (matrix.shape[0], len(names))
    return scipy.sparse.csr_array((matrix.data, index, matrix.indptr), shape=shape), names
