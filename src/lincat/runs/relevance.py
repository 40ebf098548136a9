"""Which numbers returns depend on.

Bumps spread over all numbers of an observation, also over those that say nothing of the return, and
the more there are of these, the fewer bumps are left for the others. So a first fit of mean and
spread, by functions of each number and a few bumps over all of them, says which numbers move
neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from lincat._typing import BoolArray, FloatArray
from lincat.data.steps import Steps
from lincat.features._base import Features
from lincat.features.identity import Identity
from lincat.features.levels import Levels
from lincat.features.smooth import Smooth
from lincat.runs.plan import PSEUDO_ROWS
from lincat.runs.potential import Potential

_ROWS: Final = 25_000  # that the first fit is made of, at most
_BUMPS: Final = 64
_POINTS: Final = 2_000  # at which numbers are moved
_MOVE: Final = 0.5  # standard deviations, in all
_LEAST_SPREAD: Final = 0.02  # of the mean second moment
_LEVELS: Final = 12  # of each number
_MOST_NUMBERS: Final = 20  # with functions of their own
#: Of what the most important number moves; spread is told less well than the mean.
_NO_MEAN: Final = 0.15
_NO_SPREAD: Final = 0.25
_SHRUNK: Final = 0.2  # how much a number counts that moves no more than that


def importance_of(steps: Steps, gamma: float) -> FloatArray | None:
    """Return how much each of m numbers counts, 1 or less, shape (m,); None if all count alike.

    It is said by the root mean square of how far V and σ, the mean and the standard deviation of
    the return, move with it: by half a standard deviation, at observations of these steps.
    """
    points = np.asarray(steps.observation, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        return None
    some = steps[-_ROWS:]
    features, ridge = _first_features(some.observation), PSEUDO_ROWS / len(some)
    V = Potential.fit(features, [some], gamma, ridge=ridge)
    second = Potential.fit(features, [V.squared(some, gamma)], gamma, ridge=ridge)
    at = points[:: -(-len(points) // _POINTS)]
    least = _LEAST_SPREAD * max(float(second.values(at).mean()), 0.0)

    def sigma(rows: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(second.values(rows), least))

    nothing = _moves_nothing(V.values, at, _NO_MEAN) & _moves_nothing(sigma, at, _NO_SPREAD)
    return np.where(nothing, _SHRUNK, 1.0) if nothing.any() else None


def _first_features(points: FloatArray) -> Features:
    """Bumps over all numbers, and hats along each of them."""
    features: Features = Smooth(bumps=_BUMPS, seed=1).fit(points)
    numbers = Identity().fit(points)
    for column in np.eye(points.shape[1])[:_MOST_NUMBERS]:
        features = Levels(features, numbers, column, levels=_LEVELS).fit(points)
    return features


def _moves_nothing(
    function: Callable[[FloatArray], FloatArray], at: FloatArray, share: float
) -> BoolArray:
    """Which numbers move a function by less than a share of what another does, shape (m,)."""
    moved = _moved(function, at)
    return np.asarray((moved <= share * moved.max()) & (moved.max() > 0.0))


def _moved(function: Callable[[FloatArray], FloatArray], at: FloatArray) -> FloatArray:
    """The root mean square of what a function moves with each number, shape (m,)."""
    found = []
    for j, step in enumerate(0.5 * _MOVE * at.std(axis=0)):
        below, above = at.copy(), at.copy()
        below[:, j] -= step
        above[:, j] += step
        found.append(np.sqrt(np.mean((function(above) - function(below)) ** 2)))
    return np.array(found)
