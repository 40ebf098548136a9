"""A scale: a function σ of the observations, in whose units returns about a potential are learned.

For any σ > 0, Z = (G − V(s))/σ(s) is a return too: its rewards are TD errors in units of σ(s), its
discounts gamma σ(s')/σ(s). So σ need not be right: the nearer it is to the standard deviation of
the return, the more alike are the distributions of Z, and few features say how they differ. (About
a potential alone, states from which much is certain borrow tails from those where nothing is.)

Sums are kept for each discount, so discounts are rounded to a few nodes: up with the probability
that keeps their expectation, which adds the square of half a gap between nodes to the variance of a
step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from lincat._arguments import check_array, check_number
from lincat._tensors import pack, read_packed, unpack
from lincat._typing import FloatArray
from lincat.data.steps import Steps
from lincat.data.transitions import Transitions
from lincat.features._base import Features
from lincat.runs.potential import Potential

_KEY: Final = "lincat scale"
_LEAST: Final = 0.15  # of the scale of all observations together
_RAISED: Final = (1.0, 2.0, 3.5)  # times that, until discounts are not too large
_LARGE: Final = 0.9  # of the states have no larger one
_ROUNDING: Final = 1e-9  # of values and rewards
_NODES: Final = 12  # of discounts; sums are kept for each of them and each node of rewards
_CHUNK: Final = 8192
_BINS: Final = 200  # of the density of discounts
#: Nodes of rewards in such units, which are spread out and much alike.
REWARD_NODES: Final = 24


class Scale:
    """σ(s) = the root of a second moment, at least ``least``.

    Parameters
    ----------
    second : Potential
        Of E (G − V(s))², about.
    least : float
    nodes : array of shape (m,)
        The discounts of Z that sums are kept for, ascending.
    large : float, optional
        What nine in ten of the states seen do not exceed.
    """

    def __init__(
        self, second: Potential, least: float, nodes: FloatArray, large: float | None = None
    ) -> None:
        self.second = second
        self.least = least
        self.nodes = nodes
        self.large = large

    @classmethod
    def fit(
        cls,
        features: Features,
        steps: Steps,
        potential: Potential,
        gamma: float,
        *,
        ridge: float,
    ) -> Scale | None:
        """Return the scale of the steps; None where nothing about the potential is chance."""
        second = Potential.fit(features, [potential.squared(steps, gamma)], gamma, ridge=ridge)
        least = _LEAST * float(np.sqrt(np.maximum(second.both_values(steps)[0], 0.0).mean()))
        # Of a certain return, TD errors are what rounding left over.
        largest = np.abs(potential.both_values(steps)[0]).max()
        if not least > _ROUNDING * max(largest, np.abs(steps.reward).max()):
            return None
        return cls(second, least, np.ones(1))._placed(steps, gamma)

    def _placed(self, steps: Steps, gamma: float) -> Scale:
        """The same, with nodes where the discounts of these steps are."""
        here, there = self.both_values(steps)
        self.large = float(np.quantile(here, _LARGE))
        ahead = self._discount(steps, here, there, gamma)
        ahead = ahead[ahead > 0.0]
        if len(ahead):
            self.nodes = _nodes_for(ahead)
        return self

    def contracting(
        self, features: Features, steps: Steps, gamma: float, *, ridge: float
    ) -> Scale | None:
        """Return the same with as large a ``least`` as it takes to contract; None if none does."""
        for factor in _RAISED:
            scale = self
            if factor > 1.0:
                raised = Scale(self.second, factor * self.least, self.nodes)
                scale = raised._placed(steps, gamma)
            if scale.contracts(features, steps, gamma, ridge=ridge):
                return scale
        return None

    def values(self, observations: Any) -> FloatArray:
        """Return σ of n observations, shape (n,)."""
        return self._sigma(self.second.values(observations))

    def both_values(self, steps: Steps) -> tuple[FloatArray, FloatArray]:
        """Return σ of the observations and of the next ones, shape (n,) each."""
        here, there = self.second.both_values(steps)
        return self._sigma(here), self._sigma(there)

    def _sigma(self, second: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(second, self.least**2))

    def contracts(self, features: Features, steps: Steps, gamma: float, *, ridge: float) -> bool:
        """Return whether the second moment of Z, as a function of features, is well away from none.

        It solves an equation with squares of discounts, of which some are above 1, so that its
        operator need not have a spectral radius below 1: where few rows say little, or where σ is
        many times smaller at one state than at the next. That of a good scale is about gamma², of
        discounts as they are rounded; nearer to 1 than to that, moments and their errors are those
        of a few rows.
        """
        d = features.n_features_
        discount = self._discount(steps, *self.both_values(steps), gamma)
        below, above = self._about(discount)
        # Rounded to one of two nodes a < b in its mean, δ² is (a + b) δ − a b.
        squared = np.where(discount > 0.0, (below + above) * discount - below * above, 0.0)
        Sigma, ahead = np.zeros((d, d)), np.zeros((d, d))
        for begin in range(0, len(steps), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            phi, phi_next = steps[some].both(features.transform)
            Sigma += phi.T @ phi
            ahead += phi.T @ (phi_next * squared[some, None])
        Sigma[np.diag_indices(d)] += max(ridge, 1e-10) * np.trace(Sigma) / d
        radius = np.abs(np.linalg.eigvals(np.linalg.solve(Sigma, ahead))).max()
        return bool(radius < min((1.0 + gamma**2) / 2.0, 1.0))

    def in_units(self, transitions: Transitions, steps: Steps, gamma: float) -> Transitions:
        """Return transitions of Z, from those of G − V(s)."""
        here, there = self.both_values(steps)
        exact = self._discount(steps, here, there, gamma)
        return transitions.in_units(here, self._rounded(exact, transitions.reward))

    @staticmethod
    def _discount(steps: Steps, here: FloatArray, there: FloatArray, gamma: float) -> FloatArray:
        return steps.discounts(gamma) * there / here

    def _rounded(self, discount: FloatArray, reward: FloatArray) -> FloatArray:
        """One of the two nodes about each discount; 0 stays."""
        below, above = self._about(discount)
        gap = np.where(above > below, above - below, 1.0)
        rounded = np.where(_uniform(reward, discount) * gap < discount - below, above, below)
        return np.where(discount > 0.0, rounded, 0.0)

    def _about(self, discount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The nodes below and above each discount, shape (n,) each."""
        nodes = self.nodes
        at = np.clip(np.searchsorted(nodes, discount), 1, max(len(nodes) - 1, 1))
        return nodes[at - 1], nodes[np.minimum(at, len(nodes) - 1)]

    def save_bytes(self) -> bytes:
        """Return the content of a file; the features lie in a file of their own."""
        arrays = {
            "weights": self.second.weights,
            "offset": np.array([self.second.offset]),
            "least": np.array([self.least]),
            "nodes": self.nodes,
        }
        if self.large is not None:
            arrays["large"] = np.array([self.large])
        return pack(_KEY, "Scale", {}, {}, arrays, str)

    @classmethod
    def read(cls, path: Path, features: Features) -> Scale:
        """Read what goes with these features."""

        def build(content: bytes) -> Scale:
            _, arrays = unpack(content, _KEY, ["Scale"])
            weights = check_array(arrays["weights"], "weights", shape=(features.n_features_,))
            offset = float(check_array(arrays["offset"], "offset", shape=(1,))[0])
            least = check_array(arrays["least"], "least", shape=(1,))[0]
            least = check_number(least, "least", low=0.0, high=1e100)  # its square is a number
            nodes = check_array(arrays["nodes"], "nodes", shape=(None,))
            large = None
            if "large" in arrays:
                large = check_array(arrays["large"], "large", shape=(1,))[0]
                large = check_number(large, "large", low=0.0, low_open=True)
            return cls(Potential(features, weights, offset), least, nodes, large)

        return read_packed(path, "file of a scale", build)


def _nodes_for(discount: FloatArray) -> FloatArray:
    """Nodes over the range of discounts, for which rounding adds little variance.

    That of a row is at most a quarter of the square of its gap; the least on average come from gaps
    like the density to the power of −1/3 (Panter and Dite, 1951).
    """
    low, high = float(discount.min()), float(discount.max())
    if high - low <= max(_ROUNDING * high, _BINS * np.finfo(np.float64).tiny):
        return np.unique([low, high])
    count, edge = np.histogram(discount, bins=_BINS)
    share = np.concatenate([[0.0], np.cumsum(np.cbrt(count))])
    return np.unique(np.interp(np.linspace(0.0, share[-1], _NODES), share, edge))


def _uniform(*columns: FloatArray) -> FloatArray:
    """Numbers in [0, 1) that look random, and are the same for the same row wherever it is read.

    (SplitMix64 of the bits: Steele, Lea and Flood, 2014.)
    """
    state = np.full(len(columns[0]), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        state += np.ascontiguousarray(column).view(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    return np.asarray((state >> np.uint64(11)) * 2.0**-53)
