"""The Fourier basis (Konidaris, Osentoski & Thomas 2011): cosines over the observations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_integer, fail
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.features._base import Features
from lincat.features.bounds import bounds_from, check_bounds, input_names
from lincat.features.observations import as_points, bad_row, finite_points

_MOST_TERMS = 10**5  # whatever max_terms says; phi of a thousand observations takes 800 MB then


@final
class Fourier(Features):
    """Cosines of several frequencies: phi_c(x) = cos(π c·x)/√d, for whole numbers c_j = 0 .. order.

    x is the observation scaled to [0, 1] by its bounds, and clipped to it. With m coordinates there
    are (order + 1)^m vectors c. If that is more than ``max_terms``, only those stay that couple a
    few coordinates (have few non-zero entries): as many as fit. ‖phi‖ ≤ 1, and the first feature is
    constant.

    Parameters
    ----------
    order : int
        The highest frequency along each coordinate, in half waves over its range.
    max_terms : int
        Features at most; 100,000 at the very most.
    low, high : float or arrays of shape (m,), optional
        Bounds. Where there is none, or an infinite one, the warm-up sample's smallest and largest
        values take its place, with a margin of 5 % of their distance.

    Attributes
    ----------
    coefficients_ : array of int, shape (d, m)
        The vectors c, by their sum.
    coupling_ : int
        Non-zero entries in one vector, at most.

    Examples
    --------
    >>> import lincat
    >>> fourier = lincat.Fourier(order=1, low=0.0, high=1.0).fit([[0.2, 0.4]])
    >>> fourier.feature_names()
    ['1', 'cos π(x1)', 'cos π(x0)', 'cos π(x0 + x1)']
    >>> fourier.transform([[0.0, 1.0]])
    array([[ 0.5, -0.5,  0.5, -0.5]])
    """

    kind = "fourier"

    def __init__(
        self, *, order: int = 3, max_terms: int = 1000, low: Any = None, high: Any = None
    ) -> None:
        self.order = order
        self.max_terms = max_terms
        self.low = low
        self.high = high

    def _fit(self, observations: Any) -> None:
        points = finite_points(observations)
        low, high = bounds_from(points, self.low, self.high)
        order = check_integer(self.order, "order", low=1)
        most = check_integer(self.max_terms, "max_terms", low=1)
        self._settle(low, high, order, _coupling(points.shape[1], order, most))

    def _settle(self, low: FloatArray, high: FloatArray, order: int, coupling: int) -> None:
        m = low.size
        self.low_, self.high_, self.coupling_, self._order_ = low, high, coupling, order
        self.coefficients_ = _coefficients(m, order, coupling)
        self.n_features_ = len(self.coefficients_)
        # c less one at its last non-zero entry couples no more coordinates, so it is in the list,
        # and earlier, because its sum is smaller.
        place = {tuple(c): k for k, c in enumerate(self.coefficients_.tolist())}
        self._parent_ = np.zeros(self.n_features_, dtype=np.int64)
        self._axis_ = np.zeros(self.n_features_, dtype=np.int64)
        for k, c in enumerate(self.coefficients_.tolist()[1:], start=1):
            axis = max(j for j in range(m) if c[j])
            c[axis] -= 1
            self._parent_[k], self._axis_[k] = place[tuple(c)], axis

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, self.low_.size)
        out = np.empty((len(points), self.n_features_))
        scale = 1.0 / (self.high_ - self.low_)
        factor = 1.0 / math.sqrt(self.n_features_)
        bad = kernels.features.fourier_rows(
            out, points, self.low_, scale, self._parent_, self._axis_, factor
        )
        if bad >= 0:
            raise bad_row(points, bad)
        return out

    def _sentence(self) -> str:
        m = self.low_.size
        few = (
            "" if self.coupling_ == m else f", at most {self.coupling_} of {m} coordinates at once"
        )
        return f"A Fourier basis of order {self._order_}{few}: {self.n_features_:,} features."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        inputs = input_names(inputs, self.low_.size)

        def name(c: IntArray) -> str:
            parts = [x if n == 1 else f"{n}{x}" for n, x in zip(c, inputs, strict=True) if n]
            return f"cos π({' + '.join(parts)})" if parts else "1"

        return [name(c) for c in self.coefficients_]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"low": self.low_, "high": self.high_}
        return arrays, {"order": self._order_, "coupling": self.coupling_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        low, high = check_bounds(
            *(check_array(arrays[name], name, shape=(None,)) for name in ("low", "high"))
        )
        order = check_integer(values["order"], "order", low=1)
        coupling = check_integer(values["coupling"], "coupling", low=1)
        if coupling > low.size or _count(low.size, order, coupling) > _MOST_TERMS:
            raise fail("coupling", f"at most {_MOST_TERMS} terms", coupling)
        self._settle(low, high, order, coupling)


def _count(m: int, order: int, coupling: int) -> int:
    """How many vectors have at most ``coupling`` non-zero entries."""
    return sum(math.comb(m, q) * order**q for q in range(coupling + 1))


def _coupling(m: int, order: int, most: int) -> int:
    """The largest number of coupled coordinates for which the terms fit."""
    fitting = [q for q in range(1, m + 1) if _count(m, order, q) <= min(most, _MOST_TERMS)]
    if not fitting:
        expected = f"at least {_count(m, order, 1)} for order {order} with {m} coordinates"
        raise fail("max_terms", expected, most, "or lower the order")
    return fitting[-1]


def _coefficients(m: int, order: int, coupling: int) -> IntArray:
    """All c with at most ``coupling`` non-zero entries, by their sum, then in order of numbers."""
    rows = [(0,) * m]
    for q in range(1, coupling + 1):
        for axes in itertools.combinations(range(m), q):
            for values in itertools.product(range(1, order + 1), repeat=q):
                row = [0] * m
                for axis, value in zip(axes, values, strict=True):
                    row[axis] = value
                rows.append(tuple(row))
    return np.array(sorted(rows, key=lambda c: (sum(c), c)), dtype=np.int64)
