"""A potential: a function V of the observations about which returns are learned.

For any V at all, the return is V(s) plus the discounted sum of TD errors, so V need not be right:
the nearer it is to the mean return, the more alike are the distributions that are left to learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import check_array
from lincat._tensors import pack, read_packed, unpack
from lincat._typing import FloatArray
from lincat.data.steps import Steps
from lincat.features._base import Features
from lincat.solvers.moments import solve_linear
from lincat.statistics.totals import Totals

__all__ = ["Potential"]

_KEY = "lincat potential"
_CHUNK = 8192
_RIDGE = 1e-8  # relative: bumps and quadratics overlap


class Potential:
    """V(s) = features(s)·weights.

    Parameters
    ----------
    features : Features
        Fitted, dense.
    weights : array of shape (d,)
    """

    def __init__(self, features: Features, weights: FloatArray) -> None:
        self.features = features
        self.weights = weights

    @classmethod
    def fit(cls, features: Features, steps: Iterable[Steps], gamma: float) -> Potential:
        """Return the V that solves the steps' own equation of means (Eq. (linear_TD_equation))."""
        d = features.n_features_
        Sigma, cross, right = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
        count = 0
        for part in steps:
            for begin in range(0, len(part), _CHUNK):
                some = part[begin : begin + _CHUNK]
                phi, phi_next = some.both(features.transform)
                weighted = phi if some.weight is None else phi * some.weight[:, None]
                Sigma += weighted.T @ phi
                cross += weighted.T @ (phi_next * some.discounts(gamma)[:, None])
                right += weighted.T @ some.reward
                count += len(some)
        one = np.ones(1)
        totals = Totals(
            0.0 * one,
            np.array([1]),
            np.nan * one,
            cross[None],
            right[None],
            Sigma,
            count,
            float(count),
        )
        return cls(features, solve_linear(totals, one, right, ridge=_RIDGE))

    def values(self, observations: Any) -> FloatArray:
        """Return V of n observations, shape (n,)."""
        return np.asarray(self.features.lookup(observations) @ self.weights)

    def both_values(self, steps: Steps) -> tuple[FloatArray, FloatArray]:
        """Return V of the observations and of the next ones, shape (n,) each."""
        return steps.both(self.values)

    def save_bytes(self) -> bytes:
        """Return the content of a file; the features lie in a file of their own."""
        return pack(_KEY, "Potential", {}, {}, {"weights": self.weights}, str)

    @classmethod
    def read(cls, path: Path, features: Features) -> Potential:
        """Read the weights that go with these features."""

        def build(content: bytes) -> FloatArray:
            _, arrays = unpack(content, _KEY, ["Potential"])
            return check_array(arrays["weights"], "weights", shape=(features.n_features_,))

        return cls(features, read_packed(path, "file of a potential", build))
