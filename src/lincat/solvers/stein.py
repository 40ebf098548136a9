"""Solving X − B X Nᵀ = R exactly: the preconditioner of the batch equation.

The operator of the data is Σ_g B_g X N_gᵀ. Where reward and transition are independent it is one
product B X Nᵀ of the mean of B_g and the sum of N_g, and on means (1ᵀB_g = δ_g 1ᵀ) it always is.
With the Schur form N = U T Uᴴ, unitary, so that no eigenvectors need to be well conditioned,
Y = X conj(U) solves Y − B Y Tᵀ = R conj(U), one column after another from the last:

    (I − T_jj B) y_j = s_j + B Σ_{i>j} T_ji y_i,

each a banded system of size K.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.linalg import lapack

from lincat._typing import FloatArray

__all__ = ["SteinSolver"]

# Columns whose sums over later columns are taken in one product of matrices.
_COLUMNS = 32


class SteinSolver:
    """Factors of X ↦ X − B X Nᵀ.

    Parameters
    ----------
    B : sparse matrix of shape (K, K)
        With few diagonals.
    N : array of shape (r, r)

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from lincat.solvers.stein import SteinSolver
    >>> B = scipy.sparse.csr_array([[0.0, 0.5], [0.5, 0.0]])
    >>> N = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> R = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> X = SteinSolver(B, N).solve(R)
    >>> np.allclose(X - B @ X @ N.T, R)
    True
    """

    def __init__(self, B: scipy.sparse.csr_array, N: FloatArray) -> None:
        T, U = scipy.linalg.schur(N, output="complex")
        self._T, self._U, self._B = T, U, scipy.sparse.csr_array(B)
        #: The eigenvalues of N.
        self.eigenvalues = np.diagonal(T)
        entries = scipy.sparse.coo_array(B)
        offset = entries.row - entries.col
        K = B.shape[0]
        self._below, self._above = int(max(offset.max(initial=0), 0)), int(-offset.min(initial=0))
        band = np.zeros((2 * self._below + self._above + 1, K), np.complex128, order="F")
        self._factors = []
        place = (self._below + self._above + offset, entries.col)
        for j in range(len(T)):
            band[:] = 0.0
            np.add.at(band, place, -T[j, j] * entries.data)
            band[self._below + self._above] += 1.0
            factors, pivots, _ = lapack.zgbtrf(band, self._below, self._above)
            self._factors.append((factors, pivots))

    def solve(self, right: FloatArray) -> FloatArray:
        """Return X for a right-hand side of shape (K, r), or (K, m, r) for m of them."""
        K, r = right.shape[0], right.shape[-1]
        m = right.size // (K * r)
        # One column of X after another, for all right-hand sides: (r, K, m).
        S = np.ascontiguousarray((right.reshape(-1, r) @ self._U.conj()).T).reshape(r, K, m)
        Y = np.empty_like(S)
        for end in range(r, 0, -_COLUMNS):
            begin = max(end - _COLUMNS, 0)
            if end < r:
                later = self._T[begin:end, end:] @ Y[end:].reshape(r - end, K * m)
                S[begin:end] += self._push(later.reshape(end - begin, K, m))
            for j in range(end - 1, begin - 1, -1):
                column = S[j]
                if j + 1 < end:
                    near = self._T[j, j + 1 : end] @ Y[j + 1 : end].reshape(end - j - 1, K * m)
                    column = column + self._B @ near.reshape(K, m)
                factors, pivots = self._factors[j]
                Y[j], _ = lapack.zgbtrs(factors, self._below, self._above, column, pivots)
        X = (Y.reshape(r, K * m).T @ self._U.T).real
        return np.ascontiguousarray(X).reshape(right.shape)

    def _push(self, values: FloatArray) -> FloatArray:
        """B applied along the middle axis of (columns, K, m)."""
        n, K, m = values.shape
        flat = np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(K, n * m)
        return np.asarray((self._B @ flat).reshape(K, n, m).transpose(1, 0, 2))
