"""LU factors of a block-banded matrix, by products of blocks.

LAPACK's banded LU moves a few columns at a time; here every step is one product of matrices, which
is several times as fast from blocks of size 16 on. Pivots are taken within diagonal blocks only:
that is stable where the symmetric part of the matrix is positive definite, which a contraction
gives; elsewhere the residual of the solution tells.
"""

from __future__ import annotations

import numpy as np

from lincat._typing import FloatArray


def band_flops(blocks: int, size: int, below: int, above: int) -> float:
    """Return about how many floating-point operations the factors cost."""
    return 2.0 * blocks * float(size) ** 3 * (below + 1.0) * (above + 1.0)


def band_bytes(blocks: int, size: int, below: int, above: int, itemsize: int) -> float:
    """Return the memory that the factors take."""
    return float(blocks) * size**2 * (below + 1 + above) * itemsize


class BlockBandedLU:
    """Factors of a matrix of n x n blocks, each (r, r), with few diagonals of blocks.

    Parameters
    ----------
    rows : array of shape (n, (below + 1 + above) * r, r)
        ``rows[k]`` holds the transposes of blocks (k, k − below), ..., (k, k + above) one below the
        other (so that slices lie together); those outside the matrix are zero. Overwritten.
    below, above : int
        Number of block diagonals on either side.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.blocks import BlockBandedLU
    >>> rows = np.array([[[0.0], [4.0], [1.0]], [[2.0], [4.0], [0.0]]])  # [[4, 1], [2, 4]]
    >>> BlockBandedLU(rows, below=1, above=1).solve(np.array([[5.0, 6.0]]))
    array([[1., 1.]])
    """

    def __init__(self, rows: FloatArray, *, below: int, above: int) -> None:
        n, _, r = rows.shape
        self._rows, self._below, self._above = rows, below, above
        middle = below * r
        for k in range(n):
            # The inverse, not factors: from here on it is only multiplied with.
            inverse = np.linalg.inv(rows[k, middle : middle + r])
            rows[k, middle : middle + r] = inverse
            beyond = min(above, n - 1 - k) * r
            right = rows[k, middle + r : middle + r + beyond]
            right[:] = right @ inverse
            for i in range(1, min(below, n - 1 - k) + 1):
                at = middle - i * r
                rows[k + i, at + r : at + r + beyond] -= right @ rows[k + i, at : at + r]

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solutions for m right-hand sides, shape (m, n * r)."""
        n, _, r = self._rows.shape
        below, above, middle = self._below, self._above, self._below * r
        x = np.array(right, dtype=self._rows.dtype)
        for k in range(n):
            here, first = slice(k * r, (k + 1) * r), max(k - below, 0)
            left = self._rows[k, middle - (k - first) * r : middle]
            value = x[:, here] - x[:, first * r : k * r] @ left
            x[:, here] = value @ self._rows[k, middle : middle + r]
        for k in range(n - 2, -1, -1):
            last = min(k + above, n - 1)
            beyond = self._rows[k, middle + r : middle + (last - k + 1) * r]
            x[:, k * r : (k + 1) * r] -= x[:, (k + 1) * r : (last + 1) * r] @ beyond
        return x
