"""Directions of features in which no transition had any, and the states that touch them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from lincat._text import listed
from lincat._typing import BoolArray, FeatureMatrix, FloatArray, IntArray

_UNSEEN = 1e-6  # part of a state's features that may be rounding
_NAMED = 5  # features, or states, that a sentence names


@dataclass(frozen=True)
class RankReport:
    """What the data do not reach.

    Attributes
    ----------
    rank : int
        Directions that the features span on the data, of d.
    directions : array or CSR matrix of shape (d, d − rank)
        The others. Parameters are zero along them: the answer of least norm.
    states : int array
        Rows of the features asked about that have a part there: what is said of them is a guess.
    asked : int
        How many states were asked about.
    """

    rank: int
    directions: FeatureMatrix
    states: IntArray
    asked: int

    @property
    def features(self) -> IntArray:
        """The features that the directions are made of, those with the largest part first."""
        part = abs(self.directions).sum(axis=1)
        size: FloatArray = np.asarray(part).ravel()
        order = np.argsort(-size, kind="stable")
        return order[size[order] > _UNSEEN]

    @property
    def reach(self) -> str:
        """How much the data reach, in a sentence."""
        d = self.directions.shape[0]
        said = f"The data reach {self.rank} of {d} directions of the features"
        if self.rank == d:
            return f"{said}."
        return (
            f"{said}; nothing is known along the others, which are made of "
            f"{_named('feature', self.features)}: use fewer features, more data or a ridge."
        )

    def __str__(self) -> str:
        if self.rank == self.directions.shape[0]:
            return self.reach
        n = len(self.states)
        named = f": {_named('state', self.states)}" if n else ""
        verb = "has" if n == 1 else "have"
        return f"{self.reach} Of {self.asked} states asked about, {n} {verb} a part there{named}."


def touched(Phi: FeatureMatrix, directions: FeatureMatrix) -> BoolArray:
    """Return which rows of Phi (n, d) have a part in directions (d, m), shape (n,)."""
    size = _row_sizes(Phi)
    if not directions.shape[1]:
        return np.zeros(len(size), dtype=bool)
    return np.asarray(_row_sizes(Phi @ directions) > _UNSEEN * size)


def _row_sizes(matrix: FeatureMatrix) -> FloatArray:
    largest = abs(matrix).max(axis=1)
    return np.asarray(largest.todense() if issparse(largest) else largest).ravel()


def _named(what: str, numbers: IntArray) -> str:
    first = [str(i) for i in numbers[:_NAMED]]
    if len(numbers) > _NAMED:
        first.append(f"{len(numbers) - _NAMED} more")
    return f"{what}{'s' if len(numbers) != 1 else ''} {listed(first)}"
