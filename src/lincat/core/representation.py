"""Two coordinates of one distribution: CDF values and probability masses (App. pmf_representation).

With C the lower-triangular matrix of ones (Eq. (def_C)), cdf = C pmf over the first K atoms, and
for parameters Theta = W Cᵀ. The last mass follows from the others: the total is always one.
"""

from __future__ import annotations

import numpy as np

from lincat._arguments import check_array, fail
from lincat._typing import ArrayLike, FeatureMatrix, FloatArray


def uniform_cdf(intervals: int) -> FloatArray:
    """Return (k + 1)/(K + 1), k < K: the CDF that Theta = 0 stands for."""
    return np.arange(1.0, intervals + 1.0) / (intervals + 1.0)


def cdf_from_theta(Phi: FeatureMatrix, Theta: FloatArray) -> FloatArray:
    """Return F_k(s) = phi(s)·Theta[:, k] + (k + 1)/(K + 1) (Eq. (def_linear_parametrize)).

    Phi is (n, d), dense or CSR, and Theta (d, K); the result is (n, K).
    """
    cdf: FloatArray = Phi @ Theta
    cdf += uniform_cdf(Theta.shape[1])
    return cdf


def pmf_from_cdf(cdf: ArrayLike) -> FloatArray:
    """Return the masses of all K + 1 atoms from CDF values at the first K.

    Examples
    --------
    >>> from lincat import pmf_from_cdf
    >>> pmf_from_cdf([0.25, 0.5, 0.75])
    array([0.25, 0.25, 0.25, 0.25])
    """
    values = check_array(cdf, "cdf")
    return np.diff(values, axis=-1, prepend=0.0, append=1.0)


def cdf_from_pmf(pmf: ArrayLike) -> FloatArray:
    """Return CDF values at the first K atoms from the masses of all K + 1.

    Examples
    --------
    >>> from lincat import cdf_from_pmf
    >>> cdf_from_pmf([0.25, 0.25, 0.25, 0.25])
    array([0.25, 0.5 , 0.75])
    """
    masses = check_array(pmf, "pmf")
    if masses.ndim == 0 or masses.shape[-1] < 2:
        raise fail("pmf", "masses of at least two atoms", f"shape {masses.shape}")
    totals = masses.sum(axis=-1)
    if np.abs(totals - 1.0).max(initial=0.0) > 1e-8:
        worst = totals.flat[int(np.abs(totals - 1.0).argmax())]
        raise fail("pmf", "masses that sum to 1", f"a sum of {worst:.12g}")
    return np.cumsum(masses[..., :-1], axis=-1)


def weights_from_theta(Theta: ArrayLike) -> FloatArray:
    """Return W = Theta C⁻ᵀ, the parameters of the masses (Eq. (PMF_linear_parametrization)).

    Examples
    --------
    >>> from lincat import theta_from_weights, weights_from_theta
    >>> weights_from_theta([[1.0, 3.0, 6.0]])
    array([[1., 2., 3.]])
    >>> theta_from_weights([[1.0, 2.0, 3.0]])
    array([[1., 3., 6.]])
    """
    return np.diff(check_array(Theta, "Theta", shape=(None, None)), axis=1, prepend=0.0)


def theta_from_weights(W: ArrayLike) -> FloatArray:
    """Return Theta = W Cᵀ, the inverse of :func:`weights_from_theta`."""
    return np.cumsum(check_array(W, "W", shape=(None, None)), axis=1)
