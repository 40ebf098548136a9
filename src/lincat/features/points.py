"""A table of points: one row of parameters for each of the few points that are ever seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from lincat._arguments import check_array, check_integer, fail
from lincat._text import counted
from lincat._typing import FeatureMatrix, FloatArray
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.observations import as_points, bad_row, finite_points
from lincat.features.standardise import check_factors, standardise


@final
class Points(Features):
    """Numbers that take few values, such as stock or the length of a queue, as a table.

    Each different point of the warm-up sample gets a row; any other takes that of the nearest one,
    in standard deviations. With ``fewest``, those that were seen fewer times are among the others:
    of a point that was seen once, a row of its own would repeat what followed it once.

    Parameters
    ----------
    most : int
        Different points at most; a sample with more is refused.
    fewest : int
        Times that a point must be seen for a row of its own; if none is, the most frequent have
        one.

    Attributes
    ----------
    points_ : array of shape (d, m)
        Those with a row.

    Examples
    --------
    >>> import lincat
    >>> sample = [[0.0], [1.0], [1.0], [2.5]]
    >>> lincat.Points().fit(sample).transform([[1.0], [2.2]])
    array([1, 2])
    >>> lincat.Points(fewest=2).fit(sample).points_
    array([[1.]])
    """

    kind = "points"
    table: ClassVar[bool] = True

    def __init__(self, *, most: int = 2048, fewest: int = 1) -> None:
        self.most = most
        self.fewest = fewest

    def _fit(self, observations: Any) -> None:
        most = check_integer(self.most, "most", low=1)
        fewest = check_integer(self.fewest, "fewest", low=1)
        points = finite_points(observations)
        known, seen = np.unique(points, axis=0, return_counts=True)
        if len(known) > most:
            remedy = 'raise most=, or take features that bend, such as "smooth"'
            raise fail("observations", f"at most {most} different points", len(known), remedy)
        own = seen >= min(fewest, seen.max())
        self._keep(known[own], int((~own).sum()), *standardise(points))

    def _keep(self, points: FloatArray, others: int, shift: FloatArray, factor: FloatArray) -> None:
        from scipy.spatial import cKDTree

        self.points_, self._shift_, self._factor_ = points, shift, factor
        self._others_ = others
        # A coordinate that never varied may do so later: then it says nothing.
        self._tree_ = cKDTree((points - shift) * factor)
        self.n_features_ = len(points)

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, self._shift_.size)
        finite = np.isfinite(points).all(axis=1)
        if not finite.all():
            raise bad_row(points, int(np.argmin(finite)))
        _, nearest = self._tree_.query((points - self._shift_) * self._factor_)
        return np.asarray(nearest, dtype=np.int64)

    def _sentence(self) -> str:
        others = ""
        if self._others_:
            seen = counted(self._others_, "point")
            others = f"; {seen} seen fewer than {self.fewest} times go with the nearest"
        return f"A table with a row for each of {self.n_features_:,} points{others}."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        inputs = input_names(inputs, self._shift_.size)
        return [
            ", ".join(f"{x}={v:.6g}" for x, v in zip(inputs, point, strict=True))
            for point in self.points_
        ]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"points": self.points_, "shift": self._shift_, "factor": self._factor_}
        return arrays, {"others": self._others_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        shift, factor = check_factors(arrays["shift"], arrays["factor"])
        points = check_array(arrays["points"], "points", shape=(None, shift.size))
        if len(points) == 0:
            raise fail("points", "at least one", "none")
        others = check_integer(values["others"], "others", low=0)
        self._keep(points, others, shift, factor)
