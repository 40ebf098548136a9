"""The constants that the paper's error bounds are made of, computed for a known process.

For one transition Linear-CTD moves by −alpha (A_t θ − b_t) with

    A_t = I ⊗ phi phiᵀ − B(r) ⊗ phi phi'ᵀ,     b_t = b(r) ⊗ phi     (Eq. (bt)),

and everything below follows from the rank-one structure without a matrix of size dK.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse

from lincat._arguments import check_array, check_features, check_gamma
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.bellman import bellman_matrix, bellman_target
from lincat.core.grid import Grid
from lincat.core.representation import cdf_from_theta
from lincat.processes.finite import MarkovRewardProcess


@dataclass(frozen=True)
class ErrorConstants:
    """What Lemma upper_bound_error_quantities bounds, as it is for one process."""

    gamma: float
    #: K.
    intervals: int
    #: Smallest and largest eigenvalue of Sigma = E[phi phiᵀ].
    lambda_min: float
    lambda_max: float
    #: Largest ‖phi(s)‖² over the states that are visited.
    max_squared_norm: float
    #: Largest ‖A_t‖; at most (1 + √gamma) * max_squared_norm.
    max_norm_A: float
    #: Largest ‖A_t θ* − b_t‖.
    C_e: float
    #: E‖A_t θ* − b_t‖², the trace of the covariance of the noise at the fixed point.
    trace_Sigma_e: float
    #: ‖θ*‖ and ‖θ*‖ in the norm of I ⊗ Sigma.
    norm_theta: float
    norm_theta_Sigma: float

    @property
    def C_A(self) -> float:
        """An upper bound for both ‖A_t‖ and ‖A_t − E A_t‖."""
        return 2.0 * self.max_norm_A

    @property
    def paper(self) -> ErrorBounds:
        """What Lemma upper_bound_error_quantities says of them."""
        return error_bounds(self.gamma, self.intervals, self.norm_theta, self.norm_theta_Sigma)


@dataclass(frozen=True)
class ErrorBounds:
    """The upper bounds of Lemma upper_bound_error_quantities, for K ≥ 1/(1 − gamma), ‖phi‖ ≤ 1."""

    C_A: float
    C_e: float
    trace_Sigma_e: float


def error_bounds(
    gamma: float, intervals: int, norm_theta: float, norm_theta_Sigma: float
) -> ErrorBounds:
    """Return C_A ≤ 4, C_e ≤ 4(‖θ*‖ + √K(1 − gamma)), tr Sigma_e ≤ 18(‖θ*‖²_Sigma + K(1 − gamma)²).

    Examples
    --------
    >>> from lincat.theory.constants import error_bounds
    >>> error_bounds(0.75, 16, norm_theta=2.0, norm_theta_Sigma=1.0)
    ErrorBounds(C_A=4.0, C_e=12.0, trace_Sigma_e=36.0)
    """
    offset = intervals * (1.0 - gamma) ** 2
    return ErrorBounds(
        C_A=4.0,
        C_e=4.0 * (norm_theta + math.sqrt(offset)),
        trace_Sigma_e=18.0 * (norm_theta_Sigma**2 + offset),
    )


def error_constants(
    process: MarkovRewardProcess, Phi: FeatureMatrix, grid: Grid, gamma: float, Theta: FloatArray
) -> ErrorConstants:
    """Return the constants at the fixed point ``Theta`` (d, K), see ``solve_categorical``.

    Examples
    --------
    >>> from lincat import catalog, error_constants, solve_categorical
    >>> p = catalog.paper("unit_norm")
    >>> grid = p.grid(intervals=30)
    >>> Theta = solve_categorical(p.process, p.Phi, grid, p.gamma)
    >>> constants = error_constants(p.process, p.Phi, grid, p.gamma, Theta)
    >>> round(constants.lambda_min, 6), constants.C_A <= constants.paper.C_A
    (0.010165, True)
    """
    check_gamma(gamma)
    Phi = check_features(Phi, "Phi", rows=process.n_states)
    Theta = check_array(Theta, "Theta", shape=(Phi.shape[1], grid.intervals))
    mu = process.stationary
    chance = mu[process.state] * process.probability
    seen = chance > 0.0
    state, next_state = process.state[seen], process.next_state[seen]
    reward, discount = process.reward[seen], process.discounts(gamma)[seen]

    gram = Phi @ Phi.T
    gram = gram.toarray() if scipy.sparse.issparse(gram) else gram
    squared = np.diag(gram)
    covariance = Phi.T @ (Phi * mu[:, None])
    covariance = covariance.toarray() if scipy.sparse.issparse(covariance) else covariance

    cdf = cdf_from_theta(Phi, Theta)
    # A_t θ* − b_t = (F(s) − target) ⊗ phi(s), so its norm is a product.
    error = cdf[state] - bellman_target(cdf[next_state], reward, discount, grid)
    noise = squared[state] * (error**2).sum(axis=1)
    eigenvalues = np.linalg.eigvalsh(covariance)
    return ErrorConstants(
        gamma=gamma,
        intervals=grid.intervals,
        lambda_min=float(eigenvalues[0]),
        lambda_max=float(eigenvalues[-1]),
        max_squared_norm=float(squared[state].max()),
        max_norm_A=max(
            _norm_A(bellman_matrix(grid, r, d), squared[s], gram[s, n], squared[n])
            for s, r, n, d in zip(state, reward, next_state, discount, strict=True)
        ),
        C_e=float(np.sqrt(noise.max())),
        trace_Sigma_e=float(chance[seen] @ noise),
        norm_theta=float(np.linalg.norm(Theta)),
        norm_theta_Sigma=float(np.sqrt(np.sum(Theta * (covariance @ Theta)))),
    )


def _norm_A(B: FloatArray, phi_phi: float, phi_next: float, next_next: float) -> float:
    """‖A_t‖ from A_t A_tᵀ = (‖phi‖² I − phi·phi' (B + Bᵀ) + ‖phi'‖² B Bᵀ) ⊗ phi phiᵀ."""
    K = len(B)
    core = phi_phi * np.eye(K) - phi_next * (B + B.T) + next_next * (B @ B.T)
    largest = scipy.linalg.eigvalsh(core, subset_by_index=[K - 1, K - 1])[0]
    return float(np.sqrt(max(largest, 0.0) * phi_phi))
