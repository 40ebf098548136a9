"""What the equation of means says of the equation of distributions.

1ᵀB_g = δ_g 1ᵀ, so the operator of the data acts on means by the matrix M = Σ_g δ_g Ñ_g (whitened),
and the eigenvalues of M are eigenvalues of the whole operator, as long as no mass leaves the grid.
The equation of means is (I − M) v = Wᵀ Σ_g r_g c_g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigs, splu

from lincat._arguments import fail
from lincat._typing import FeatureMatrix, FloatArray

_SINGULAR = 1e-11
_DENSE = 1500  # features up to which all eigenvalues are computed


@dataclass(frozen=True)
class MeanSpectrum:
    """Two numbers of the whitened equation of means."""

    #: Spectral radius of M: below 1, iterating the Bellman operator of the data converges.
    radius: float
    #: Smallest singular value of I − M: how far the equation is from having no solution.
    smallest_singular_value: float

    @property
    def is_contraction(self) -> bool:
        """Whether the Bellman operator of the data has a radius below 1."""
        return self.radius < 1.0

    @property
    def is_singular(self) -> bool:
        """Whether the equation has no single solution, as far as float64 can tell."""
        return self.smallest_singular_value <= _SINGULAR


def mean_spectrum(mean_matrix: FeatureMatrix) -> MeanSpectrum:
    """Return the spectral radius of M and the smallest singular value of I − M.

    Beyond 1,500 features, sparse, both come from iterations started in the same place each time.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.spectrum import mean_spectrum
    >>> mean_spectrum(np.diag([0.9, -0.5]))
    MeanSpectrum(radius=0.9, smallest_singular_value=0.09999999999999998)
    """
    r = mean_matrix.shape[0]
    if scipy.sparse.issparse(mean_matrix) and r > _DENSE:
        return MeanSpectrum(_radius(mean_matrix), _smallest(mean_matrix))
    dense = mean_matrix.toarray() if scipy.sparse.issparse(mean_matrix) else mean_matrix
    return MeanSpectrum(
        float(np.abs(np.linalg.eigvals(dense)).max(initial=0.0)),
        float(np.linalg.svd(np.eye(r) - dense, compute_uv=False)[-1]),
    )


def no_single_solution(discounts: FloatArray) -> Exception:
    """Build the error: discounts of 1 where no episode ends, or features that do not suit."""
    if discounts.max(initial=0.0) >= 1.0:
        return fail(
            "gamma",
            "below 1, or episodes that end from wherever they are",
            "1 with rows from which no end is reached",
            "lower gamma, or mark the ends of episodes",
        )
    return fail(
        "totals",
        "an equation with one solution",
        "a singular one",
        "try another gamma, fewer features or a ridge",
    )


def _radius(matrix: scipy.sparse.csr_array) -> float:
    start = np.ones(matrix.shape[0])
    if not np.any(matrix @ start):  # nothing leads anywhere; ARPACK would not begin
        return float(np.abs(matrix).sum(axis=1).max())
    try:
        values = eigs(matrix, k=1, which="LM", v0=start, return_eigenvectors=False, tol=1e-6)
    except ArpackNoConvergence as stopped:
        values = stopped.eigenvalues
    if len(values) == 0:  # bounded by the largest sum of a row
        return float(np.abs(matrix).sum(axis=1).max())
    return float(np.abs(values).max())


def _smallest(matrix: scipy.sparse.csr_array) -> float:
    """Inverse iteration on (I − M)(I − M)ᵀ."""
    n = matrix.shape[0]
    try:
        factors = splu(scipy.sparse.csc_array(scipy.sparse.eye_array(n) - matrix))
    except RuntimeError:
        return 0.0
    v, size = np.ones(n) / np.sqrt(n), np.inf
    for _ in range(30):
        w = factors.solve(factors.solve(v), trans="T")
        before, size = size, float(np.linalg.norm(w))
        v = w / size
        if abs(size - before) <= 1e-3 * size:
            break
    return float(1.0 / np.sqrt(size))
