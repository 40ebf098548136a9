"""Observations as features: standardised, with an intercept, no longer than 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lincat import kernels
from lincat._arguments import check_number, fail
from lincat._text import counted
from lincat._typing import FeatureMatrix
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.observations import as_points, bad_row, finite_points
from lincat.features.standardise import check_factors, standardise


@final
class Scaling(Features):
    """The numbers of an observation, standardised, and a 1, scaled to a length of at most 1.

    phi = (z, 1)/R with z = (x − mean)/(standard deviation), and R the largest length of (z, 1), all
    taken from the warm-up sample. The paper assumes ‖phi‖ ≤ 1 for all states: a later observation
    that is longer is shrunk onto the unit ball. A coordinate that is constant in the sample is 0
    from then on.

    Parameters
    ----------
    intercept : bool
        Append the constant, last.
    unit_norm : bool
        Divide by R. If not, phi = (z, 1), of any length.

    Attributes
    ----------
    mean_ : array of shape (m,)
    scale_ : array of shape (m,)
        One over the standard deviations, and 0 for constant coordinates.
    longest_ : float
        R, or 1 without ``unit_norm``.

    Examples
    --------
    >>> import lincat
    >>> scaling = lincat.Scaling().fit([[0.0, 5.0], [2.0, 5.0]])
    >>> scaling.transform([[0.0, 5.0], [1.0, 7.0], [9.0, 5.0]]).round(3)
    array([[-0.707,  0.   ,  0.707],
           [ 0.   ,  0.   ,  0.707],
           [ 0.992,  0.   ,  0.124]])
    >>> scaling.feature_names(["speed", "mass"])
    ['speed', 'mass', 'intercept']
    """

    kind = "scaling"

    def __init__(self, *, intercept: bool = True, unit_norm: bool = True) -> None:
        self.intercept = intercept
        self.unit_norm = unit_norm

    def _fit(self, observations: Any) -> None:
        points = finite_points(observations)
        flags = _check_flag(self.intercept, "intercept"), _check_flag(self.unit_norm, "unit_norm")
        self.mean_, self.scale_ = standardise(points)
        self._intercept_, self._unit_ = flags
        self.n_features_ = points.shape[1] + int(self._intercept_)
        if not self._intercept_ and not self.scale_.any():
            del self.n_features_
            got = "a sample in which all coordinates are constant"
            raise fail("observations", "some that differ", got, "or use intercept=True")
        self.longest_ = 1.0
        if self._unit_:
            rows = self._rows(points, math.inf)
            self.longest_ = math.sqrt(float(np.einsum("ij,ij->i", rows, rows).max()))

    def _rows(self, points: Any, longest: float) -> Any:
        out = np.empty((len(points), self.n_features_))
        factor = self.scale_ / self.longest_
        last = 1.0 / self.longest_ if self._intercept_ else 0.0
        bad = kernels.features.scaled_rows(out, points, self.mean_, factor, last, longest)
        if bad >= 0:
            raise bad_row(points, bad)
        return out

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, self.mean_.size)
        return self._rows(points, 1.0 if self._unit_ else math.inf)

    def _sentence(self) -> str:
        m = self.mean_.size
        numbers = counted(m, "standardised number")
        rest = " and an intercept" if self._intercept_ else ""
        length = ", scaled to a length of at most 1" if self._unit_ else ""
        return f"{numbers}{rest}{length}: {self.n_features_} features."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        return input_names(inputs, self.mean_.size) + ["intercept"] * self._intercept_

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"mean": self.mean_, "scale": self.scale_}
        flags = {"intercept": self._intercept_, "unit_norm": self._unit_}
        return arrays, {"longest": self.longest_, **flags}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self.mean_, self.scale_ = check_factors(arrays["mean"], arrays["scale"])
        self.longest_ = check_number(values["longest"], "longest", low=0.0, low_open=True)
        self._intercept_ = _check_flag(values["intercept"], "intercept")
        self._unit_ = _check_flag(values["unit_norm"], "unit_norm")
        self.n_features_ = self.mean_.size + int(self._intercept_)


def _check_flag(value: Any, argument: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise fail(argument, "True or False", repr(value))
    return bool(value)
