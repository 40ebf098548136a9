"""Distances between return distributions: 1-Wasserstein and Cramér.

    W1(F, G) = ∫ |F − G|,      ℓ2(F, G) = (∫ (F − G)²)^½,

per state, or over states as the weighted root mean square of the paper, with weights mu:
W1,mu = (E_mu[W1²])^½ and likewise ℓ2,mu (Section background).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np

from lincat._arguments import check_array, check_probability_groups, fail
from lincat._typing import ArrayLike, FloatArray
from lincat.core.distribution import ReturnDistribution


@overload
def wasserstein(
    dist: ReturnDistribution, other: ReturnDistribution, *, weights: None = None
) -> FloatArray: ...
@overload
def wasserstein(
    dist: ReturnDistribution, other: ReturnDistribution, *, weights: ArrayLike
) -> float: ...
def wasserstein(
    dist: ReturnDistribution, other: ReturnDistribution, *, weights: ArrayLike | None = None
) -> FloatArray | float:
    """Return the 1-Wasserstein distance of each state, or its mu-weighted root mean square.

    Parameters
    ----------
    dist, other : ReturnDistribution
        Over the same states (or one of them over a single state); the grids may differ.
    weights : array of shape (n,), optional
        Probabilities mu of the states; with them the result is one number.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution, cramer, wasserstein
    >>> grid = Grid(0.0, 4.0, intervals=2)
    >>> zero, two = ReturnDistribution([1.0, 1.0], grid), ReturnDistribution([0.0, 1.0], grid)
    >>> wasserstein(zero, two), cramer(zero, two)
    (array([2.]), array([1.41421356]))
    """
    return _average(_integrate(dist, other, np.abs), weights)


@overload
def cramer(
    dist: ReturnDistribution, other: ReturnDistribution, *, weights: None = None
) -> FloatArray: ...
@overload
def cramer(dist: ReturnDistribution, other: ReturnDistribution, *, weights: ArrayLike) -> float: ...
def cramer(
    dist: ReturnDistribution, other: ReturnDistribution, *, weights: ArrayLike | None = None
) -> FloatArray | float:
    """Return the Cramér distance ℓ2 of each state, or its mu-weighted root mean square.

    Arguments as for :func:`wasserstein`.
    """
    return _average(np.sqrt(_integrate(dist, other, np.square)), weights)


def _integrate(
    dist: ReturnDistribution,
    other: ReturnDistribution,
    transform: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """∫ transform(F − G) for each state; both CDFs are step functions."""
    if len(dist) != len(other) and 1 not in (len(dist), len(other)):
        raise fail("other", f"{len(dist)} states like dist", f"{len(other)} states")
    if dist.grid == other.grid:
        difference = dist.cdf_values - other.cdf_values
        return np.asarray(transform(difference).sum(axis=1) * dist.grid.spacing)
    breaks = np.union1d(dist.grid.atoms, other.grid.atoms)
    middle = (breaks[:-1] + breaks[1:]) / 2.0  # away from the jumps, so rounding cannot matter
    difference = dist.cdf(middle) - other.cdf(middle)
    return np.asarray(transform(difference) @ np.diff(breaks))


def _average(distance: FloatArray, weights: ArrayLike | None) -> FloatArray | float:
    if weights is None:
        return distance
    mu = check_array(weights, "weights", shape=(len(distance),))
    check_probability_groups(mu, np.array([mu.sum()]), "weights", "distribution")
    return float(np.sqrt(mu @ distance**2))
