"""Factors on K intervals as a preconditioner on 2K.

A cell of the coarse grid is two of the fine one. What is alike in both is solved for on the coarse
grid; what differs between them is left as it is, since the operator averages over neighbours and
makes it small by itself. GMRES takes 10 to 20 products to nine digits, without new factors.
"""

from __future__ import annotations

import numpy as np

from lincat._typing import FloatArray
from lincat.solvers.preconditioners import Inverse


def coarser(X: FloatArray) -> FloatArray:
    """Return the means of the two halves of each cell: (..., 2K, r) to (..., K, r)."""
    return 0.5 * (X[..., 0::2, :] + X[..., 1::2, :])


def finer(X: FloatArray) -> FloatArray:
    """Return cells cut into halves: (..., K, r) to (..., 2K, r).

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.two_grid import coarser, finer
    >>> finer(np.array([[1.0], [3.0]])).ravel(), coarser(finer(np.array([[1.0], [3.0]]))).ravel()
    (array([1., 1., 3., 3.]), array([1., 3.]))
    """
    return np.repeat(X, 2, axis=-2)


def two_grid(inverse: Inverse) -> Inverse:
    """Return about the inverse on 2K intervals, from one on K."""

    def solve(right: FloatArray) -> FloatArray:
        smooth = coarser(right)
        return right + finer(inverse(np.ascontiguousarray(smooth)) - smooth)

    return solve
