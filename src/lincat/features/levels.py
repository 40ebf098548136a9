"""Hats along the values of a function of the observations, beside other features.

States of one value are much alike, wherever they lie: where returns are nearly certain, they are
the same; before an end, they are short. Bumps in the space of observations need not be fine enough
to tell such states from others; along the values of a function that is near the mean return, a few
levels are (adaptive aggregation: Bertsekas and Castañon, 1989). The function is linear in features
of its own, V(s) = offset + of(s)·weights, and feature j is 1 at level c_j, 0 at all other levels,
and linear in between: so they sum to 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_integer, check_number, fail
from lincat._text import shown
from lincat._typing import FeatureMatrix, FloatArray
from lincat.features._base import Features
from lincat.features.functions import chunks, function_values

_TAIL = 1e-3  # of the sample, on either side, beyond which nothing changes
_CHUNK = 1024  # rows whose features are made at a time: they may be wide, and stay in the cache
_DIGITS = 6  # of a level, as a share of the range of values


@final
class Levels(Features):
    """Other features, and hats along the values of a function.

    Parameters
    ----------
    beside : Features
        The others, fitted; no table.
    of : Features
        Of the function, fitted; no table.
    weights : array of shape (number of features of ``of``,)
    offset : float
    levels : int
        Half of them are spread as the values of a sample are, half evenly over their range.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> sample = np.linspace(0.0, 1.0, 50)[:, None]
    >>> line = lincat.Identity().fit(sample)
    >>> levels = lincat.Levels(line, line, [2.0], levels=3).fit(sample)
    >>> levels.transform([[0.0], [0.5], [1.0]]).round(2)
    array([[0. , 1. , 0. ],
           [0.5, 0.5, 0.5],
           [1. , 0. , 1. ]])
    """

    kind = "levels"

    def __init__(
        self, beside: Features, of: Features, weights: Any, offset: float = 0.0, *, levels: int = 30
    ) -> None:
        self.beside = beside
        self.of = of
        self.weights = weights
        self.offset = offset
        self.levels = levels

    def _fit(self, observations: Any) -> None:
        levels = check_integer(self.levels, "levels", low=2)
        self._settle_function()
        value = self._values(observations)
        if value.size == 0:
            raise fail("observations", "a warm-up sample of at least one observation", "none")
        self._low_, self._high_ = np.quantile(value, [_TAIL, 1.0 - _TAIL])
        z = self._places(value)
        spread = np.quantile(z, np.linspace(0.0, 1.0, levels // 2))
        even = np.linspace(0.0, 1.0, max(levels - levels // 2, 2))
        self._settle(np.unique(np.concatenate([spread, even]).round(_DIGITS)))

    def _settle_function(self) -> None:
        for name, features in (("beside", self.beside), ("of", self.of)):
            if not isinstance(features, Features) or not hasattr(features, "n_features_"):
                raise fail(name, "fitted features", shown(features))
        self._weights_ = check_array(self.weights, "weights", shape=(self.of.n_features_,))
        self._offset_ = check_number(self.offset, "offset")

    def _settle(self, levels: FloatArray) -> None:
        self._levels_ = levels
        self.n_features_ = self.beside.n_features_ + len(levels)

    def _values(self, observations: Any) -> FloatArray:
        return function_values(self.of, self._weights_, observations) + self._offset_

    def _places(self, value: FloatArray) -> FloatArray:
        """Values as shares of their range, shape (n,)."""
        span = self._high_ - self._low_
        return np.asarray(np.clip((value - self._low_) / (span if span > 0.0 else 1.0), 0.0, 1.0))

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        return self.transform_at(observations, self._values(observations))

    def along(self, of: Features, weights: FloatArray, offset: float) -> bool:
        """Return whether the levels are of this very function."""
        return of is self.of and offset == self._offset_ and np.array_equal(weights, self._weights_)

    def transform_at(self, observations: Any, value: FloatArray) -> FeatureMatrix:
        """Return the features of observations whose values of the function are known, (n,)."""
        z = self._places(value)
        first, *rest = chunks(observations, _CHUNK)
        beside = self.beside.lookup(first)
        if scipy.sparse.issparse(beside):
            beside = self.beside.lookup(observations) if rest else beside
            return scipy.sparse.hstack(
                [beside, scipy.sparse.csr_array(self._hats(z))], format="csr"
            )
        # Into one array: rows that were put together in the end would be written once more.
        out = np.empty((len(z), self.n_features_))
        begin, d = 0, self.beside.n_features_
        for made in itertools.chain([beside], map(self.beside.lookup, rest)):
            rows = slice(begin, begin + len(made))
            out[rows, :d], out[rows, d:] = made, self._hats(z[rows])
            begin = rows.stop
        return out

    def _hats(self, z: FloatArray) -> FloatArray:
        """The hats of places, shape (n, levels)."""
        levels = self._levels_
        above = np.clip(np.searchsorted(levels, z), 1, len(levels) - 1)
        share = (z - levels[above - 1]) / (levels[above] - levels[above - 1])
        hats, rows = np.zeros((len(z), len(levels))), np.arange(len(z))
        hats[rows, above - 1], hats[rows, above] = 1.0 - share, share
        return hats

    def _remarks(self, observations: Any) -> list[str]:
        return self.beside.remarks(observations)

    def _sentence(self) -> str:
        rest = self.beside.describe().rpartition(":")[0]
        along = f"{len(self._levels_)} levels of the mean return"
        return f"{rest}, and {along}: {self.n_features_} features."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        levels = [f"level {i}" for i in range(len(self._levels_))]
        return [*self.beside.feature_names(inputs), *levels]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        from lincat.features.files import save_bytes

        arrays = {
            "beside": np.frombuffer(save_bytes(self.beside), dtype=np.uint8),
            "of": np.frombuffer(save_bytes(self.of), dtype=np.uint8),
            "weights": self._weights_,
            "range": np.array([self._low_, self._high_]),
            "levels": self._levels_,
        }
        return arrays, {}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        from lincat.features.files import inner_features

        self.beside, self.of = (inner_features(arrays[x].tobytes()) for x in ("beside", "of"))
        self._settle_function()
        ends = check_array(arrays["range"], "range", shape=(2,))
        self._low_, self._high_ = (float(x) for x in ends)
        levels = check_array(arrays["levels"], "levels", shape=(None,))
        if len(levels) < 2 or (np.diff(levels) <= 0.0).any():
            raise fail("levels", "numbers in ascending order", shown(levels))
        self._settle(levels)
