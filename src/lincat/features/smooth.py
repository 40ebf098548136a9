"""Smooth features of numbers: a quadratic and bumps, apart for each value of what takes few values.

Returns vary smoothly with most numbers and jump with a few (a flag, a mode, a machine's state). So
coordinates that take few values are not bent over: every combination of them has features of its
own, which are functions of the other coordinates z (standardised, cut off at 5 deviations):

    1,   z_i,   z_i z_j,   normalised bumps around centres spread as the sample is

The quadratic alone is exact where dynamics are linear and costs quadratic; bumps do the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_integer, check_number, fail
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.centers import spacing_of, spread_centers
from lincat.features.observations import as_points, bad_row, finite_points
from lincat.features.quadratic import FAR, product_pairs, quadratic, quadratic_names
from lincat.features.standardise import check_factors, check_importance, standardise

FEWEST_BUMPS = 4  # of a combination; if there would be fewer, nothing is kept apart
_SAMPLE = 10_000
_CHUNK = 4096  # rows at a time, whose bumps stay in the cache


@final
class Smooth(Features):
    """A quadratic and Gaussian bumps, for each combination of the coordinates with few values.

    Parameters
    ----------
    bumps : int
        Bumps in all; each combination gets its share.
    few_values : int
        A coordinate that takes at most so many values in the sample is kept apart by value.
    apart : sequence of int, optional
        The coordinates to keep apart, whatever values they take; by default those with few.
    importance : array of shape (m,), optional
        How much each coordinate counts in distances from bumps; 1 by default.
    seed : int
        For the choice of centres.

    Attributes
    ----------
    combinations_ : array of shape (number of combinations, coordinates with few values)
    n_features_ : int

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> rng = np.random.default_rng(0)
    >>> sample = np.stack([rng.normal(size=500), rng.integers(0, 2, 500)], axis=1)
    >>> smooth = lincat.Smooth(bumps=20).fit(sample)
    >>> smooth.describe()
    'A quadratic and 20 bumps in all, apart for each of 2 combinations of values: 26 features.'
    """

    kind = "smooth"

    def __init__(
        self,
        *,
        bumps: int = 64,
        few_values: int = 8,
        apart: Sequence[int] | None = None,
        importance: Any = None,
        seed: int = 0,
    ) -> None:
        self.bumps = bumps
        self.few_values = few_values
        self.apart = apart
        self.importance = importance
        self.seed = seed

    def _fit(self, observations: Any) -> None:
        points = finite_points(observations)
        bumps = check_integer(self.bumps, "bumps", low=1)
        few = check_integer(self.few_values, "few_values", low=0)
        seed = check_integer(self.seed, "seed", low=0)
        if self.apart is not None:
            given = [check_integer(j, "apart", low=0) for j in self.apart]
            apart = np.isin(np.arange(points.shape[1]), given)
            combinations = np.unique(points[:, apart], axis=0)
        else:
            values = [len(np.unique(column)) for column in points.T]
            apart = np.array([1 < count <= few for count in values])
            combinations = np.unique(points[:, apart], axis=0)
            if len(combinations) * FEWEST_BUMPS > bumps:
                apart[:] = False
                combinations = np.unique(points[:, apart], axis=0)
        self.combinations_ = combinations
        self._apart_ = apart
        self._shift_, self._factor_ = standardise(points)
        self._bend_ = ~apart & (self._factor_ > 0.0)
        self._importance_ = check_importance(self.importance, points.shape[1])
        bent = self._bent(points)
        group = self._groups(points)
        share = bumps // len(combinations)
        rng = np.random.default_rng(seed)
        self._centers_, self._widths_ = [], []
        self._low_, self._high_ = np.empty((2, len(combinations), bent.shape[1]))
        for g in range(len(combinations)):
            inside = bent[group == g]
            self._low_[g], self._high_[g] = inside.min(axis=0), inside.max(axis=0)
            if len(inside) > _SAMPLE:
                inside = inside[rng.choice(len(inside), _SAMPLE, replace=False)]
            centers, width = _bumps(inside, share, self._importance_[self._bend_], seed)
            self._centers_.append(centers)
            self._widths_.append(width)
        self._lay_out()

    @property
    def n_inputs_(self) -> int:
        """The number of coordinates m."""
        return int(self._shift_.size)

    def standardised(self, points: FloatArray) -> FloatArray:
        """Return points in standard deviations of the sample, cut off at 5, shape (n, m)."""
        return np.clip((points - self._shift_) * self._factor_, -FAR, FAR)

    def _lay_out(self) -> None:
        m = int(self._bend_.sum())
        self._pairs_ = product_pairs(m)
        plain = 1 + m + len(self._pairs_[0])
        sizes = [plain + len(centers) for centers in self._centers_]
        self._begin_ = np.concatenate([[0], np.cumsum(sizes)])
        self.n_features_ = int(self._begin_[-1])

    def _bent(self, points: FloatArray) -> FloatArray:
        """The coordinates that features bend over, standardised and cut off, shape (n, m')."""
        z = (points[:, self._bend_] - self._shift_[self._bend_]) * self._factor_[self._bend_]
        return np.clip(z, -FAR, FAR)

    def _groups(self, points: FloatArray) -> IntArray:
        """The combination of each point, or the nearest one, shape (n,)."""
        from scipy.spatial.distance import cdist

        if len(self.combinations_) == 1:
            return np.zeros(len(points), dtype=np.int64)
        scale = self._factor_[self._apart_]
        distance = cdist(points[:, self._apart_] * scale, self.combinations_ * scale)
        return np.asarray(distance.argmin(axis=1))

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, self._shift_.size)
        finite = np.isfinite(points).all(axis=1)
        if not finite.all():
            raise bad_row(points, int(np.argmin(finite)))
        out = np.zeros((len(points), self.n_features_))
        for begin in range(0, len(points), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            self._fill(out[some], points[some])
        return out

    def _fill(self, out: FloatArray, points: FloatArray) -> None:
        """Write the features of points into rows of zeros."""
        group = self._groups(points)
        # Beyond what a combination was seen with, nothing changes: a quadratic would run away.
        z = np.clip(self._bent(points), self._low_[group], self._high_[group])
        plain = quadratic(z, self._pairs_)
        unit, origin = self._importance_[self._bend_], np.zeros(z.shape[1])
        for g, (centers, width) in enumerate(zip(self._centers_, self._widths_, strict=True)):
            # All of them, as a rule: what is looked up by number is copied.
            rows = np.flatnonzero(group == g) if len(self._centers_) > 1 else np.s_[:]
            begin, middle = self._begin_[g], self._begin_[g] + plain.shape[1]
            out[rows, begin:middle] = plain[rows]
            inside = np.ascontiguousarray(z[rows])
            if len(centers) and len(inside):
                near = np.empty((len(inside), len(centers)))
                rate = 0.5 / (width * width)  # not width**2, which may overflow
                kernels.features.radial_rows(near, inside, origin, unit, centers, rate, 0.0)
                out[rows, middle : self._begin_[g + 1]] = near

    def _sentence(self) -> str:
        total = sum(map(len, self._centers_))
        apart = ""
        if len(self.combinations_) > 1:
            apart = f" in all, apart for each of {len(self.combinations_)} combinations of values"
        return f"A quadratic and {total} bumps{apart}: {self.n_features_} features."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        inputs = input_names(inputs, self._shift_.size)
        bent = [name for name, bends in zip(inputs, self._bend_, strict=True) if bends]
        labels = [name for name, apart in zip(inputs, self._apart_, strict=True) if apart]
        plain = quadratic_names(bent, self._pairs_)
        names = []
        for combination, centers in zip(self.combinations_, self._centers_, strict=True):
            where = "".join(f" | {x}={v:.6g}" for x, v in zip(labels, combination, strict=True))
            bumps = [f"bump {i}" for i in range(len(centers))]
            names += [name + where for name in [*plain, *bumps]]
        return names

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        m = int(self._bend_.sum())
        arrays = {
            "shift": self._shift_,
            "factor": self._factor_,
            "apart": self._apart_,
            "bend": self._bend_,
            "importance": self._importance_,
            "combinations": self.combinations_,
            "low": self._low_,
            "high": self._high_,
            "centers": np.concatenate([np.zeros((0, m)), *self._centers_]),
            "counts": np.array([len(centers) for centers in self._centers_]),
            "widths": np.array(self._widths_),
        }
        return arrays, {}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self._shift_, self._factor_ = check_factors(arrays["shift"], arrays["factor"])
        self._apart_, self._bend_ = (
            check_array(arrays[name], name, shape=self._shift_.shape) != 0.0
            for name in ("apart", "bend")
        )
        self._importance_ = check_importance(arrays.get("importance"), self._shift_.size)
        shape = (None, int(self._apart_.sum()))
        self.combinations_ = check_array(arrays["combinations"], "combinations", shape=shape)
        shape = (None, int(self._bend_.sum()))
        centers = check_array(arrays["centers"], "centers", shape=shape)
        counts = [check_integer(int(n), "counts", low=0) for n in arrays["counts"]]
        widths = [check_number(float(w), "widths", low=1e-9) for w in arrays["widths"]]
        if not len(self.combinations_) == len(counts) == len(widths) or sum(counts) != len(centers):
            raise fail("counts", "centres and a width for each combination", counts)
        bounds = (len(counts), int(self._bend_.sum()))
        self._low_ = check_array(arrays["low"], "low", shape=bounds)
        self._high_ = check_array(arrays["high"], "high", shape=bounds)
        self._centers_ = np.split(centers, np.cumsum(counts)[:-1])
        self._widths_ = widths
        self._lay_out()


def _bumps(
    points: FloatArray, count: int, importance: FloatArray, seed: int
) -> tuple[FloatArray, float]:
    """Return centres (count, m) and a width, chosen as if each coordinate had spread 1.

    Both are in coordinates times their importance, which is where distances are taken.
    """
    if points.shape[1] == 0:
        return np.zeros((0, 0)), 1.0
    shift, factor = standardise(points)
    placed = (points - shift) * factor * importance
    centers = spread_centers(placed, count, np.random.default_rng(seed))
    # Back in the coordinates of all, so that one kernel serves every combination.
    scale = np.where(factor > 0.0, factor, 1.0)
    spacing = spacing_of(centers) / float(np.exp(np.log(scale).mean()))
    return centers / scale + shift * importance, spacing
