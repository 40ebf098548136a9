"""The true return distribution of a known process, state by state."""

from __future__ import annotations

import numpy as np

from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.processes.expected_bellman import ExpectedBellman
from lincat.processes.finite import MarkovRewardProcess
from lincat.solvers.krylov import solve_contraction

__all__ = ["true_returns"]


def true_returns(
    process: MarkovRewardProcess, gamma: float, grid: Grid, *, tolerance: float = 1e-12
) -> ReturnDistribution:
    """Return the distribution of the return from every state, on a grid.

    The fixed point of the categorical Bellman operator without function approximation,
    eta = Pi_K T eta. It is within ℓ2(eta, Pi_K eta)/√(1 − gamma) of the true distribution eta: a
    finer grid brings it as near as wanted. Means are exact on every grid that holds the returns.

    Parameters
    ----------
    process : MarkovRewardProcess
    gamma : float
        In [0, 1]; 1 if episodes end from every state.
    grid : Grid
    tolerance : float
        Residual of the equation, relative to its right-hand side.

    Returns
    -------
    ReturnDistribution over the S states

    Examples
    --------
    >>> from lincat import catalog, true_returns
    >>> coin = catalog.uniform_coin()
    >>> dist = true_returns(coin.process, coin.gamma, coin.grid(intervals=100))
    >>> dist.mean().round(12), dist.variance().round(6)  # 1 and 1/3 + 2/(3 K^2)
    (array([1.]), array([0.3334]))
    """
    bellman = ExpectedBellman(process, grid, gamma)
    nothing = np.zeros((process.n_states, grid.intervals))
    cdf = solve_contraction(bellman.linear, bellman(nothing), tolerance=tolerance)
    bellman.warn_if_clipped(cdf)
    return ReturnDistribution(cdf, grid)
