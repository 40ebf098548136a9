"""The true return distribution of a known process, state by state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat._threads import steady_blas
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.processes.expected_bellman import ExpectedBellman
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.problem import Problem
from lincat.solvers.krylov import solve_contraction

_FIRST = 64  # intervals
_MOST = 1 << 14
_WORK = 1 << 22  # outcomes times intervals
_STILL = 1e-3  # of the standard deviation of all states together


@dataclass(frozen=True)
class SettledReturns:
    """Return distributions on a grid as fine as it takes.

    Attributes
    ----------
    returns : ReturnDistribution
    change : float
        How much half as many intervals move standard deviations, quantiles and CVaR at the most, in
        units of the return; at least the spacing of the grid, as quantiles are atoms.
    """

    returns: ReturnDistribution
    change: float


@steady_blas()
def true_returns(
    process: MarkovRewardProcess,
    gamma: float,
    grid: Grid | None = None,
    *,
    tolerance: float = 1e-12,
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
    grid : Grid, optional
        By default one that loses no mass, its intervals doubled until figures stand still
        (:func:`settled_returns`).
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
    >>> true_returns(coin.process, coin.gamma).grid.intervals
    4096
    """
    if grid is None:
        return settled_returns(process, gamma, tolerance=tolerance).returns
    bellman = ExpectedBellman(process, grid, gamma)
    nothing = np.zeros((process.n_states, grid.intervals))
    cdf = solve_contraction(bellman.linear, bellman(nothing), tolerance=tolerance)
    bellman.warn_if_clipped(cdf)
    return ReturnDistribution(cdf, grid)


def settled_returns(
    process: MarkovRewardProcess, gamma: float, *, level: float = 0.05, tolerance: float = 1e-12
) -> SettledReturns:
    """Return the distributions on a grid that is doubled until figures stand still.

    Standard deviations, quantiles and CVaR of every state then move by less than a thousandth of
    the standard deviation of all states together; or the grid is as fine as is reasonable.

    Examples
    --------
    >>> from lincat import catalog
    >>> from lincat.solvers.returns import settled_returns
    >>> lake = catalog.frozen_lake()
    >>> found = settled_returns(lake.process, lake.gamma)
    >>> found.returns.grid.intervals, found.change < 1e-3
    (8192, True)
    """
    problem = Problem("process", process, gamma)
    most = max(min(_MOST, _WORK // max(len(process.state), 1)), _FIRST)
    intervals = _FIRST
    found = true_returns(process, gamma, problem.grid(intervals), tolerance=tolerance)
    figures = _figures(found, level)
    while True:
        intervals *= 2
        finer = true_returns(process, gamma, problem.grid(intervals), tolerance=tolerance)
        again = _figures(finer, level)
        change = max(float(np.abs(again - figures).max()), finer.grid.spacing)
        pooled = float(np.sqrt(max(finer.variance().mean() + finer.mean().var(), 0.0)))
        if change <= _STILL * pooled or 2 * intervals > most:
            return SettledReturns(finer, change)
        figures = again


def _figures(returns: ReturnDistribution, level: float) -> FloatArray:
    """What tables show of each state, shape (6, S)."""
    proper = returns.proper()
    quantiles = [proper.quantile(q) for q in (level, 0.5, 1.0 - level)]
    return np.stack([returns.mean(), proper.std(), *quantiles, proper.cvar(level)])
