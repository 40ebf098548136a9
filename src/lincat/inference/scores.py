"""Distances and scores between distributions on a grid and returns anywhere, exact."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from lincat._arguments import check_number
from lincat._typing import FloatArray
from lincat.core.grid import Grid


def distance(points: FloatArray, masses: FloatArray) -> FloatArray:
    """Return ∫ |F| of each row of signed masses (n, m) at points (n, m): W1 of their two parts."""
    order = np.argsort(points, axis=1, kind="stable")
    sorted_points = np.take_along_axis(points, order, axis=1)
    cdf = np.cumsum(np.take_along_axis(masses, order, axis=1), axis=1)
    return np.asarray((np.abs(cdf[:, :-1]) * np.diff(sorted_points, axis=1)).sum(axis=1))


def crps(cdf: FloatArray, grid: Grid, returns: FloatArray) -> FloatArray:
    """Return ∫ (F − 1{y <= x})² dx for the returns y (n, R) of states with CDF values (n, K).

    Left of y the integrand is F², right of it (1 − F)²; F is constant between atoms.
    """
    K, n = grid.intervals, len(cdf)
    before, after = np.zeros((n, K + 1)), np.zeros((n, K + 1))  # ∫ F² up to, ∫ (1 − F)² from atom k
    np.cumsum(cdf**2 * grid.spacing, axis=1, out=before[:, 1:])
    after[:, :K] = np.cumsum((1.0 - cdf[:, ::-1]) ** 2 * grid.spacing, axis=1)[:, ::-1]
    inside = np.clip(returns, grid.low, grid.high)
    position = np.clip(grid.position(inside), 0.0, K)
    k = np.minimum(position.astype(np.int64), K - 1)
    part = (position - k) * grid.spacing
    F = np.take_along_axis(cdf, k, axis=1)
    score = np.take_along_axis(before, k, axis=1) + part * F**2
    score += (grid.spacing - part) * (1.0 - F) ** 2 + np.take_along_axis(after, k + 1, axis=1)
    return np.asarray(score + np.abs(returns - inside))  # beyond the grid F is 0 or 1


def pinball(quantile: FloatArray, returns: FloatArray, level: float) -> FloatArray:
    """Return the loss, shape (n,), that is least on average at the true quantile of the level.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.inference.scores import pinball
    >>> pinball(np.array([2.0, 2.0]), np.array([1.0, 4.0]), 0.05)
    array([0.95, 0.1 ])
    """
    above = returns - quantile
    return np.asarray(np.where(above < 0.0, (level - 1.0) * above, level * above))


def half_mean_difference(returns: FloatArray, weights: FloatArray) -> float:
    """Return ½ E|Y − Y'| = ∫ F(1 − F) of weighted returns (m,): their CRPS as own prediction."""
    order = np.argsort(returns)
    cdf = np.cumsum(weights[order])[:-1]
    return float((cdf * (1.0 - cdf)) @ np.diff(returns[order]))


def lower_tail_mean(returns: FloatArray, weights: FloatArray, level: float) -> float:
    """Return the mean of the worst ``level`` of the weight, splitting the return at its end."""
    order = np.argsort(returns)
    taken = np.minimum(np.cumsum(weights[order]), level)
    share = np.diff(taken, prepend=0.0)
    return float(share @ returns[order]) / float(taken[-1])


def expected_deviation(n: int, probability: FloatArray) -> FloatArray:
    """Return E|X/n − p| for X ~ Binomial(n, p), by de Moivre's formula.

    E|X − np| = 2 v C(n, v) p^v (1 − p)^(n − v + 1) with v = floor(np) + 1.
    """
    p = np.clip(probability, 0.0, 1.0)
    v = np.minimum(np.floor(n * p) + 1.0, n)  # at p = 1 the last factor is 0 anyway
    log = gammaln(n + 1.0) - gammaln(v + 1.0) - gammaln(n - v + 1.0)
    log += xlogy(v, p) + xlog1py(n - v + 1.0, -p)
    return np.asarray(2.0 * v * np.exp(log) / n)


def dkw_band(n: float, confidence: float = 0.95) -> float:
    """Return how far an empirical CDF of n draws may be off anywhere, with this confidence.

    √(log(2/(1 − confidence))/(2n)): Dvoretzky, Kiefer and Wolfowitz, with Massart's constant
    (1990).

    Examples
    --------
    >>> from lincat.inference.scores import dkw_band
    >>> round(dkw_band(1000), 4)
    0.0429
    """
    n = check_number(n, "n", low=0.0, low_open=True)
    level = check_number(confidence, "confidence", low=0.0, high=1.0, high_open=True)
    return min(1.0, float(np.sqrt(np.log(2.0 / (1.0 - level)) / (2.0 * n))))
