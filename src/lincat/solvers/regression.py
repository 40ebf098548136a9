"""Projection onto linear functions of the features, in the norm weighted by mu.

The regression behind every projected equation of the paper: values y(s) go to the coefficients

    Sigma⁻¹ E_mu[phi(s) y(s)ᵀ],      Sigma = E_mu[phi(s) phi(s)ᵀ]   (Prop. linear_projection).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import splu

from lincat._arguments import check_array, check_features, check_probability_groups, fail
from lincat._typing import ArrayLike, FeatureMatrix, FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.representation import uniform_cdf
from lincat.processes.finite import MarkovRewardProcess


def state_weights(process: MarkovRewardProcess, weights: ArrayLike | None) -> FloatArray:
    """Return the weights of the states: the given ones, or the stationary distribution."""
    if weights is None:
        return process.stationary
    mu = check_array(weights, "weights", shape=(process.n_states,))
    check_probability_groups(mu, np.array([mu.sum()]), "weights", "distribution")
    return mu


class FeatureRegression:
    """Weighted least squares on fixed features, factorised once.

    Parameters
    ----------
    Phi : array or CSR matrix of shape (S, d)
    weights : array of shape (S,)
        mu, the probabilities of the states.
    """

    def __init__(self, Phi: FeatureMatrix, weights: FloatArray) -> None:
        self.Phi = check_features(Phi, "Phi", rows=len(weights))
        #: Phiᵀ diag(mu), shape (d, S).
        self.weighted = (
            scipy.sparse.csr_array(self.Phi.multiply(weights[:, None])).T.tocsr()
            if scipy.sparse.issparse(self.Phi)
            else (self.Phi * weights[:, None]).T
        )
        #: Sigma = E_mu[phi phiᵀ], shape (d, d).
        self.covariance = self.weighted @ self.Phi
        if scipy.sparse.issparse(self.covariance):
            diagonal = self.covariance.diagonal()
            if diagonal.min(initial=np.inf) <= 0.0:
                raise self._singular()
            try:
                factor = splu(scipy.sparse.csc_array(self.covariance))
            except RuntimeError:
                raise self._singular() from None
            if np.abs(factor.U.diagonal()).min() <= 1e-13 * diagonal.max():
                raise self._singular()
            self._solve = factor.solve
        else:
            eigenvalues = np.linalg.eigvalsh(self.covariance)
            if eigenvalues[0] <= 1e-13 * eigenvalues[-1]:
                raise self._singular()
            factors = scipy.linalg.cho_factor(self.covariance)
            self._solve = lambda right: scipy.linalg.cho_solve(factors, right)

    def coefficients(self, values: FloatArray) -> FloatArray:
        """Return Sigma⁻¹ E_mu[phi(s) values(s)ᵀ]; values (S, K) give (d, K)."""
        return np.asarray(self._solve(np.ascontiguousarray(self.weighted @ values)))

    def _singular(self) -> Exception:
        d = self.Phi.shape[1]
        return fail(
            "Phi",
            f"{d} features that are linearly independent on the states that the process visits",
            "a singular covariance matrix",
            "drop features that others explain or that are zero on all visited states, or pass "
            "weights= that are positive on all states",
        )


def linear_projection(
    dist: ReturnDistribution,
    process: MarkovRewardProcess,
    Phi: FeatureMatrix,
    *,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return Theta (d, K) of the linear distribution nearest to ``dist`` in ℓ2,mu.

    Prop. linear_projection::

        Theta = Sigma⁻¹ E_mu[phi(s) (F(s) − u)ᵀ],   u_k = (k + 1)/(K + 1)

    ``dist`` holds one distribution per state of the process, on the grid to project onto
    (distributions on other points go through :func:`lincat.project` first: the two projections
    compose).
    """
    if len(dist) != process.n_states:
        raise fail(
            "dist", f"{process.n_states} distributions, one per state", f"{len(dist)} distributions"
        )
    regression = FeatureRegression(Phi, state_weights(process, weights))
    return regression.coefficients(dist.cdf_values - uniform_cdf(dist.grid.intervals))
