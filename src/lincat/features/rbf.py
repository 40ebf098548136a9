"""Radial basis functions: bumps around centres that are spread as the warm-up sample is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_integer, check_number, fail
from lincat._typing import FeatureMatrix
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.centers import spacing_of, spread_centers
from lincat.features.observations import as_points, bad_row, finite_points
from lincat.features.standardise import check_factors, standardise

_SAMPLE = 10_000  # observations among which centres are chosen


@final
class RadialBasis(Features):
    """Gaussian bumps exp(−‖z − c_k‖²/(2 w²)), z the standardised observation.

    Parameters
    ----------
    centers : int
        Bumps. They are placed by k-means in the warm-up sample (10,000 observations of it at most),
        begun by k-means++; fewer, if it has fewer different observations.
    width : "auto" or float
        w, in standard deviations. "auto" is the median distance from a centre to the nearest other.
    normalised : bool
        Divide by the sum of all bumps. The features are then at least 0 and sum to 1, so
        ‖phi‖ ≤ 1, they include the constant, and the nearest centre counts however far it is. If
        not, an intercept is appended, and lengths are treated as by :class:`lincat.Scaling`.
    seed : int
        For the choice of centres.

    Attributes
    ----------
    centers_ : array of shape (number of bumps, m)
        In standardised coordinates.
    width_ : float

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> sample = np.linspace(0.0, 1.0, 101)
    >>> bumps = lincat.RadialBasis(centers=5).fit(sample)
    >>> bumps.describe()
    'Gaussian bumps around 5 centres, normalised: 5 features.'
    >>> phi = bumps.transform([0.1, 99.0])
    >>> phi.sum(axis=1)
    array([1., 1.])
    """

    kind = "rbf"

    def __init__(
        self,
        *,
        centers: int = 100,
        width: str | float = "auto",
        normalised: bool = True,
        seed: int = 0,
    ) -> None:
        self.centers = centers
        self.width = width
        self.normalised = normalised
        self.seed = seed

    def _fit(self, observations: Any) -> None:
        points = finite_points(observations)
        count = check_integer(self.centers, "centers", low=1)
        if not isinstance(self.normalised, bool | np.bool_):
            raise fail("normalised", "True or False", repr(self.normalised))
        rng = np.random.default_rng(check_integer(self.seed, "seed", low=0))
        width = None
        if not (isinstance(self.width, str) and self.width == "auto"):
            width = check_number(self.width, "width", low=1e-9)
        shift, factor = standardise(points)
        sample = (points - shift) * factor
        if len(sample) > _SAMPLE:
            sample = sample[rng.choice(len(sample), _SAMPLE, replace=False)]
        self.centers_ = spread_centers(sample, count, rng)
        self.width_ = spacing_of(self.centers_) if width is None else width
        self._shift_, self._factor_ = shift, factor
        self._last_ = 0.0 if self.normalised else 1.0
        self.n_features_ = len(self.centers_) + (not self.normalised)
        if not self.normalised:
            from scipy.spatial.distance import cdist

            near = np.exp(
                -cdist(sample, self.centers_, "sqeuclidean") / (2.0 * self.width_ * self.width_)
            )
            self._last_ = 1.0 / math.sqrt(1.0 + float(np.square(near).sum(axis=1).max()))

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, self._shift_.size)
        out = np.empty((len(points), self.n_features_))
        rate = 0.5 / (self.width_ * self.width_)
        bad = kernels.features.radial_rows(
            out, points, self._shift_, self._factor_, self.centers_, rate, self._last_
        )
        if bad >= 0:
            raise bad_row(points, bad)
        return out

    def _sentence(self) -> str:
        count = len(self.centers_)
        rest = " and an intercept" if self._last_ else ", normalised"
        return f"Gaussian bumps around {count} centres{rest}: {self.n_features_} features."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        inputs = input_names(inputs, self._shift_.size)
        scale = np.where(self._factor_ > 0.0, self._factor_, np.inf)
        places = self._shift_ + self.centers_ / scale
        names = [
            "near " + ", ".join(f"{x}={v:.3g}" for x, v in zip(inputs, place, strict=True))
            for place in places
        ]
        return names + ["intercept"] * bool(self._last_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"shift": self._shift_, "factor": self._factor_, "centers": self.centers_}
        return arrays, {"width": self.width_, "last": self._last_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self._shift_, self._factor_ = check_factors(arrays["shift"], arrays["factor"])
        m = self._shift_.size
        self.centers_ = check_array(arrays["centers"], "centers", shape=(None, m))
        if len(self.centers_) == 0:
            raise fail("centers", "at least one", "none")
        self.width_ = check_number(values["width"], "width", low=1e-9)
        self._last_ = check_number(values["last"], "last", low=0.0, high=1.0)
        self.n_features_ = len(self.centers_) + (self._last_ > 0.0)
