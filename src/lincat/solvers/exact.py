"""The exact fixed points of a known process, with linear features.

Value function, Eq. (linear_TD_equation):

    (Sigma − E[δ phi phi'ᵀ]) psi = E[phi r]

Return distribution, Thm linear_cate_TD_equation:

    Sigma Theta − E[phi phi'ᵀ Theta B(r)ᵀ] = E[phi b(r)ᵀ]

where δ is gamma, or 0 where an episode ends. Multiplied by Sigma⁻¹ the second reads
Theta − M Theta = c with ‖M‖ <= √gamma in the norm of Sigma (Eq. (biscuit_matrix_in_paper)), which
a Krylov method (krylov.py) solves with products M Theta alone, each O((nnz(Phi) + outcomes) K).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import spsolve

from lincat._arguments import check_gamma
from lincat._threads import steady_blas
from lincat._typing import ArrayLike, FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import cdf_from_theta, uniform_cdf
from lincat.processes.expected_bellman import ExpectedBellman
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.undiscounted import check_ends
from lincat.solvers.krylov import solve_contraction
from lincat.solvers.regression import FeatureRegression, state_weights


@steady_blas()
def solve_value(
    process: MarkovRewardProcess,
    Phi: FeatureMatrix,
    gamma: float,
    *,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return psi* (d,), the fixed point of Linear-TD: V(s) ≈ phi(s)·psi*.

    Parameters
    ----------
    process : MarkovRewardProcess
    Phi : array or CSR matrix of shape (S, d)
    gamma : float
        In [0, 1]; 1 if episodes end from every state.
    weights : array of shape (S,), optional
        Probabilities of the states; the stationary distribution by default.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import catalog, solve_value
    >>> coin = catalog.uniform_coin()
    >>> solve_value(coin.process, np.eye(1), coin.gamma)
    array([1.])
    """
    if check_gamma(gamma, one=True) == 1.0:
        check_ends(process)
    discounts = process.discounts(gamma)
    regression = FeatureRegression(Phi, state_weights(process, weights))
    S = process.n_states
    discounted = scipy.sparse.csr_array(
        (process.probability * discounts, (process.state, process.next_state)), shape=(S, S)
    )
    reward = np.bincount(process.state, process.probability * process.reward, S)
    matrix = regression.covariance - regression.weighted @ (discounted @ regression.Phi)
    right = regression.weighted @ reward
    if scipy.sparse.issparse(matrix):
        return np.asarray(spsolve(scipy.sparse.csc_array(matrix), right)).reshape(right.shape)
    return np.linalg.solve(matrix, right)


@steady_blas()
def solve_categorical(
    process: MarkovRewardProcess,
    Phi: FeatureMatrix,
    grid: Grid,
    gamma: float,
    *,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-12,
) -> FloatArray:
    """Return Theta* (d, K), the fixed point of Linear-CTD (Thm linear_cate_TD_equation).

    Parameters
    ----------
    process : MarkovRewardProcess
    Phi : array or CSR matrix of shape (S, d)
    grid : Grid
        Should hold all returns: a :class:`lincat.GridMisfitWarning` says if it does not.
    gamma : float
        In [0, 1]; 1 if episodes end from every state.
    weights : array of shape (S,), optional
        Probabilities of the states; the stationary distribution by default.
    tolerance : float
        Residual of the equation, relative to its right-hand side.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import ReturnDistribution, catalog, cdf_from_theta, solve_categorical
    >>> coin = catalog.uniform_coin()
    >>> grid = coin.grid(intervals=4)
    >>> Theta = solve_categorical(coin.process, np.eye(1), grid, coin.gamma)
    >>> ReturnDistribution(cdf_from_theta(np.eye(1), Theta), grid).pmf.round(12)
    array([[0.125, 0.25 , 0.25 , 0.25 , 0.125]])
    """
    bellman = ExpectedBellman(process, grid, gamma)
    regression = FeatureRegression(Phi, state_weights(process, weights))
    features = regression.Phi
    uniform = np.tile(uniform_cdf(grid.intervals), (process.n_states, 1))

    Theta = solve_contraction(
        lambda Theta: regression.coefficients(bellman.linear(features @ Theta)),
        regression.coefficients(bellman(uniform) - uniform),
        tolerance=tolerance,
    )
    bellman.warn_if_clipped(cdf_from_theta(features, Theta))
    return Theta
