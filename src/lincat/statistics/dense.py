"""The sums of one block as dense matrices, one for each group that it has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.statistics.placement import Placement
from lincat.statistics.rows import Rows
from lincat.statistics.sparse import SparseSums

__all__ = ["DenseSums", "as_dense"]

Share = tuple[int, float]  # a group, and the part of another that it gets


class DenseSums:
    """N_g = Σ w phi phi'ᵀ and c_g = Σ w phi by group, and Sigma = Σ w phi phiᵀ of all.

    Groups in which nothing follows have no N_g.
    """

    def __init__(self, d: int) -> None:
        self.cross: dict[int, FloatArray] = {}
        self.phi_sum: dict[int, FloatArray] = {}
        self.Sigma = np.zeros((d, d))

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.Sigma)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        d = self.d
        return 8 * (d * d * (1 + len(self.cross)) + d * len(self.phi_sum))

    def new_bytes(self, placement: Placement) -> int:
        """Return how many bytes the sums will grow by when these rows are added."""
        used = np.bincount(placement.bucket, minlength=len(placement.buckets)) > 0
        chosen = [b for b, some in zip(placement.buckets, used, strict=True) if some]
        cross = {g for b in chosen for g in b.groups if b.follows} - set(self.cross)
        phi_sum = {g for b in chosen for g in b.groups} - set(self.phi_sum)
        return 8 * (self.d**2 * len(cross) + self.d * len(phi_sum))

    def add(self, rows: Rows, placement: Placement) -> None:
        """Add rows."""
        if rows.kind == "states":
            self._count(rows, placement)
        else:
            self._multiply(rows, placement)

    def _multiply(self, rows: Rows, placement: Placement) -> None:
        weight = None if (rows.weight == 1.0).all() else rows.weight
        phi, phi_next = _as_dense(rows.phi), _as_dense(rows.phi_next)
        weighted = phi if weight is None else phi * np.sqrt(weight)[:, None]
        self.Sigma += weighted.T @ weighted
        for bucket, index in placement.by_bucket():
            here = phi[index]
            parts = _parts(placement.split, weight, index)
            for g, total in zip(bucket.groups, parts.T @ here, strict=True):
                _add_to(self.phi_sum, g, total)
            if not bucket.follows:
                continue
            if placement.split is not None:  # one product for the three nodes
                here = (parts[:, :, None] * here[:, None, :]).reshape(len(index), -1)
            elif weight is not None:
                here *= parts
            products = (here.T @ phi_next[index]).reshape(-1, self.d, self.d)
            for g, product in zip(bucket.groups, products, strict=True):
                _add_to(self.cross, g, product)

    def _count(self, rows: Rows, placement: Placement) -> None:
        np.add.at(self.Sigma, (rows.phi, rows.phi), rows.weight)
        for bucket, index in placement.by_bucket():
            state, state_next = rows.phi[index], rows.phi_next[index]
            parts = _parts(placement.split, rows.weight, index)
            for g, part in zip(bucket.groups, parts.T, strict=True):
                _add_to(self.phi_sum, g, _counted(state, part, self.d))
                if bucket.follows:
                    pair = _counted(state * self.d + state_next, part, self.d**2)
                    _add_to(self.cross, g, pair.reshape(self.d, self.d))

    def plus(self, other: DenseSums) -> DenseSums:
        """Return the sum of two blocks, whose groups have the same numbers."""
        both = DenseSums(self.d)
        both.Sigma = self.Sigma + other.Sigma
        for mine, left, right in (
            (both.cross, self.cross, other.cross),
            (both.phi_sum, self.phi_sum, other.phi_sum),
        ):
            for g in sorted(left.keys() | right.keys()):
                for sums in (left, right):
                    if g in sums:
                        _add_to(mine, g, sums[g])
        return both

    def copy(self) -> DenseSums:
        """Return sums that can be added to without changing these."""
        other = DenseSums(self.d)
        other.Sigma = self.Sigma.copy()
        other.cross = {g: x.copy() for g, x in self.cross.items()}
        other.phi_sum = {g: x.copy() for g, x in self.phi_sum.items()}
        return other

    def regrouped(self, shares: Sequence[tuple[Share, ...]]) -> DenseSums:
        """Return the sums in other groups; ``shares[g]`` says which get how much of group g."""
        other = DenseSums(self.d)
        other.Sigma = self.Sigma.copy()
        for mine, theirs in ((self.cross, other.cross), (self.phi_sum, other.phi_sum)):
            for g, sums in mine.items():
                for to, part in shares[g]:
                    _add_to(theirs, to, part * sums)
        return other

    def stacked(self, order: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return N (G, d, d), c (G, d) and Sigma, with groups in this order."""
        cross, phi_sum = np.zeros((len(order), self.d, self.d)), np.zeros((len(order), self.d))
        for i, g in enumerate(order):
            if g in self.cross:
                cross[i] = self.cross[g]
            if g in self.phi_sum:
                phi_sum[i] = self.phi_sum[g]
        return cross, phi_sum, self.Sigma.copy()


def as_dense(sums: SparseSums, n_groups: int) -> DenseSums:
    """Return sparse sums as dense ones."""
    cross, phi_sum, Sigma = sums.stacked(range(n_groups))
    d = sums.d
    dense = DenseSums(d)
    dense.Sigma = np.asarray(Sigma.toarray())
    for g in range(n_groups):
        product = cross[g * d : (g + 1) * d]
        if product.nnz:
            dense.cross[g] = np.asarray(product.toarray())
        if phi_sum[g].any():
            dense.phi_sum[g] = phi_sum[g].copy()
    return dense


def _as_dense(features: FeatureMatrix) -> FloatArray:
    if scipy.sparse.issparse(features):
        return np.asarray(features.toarray())
    return np.asarray(features, dtype=np.float64)


def _counted(place: IntArray, weight: FloatArray, size: int) -> FloatArray:
    return np.bincount(place, weight, minlength=size).astype(np.float64, copy=False)


def _parts(split: FloatArray | None, weight: FloatArray | None, index: IntArray) -> FloatArray:
    """Return how much of each row goes to each group of its bucket, shape (n, 1) or (n, 3)."""
    if split is None:
        return np.ones((len(index), 1)) if weight is None else weight[index][:, None]
    parts = split[index]
    return parts if weight is None else parts * weight[index][:, None]


def _add_to(sums: dict[int, FloatArray], g: int, term: FloatArray) -> None:
    if g in sums:
        sums[g] += term
    else:
        sums[g] = np.array(term)
