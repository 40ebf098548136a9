"""An approximate inverse of X ↦ X − Σ_g B_g X N_gᵀ: one Bellman matrix but where more is needed.

Where reward and transition are independent, the operator is one product B X Nᵀ of the mean of B_g
and the sum of N_g, and on means (1ᵀB_g = δ_g 1ᵀ) it always is. Two steps make an inverse of that
(`SlowFastSolver`):

* *Fast* directions, those that N makes small at once, take X − B X Nᵀ = R, a Stein equation. With
  the Schur form N = U T Uᴴ, unitary, so that no eigenvectors need to be well conditioned,
  Y = X conj(U) solves Y − B Y Tᵀ = R conj(U) one column after another from the last, each a banded
  system of size K:

      (I − T_jj B) y_j = s_j + B Σ_{i>j} T_ji y_i.

* *Slow* directions, an invariant subspace Z of N of a few dozen dimensions, take the operator as it
  is, projected to Z: a block-banded matrix of small blocks. What is correlated with rewards over
  many steps lives there: 32 of them cut GMRES from about 100 iterations to 20.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.linalg import lapack

from lincat._typing import FloatArray
from lincat.solvers.blocks import BlockBandedLU

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Columns whose sums over later columns are taken in one product of matrices.
_COLUMNS = 32


class SteinSolver:
    """Factors of X ↦ X − B X Nᵀ, or of its part in the span of some Schur vectors of N.

    Parameters
    ----------
    B : sparse matrix of shape (K, K)
        With few diagonals.
    T : complex array of shape (f, f)
        Upper triangular.
    U : complex array of shape (r, f)
        N = U T Uᴴ in the span of U, whose columns are orthonormal.

    Examples
    --------
    >>> import numpy as np, scipy.linalg, scipy.sparse
    >>> from lincat.solvers.stein import SteinSolver
    >>> B = scipy.sparse.csr_array([[0.0, 0.5], [0.5, 0.0]])
    >>> N = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> R = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> X = SteinSolver(B, *scipy.linalg.schur(N, output="complex")).solve(R)
    >>> np.allclose(X - B @ X @ N.T, R)
    True
    """

    def __init__(
        self, B: scipy.sparse.csr_array, T: NDArray[np.complex128], U: NDArray[np.complex128]
    ) -> None:
        self._T, self._U, self._B = T, U, scipy.sparse.csr_array(B)
        entries = scipy.sparse.coo_array(B)
        offset = entries.row - entries.col
        self._below = max(int(offset.max(initial=0)), 0)
        self._above = max(int(-offset.min(initial=0)), 0)
        height = 2 * self._below + self._above + 1
        pattern = np.zeros((height, B.shape[0]), order="F")
        pattern[self._below + self._above + offset, entries.col] = entries.data
        self._factors = []
        for eigenvalue in np.diagonal(T):
            band = -eigenvalue * pattern
            band[self._below + self._above] += 1.0
            factors, pivots, _ = lapack.zgbtrf(band, self._below, self._above, overwrite_ab=1)
            self._factors.append((factors, pivots))

    def solve(self, right: FloatArray) -> FloatArray:
        """Return X for right-hand sides of shape (K, r), or (m, K, r) for m of them at once."""
        f, (K, r) = len(self._T), right.shape[-2:]
        m = right.size // (K * r)
        each = (right @ self._U.conj()).reshape(m, K, f)
        S = np.ascontiguousarray(each.transpose(2, 0, 1))  # (m, K) for each column of Y
        Y = np.empty_like(S)
        for end in range(f, 0, -_COLUMNS):
            begin = max(end - _COLUMNS, 0)
            if end < f:
                later = self._T[begin:end, end:] @ Y[end:].reshape(f - end, m * K)
                S[begin:end] += (self._B @ later.reshape(-1, K).T).T.reshape(-1, m, K)
            for j in range(end - 1, begin - 1, -1):
                rows = S[j]
                if j + 1 < end:
                    later = self._T[j, j + 1 : end] @ Y[j + 1 : end].reshape(-1, m * K)
                    rows = rows + (self._B @ later.reshape(m, K).T).T
                factors, pivots = self._factors[j]
                solved, _ = lapack.zgbtrs(factors, self._below, self._above, rows.T, pivots)
                Y[j] = solved.T
        return np.ascontiguousarray((Y.transpose(1, 2, 0) @ self._U.T).real).reshape(right.shape)


class SlowFastSolver:
    """The operator as it is in slow directions, its mean form in the others.

    Parameters
    ----------
    B : sparse matrix of shape (K, K)
    N : array of shape (r, r)
    slow : array of shape (r, s)
        Z, orthonormal; N Z = Z (ZᵀN Z).
    factors : BlockBandedLU
        Of the operator projected to the slow directions, blocks (s, s).
    T, U : as for :class:`SteinSolver`
        The Schur form of N in the other directions.
    """

    def __init__(
        self,
        B: scipy.sparse.csr_array,
        N: FloatArray,
        slow: FloatArray,
        factors: BlockBandedLU,
        fast: SteinSolver,
    ) -> None:
        self._B, self._slow, self._factors, self._fast = B, slow, factors, fast
        self._coupling = np.ascontiguousarray(N.T @ slow)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return about X for right-hand sides of shape (K, r), or (m, K, r)."""
        X = self._fast.solve(right)
        K, r = right.shape[-2:]
        together = X.reshape(-1, K, r).transpose(1, 0, 2)
        pushed = (self._B @ together.reshape(K, -1)).reshape(together.shape).transpose(1, 0, 2)
        rest = right @ self._slow + (pushed @ self._coupling).reshape(*right.shape[:-1], -1)
        solved = self._factors.solve(rest.reshape(len(pushed), -1)).reshape(rest.shape)
        return X + solved @ self._slow.T


def _slowness(eigenvalue: NDArray[Any]) -> FloatArray:
    """The modulus; of those on one circle, the ones to the right: the same for both of a pair."""
    return np.asarray(np.abs(eigenvalue) + 1e-3 * np.real(eigenvalue))


def slow_directions(
    N: FloatArray, count: int
) -> tuple[FloatArray, NDArray[np.complex128], NDArray[np.complex128]]:
    """Return about ``count`` slow directions of N, and the Schur form (T, U) of the others.

    Slow ones belong to the eigenvalues of largest modulus; both of a conjugate pair do.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.stein import slow_directions
    >>> slow, T, U = slow_directions(np.diag([0.1, 0.9, 0.5]), 1)
    >>> np.abs(slow).round(12).T, np.diagonal(T).real
    (array([[0., 1., 0.]]), array([0.1, 0.5]))
    """
    count = min(count, len(N))
    if count == 0:
        T, U = scipy.linalg.schur(N, output="complex")
        return np.zeros((len(N), 0)), T, U
    # In the widest gap near to the count, so that rounding does not tear pairs apart.
    size = np.append(np.sort(_slowness(np.linalg.eigvals(N)))[::-1], -np.inf)
    first, last = max(count - 4, 1), min(count + 1, len(N))
    at = first + int(np.argmax(size[first - 1 : last] - size[first : last + 1]))
    border = size[at] + (size[at - 1] - size[at]) / 2.0 if at < len(N) else -np.inf
    T, U, s = scipy.linalg.schur(N, output="complex", sort=lambda value: _slowness(value) > border)
    # The span of the leading Schur vectors is real: an orthonormal basis of it that is real, too.
    both = np.concatenate([U[:, :s].real, U[:, :s].imag], axis=1)
    slow = np.linalg.svd(both, full_matrices=False)[0][:, :s]
    return np.ascontiguousarray(slow), T[s:, s:], U[:, s:]
