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

_KEY = "lincat potential"
_CHUNK = 8192


class Potential:
    """V(s) = offset + features(s)·weights.

    Parameters
    ----------
    features : Features
        Fitted, dense.
    weights : array of shape (d,)
    offset : float
    """

    def __init__(self, features: Features, weights: FloatArray, offset: float = 0.0) -> None:
        self.features = features
        self.weights = weights
        self.offset = offset

    @classmethod
    def fit(
        cls, features: Features, steps: Iterable[Steps], gamma: float, *, ridge: float
    ) -> Potential:
        """Return the V that solves the steps' own equation of means (Eq. (linear_TD_equation)).

        ``ridge``, relative to the mean of the diagonal of Σ phi phiᵀ, draws V towards the mean
        return of all states together, which is the offset.
        """
        d = features.n_features_
        Sigma, cross = np.zeros((d, d)), np.zeros((d, d))
        gained, lost = np.zeros(d), np.zeros(d)  # Σ phi r and Σ phi (1 − δ)
        reward, ended, count = 0.0, 0.0, 0
        for part in steps:
            for begin in range(0, len(part), _CHUNK):
                some = part[begin : begin + _CHUNK]
                phi, phi_next = some.both(features.transform)
                discount, weight, weighted = some.discounts(gamma), np.ones(len(some)), phi
                if some.weight is not None:
                    weight, weighted = some.weight, phi * some.weight[:, None]
                Sigma += weighted.T @ phi  # half the work where that is phiᵀphi
                cross += weighted.T @ (phi_next * discount[:, None])
                gained += weighted.T @ some.reward
                lost += weighted.T @ (1.0 - discount)
                reward += float(weight @ some.reward)
                ended += float(weight @ (1.0 - discount))
                count += len(some)
        # V = offset + phi·w has rewards r − (1 − δ) offset.
        offset = reward / ended if ended > 0.0 else 0.0
        right, one = gained - offset * lost, np.ones(1)
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
        return cls(features, solve_linear(totals, one, right, ridge=ridge), offset)

    def values(self, observations: Any) -> FloatArray:
        """Return V of n observations, shape (n,)."""
        return np.asarray(self.features.lookup(observations) @ self.weights) + self.offset

    def both_values(self, steps: Steps) -> tuple[FloatArray, FloatArray]:
        """Return V of the observations and of the next ones, shape (n,) each."""
        return steps.both(self.values)

    def save_bytes(self) -> bytes:
        """Return the content of a file; the features lie in a file of their own."""
        arrays = {"weights": self.weights, "offset": np.array([self.offset])}
        return pack(_KEY, "Potential", {}, {}, arrays, str)

    @classmethod
    def read(cls, path: Path, features: Features) -> Potential:
        """Read the weights that go with these features."""

        def build(content: bytes) -> Potential:
            _, arrays = unpack(content, _KEY, ["Potential"])
            weights = check_array(arrays["weights"], "weights", shape=(features.n_features_,))
            return cls(features, weights, float(check_array(arrays["offset"], "offset")[0]))

        return read_packed(path, "file of a potential", build)
