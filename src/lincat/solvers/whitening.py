"""Coordinates in which Sigma is the identity, and the directions in which it says nothing.

With Sigma = Q Λ Qᵀ and W = Q₊ Λ₊^(−1/2) over the eigenvalues that are not negligible, Theta = W X
turns the equation of the data into X − Σ_g (Wᵀ N_g W) X B_gᵀ = Σ_g (Wᵀ c_g) b_gᵀ. A direction z
that is dropped has zᵀphi = 0 on all rows, so that neither N_g nor c_g reaches it and the data say
nothing about zᵀTheta: W X is the answer that is zero there, of least norm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, fail
from lincat._typing import FeatureMatrix, FloatArray

#: Eigenvalues of Sigma below this share of the largest are taken for zero.
NEGLIGIBLE = 1e-10
# Features up to which all eigenvectors are computed: a minute, and 400 MB.
_LARGEST = 5000


@dataclass(frozen=True)
class Whitening:
    """W with Wᵀ Sigma W = I, and the null directions.

    Attributes
    ----------
    matrix : array (d, rank), or array (d,) where Sigma is diagonal
        W; a diagonal is held as its entries, zero where a feature never occurs.
    null : array of shape (d, d − rank)
        Orthonormal directions in which no row has any feature; columns of the identity where Sigma
        is diagonal.
    added : float
        What a ridge added to the diagonal of Sigma.
    """

    matrix: FloatArray
    null: FeatureMatrix
    added: float

    @property
    def rank(self) -> int:
        """The number of directions that the data reach."""
        return int(self.matrix.shape[0] - self.null.shape[1])

    @property
    def size(self) -> int:
        """The number of columns of X's transposed form: rank, or d where Sigma is diagonal."""
        return int(self.matrix.shape[-1])

    def down(self, rows: FloatArray) -> FloatArray:
        """Return rows W, for rows of shape (..., d)."""
        return rows * self.matrix if self.matrix.ndim == 1 else rows @ self.matrix

    def up(self, rows: FloatArray) -> FloatArray:
        """Return rows Wᵀ, for rows of shape (..., size)."""
        return rows * self.matrix if self.matrix.ndim == 1 else rows @ self.matrix.T

    def inner(self, square: FeatureMatrix) -> FeatureMatrix:
        """Return Wᵀ square W, for a matrix of shape (d, d)."""
        if self.matrix.ndim == 2:
            return np.asarray(self.matrix.T @ (square @ self.matrix))
        if scipy.sparse.issparse(square):
            return scipy.sparse.csr_array(square * self.matrix[:, None] * self.matrix)
        return square * self.matrix[:, None] * self.matrix


def whiten(Sigma: FeatureMatrix, *, ridge: float = 0.0) -> Whitening:
    """Return the whitening of Sigma + ridge * (mean of its diagonal) * I.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.whitening import whiten
    >>> twice = whiten(np.full((2, 2), 8.0))  # two features that are always the same
    >>> twice.rank, (twice.matrix.T @ np.full((2, 2), 8.0) @ twice.matrix).round(12)
    (1, array([[1.]]))
    >>> np.abs(twice.null.round(6))
    array([[0.707107],
           [0.707107]])
    """
    d = Sigma.shape[0]
    diagonal = check_array(Sigma.diagonal(), "Sigma")
    if d == 0 or diagonal.max(initial=0.0) <= 0.0:
        raise fail("totals", "at least one row with a feature that is not zero", "none")
    added = ridge * float(diagonal.mean())
    if scipy.sparse.issparse(Sigma) and Sigma.count_nonzero() == np.count_nonzero(diagonal):
        entries = diagonal + added
        seen = entries > NEGLIGIBLE**2 * entries.max()  # a rare state is not a small direction
        root = np.where(seen, 1.0 / np.sqrt(np.where(seen, entries, 1.0)), 0.0)
        unseen = scipy.sparse.eye_array(d, format="csr")[:, np.flatnonzero(~seen)]
        return Whitening(root, unseen, added)
    if d > _LARGEST:
        raise fail(
            "totals",
            f"at most {_LARGEST:,} features where features overlap",
            f"{d:,}",
            "use fewer features, one for each state, or a streaming learner",
        )
    dense = Sigma.toarray() if scipy.sparse.issparse(Sigma) else np.array(Sigma)
    dense.flat[:: d + 1] += added
    values, vectors = np.linalg.eigh((dense + dense.T) / 2.0)
    kept = values > NEGLIGIBLE * values[-1]
    return Whitening(
        np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept])), vectors[:, ~kept], added
    )
