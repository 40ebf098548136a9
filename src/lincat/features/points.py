"""A table of points: one row of parameters for each of the few points that are ever seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from lincat._arguments import check_array, check_integer, fail
from lincat._typing import FeatureMatrix, FloatArray
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.observations import as_points, bad_row, finite_points
from lincat.features.standardise import check_factors, standardise


@final
class Points(Features):
    """Numbers that take few values, such as stock or the length of a queue, as a table.

    Each different point of the warm-up sample gets a row; any other takes that of the nearest one,
    in standard deviations.

    Parameters
    ----------
    most : int
        Different points at most; a sample with more is refused.

    Attributes
    ----------
    points_ : array of shape (d, m)

    Examples
    --------
    >>> import lincat
    >>> table = lincat.Points().fit([[0.0], [1.0], [1.0], [2.5]])
    >>> table.transform([[1.0], [2.2]])
    array([1, 2])
    """

    kind = "points"
    table: ClassVar[bool] = True

    def __init__(self, *, most: int = 2048) -> None:
        self.most = most

    def _fit(self, observations: Any) -> None:
        most = check_integer(self.most, "most", low=1)
        points = finite_points(observations)
        known = np.unique(points, axis=0)
        if len(known) > most:
            remedy = 'raise most=, or take features that bend, such as "smooth"'
            raise fail("observations", f"at most {most} different points", len(known), remedy)
        self._keep(known, *standardise(points))

    def _keep(self, points: FloatArray, shift: FloatArray, factor: FloatArray) -> None:
        from scipy.spatial import cKDTree

        self.points_, self._shift_, self._factor_ = points, shift, factor
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
        return f"A table with a row for each of {self.n_features_:,} points."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        inputs = input_names(inputs, self._shift_.size)
        return [
            ", ".join(f"{x}={v:.6g}" for x, v in zip(inputs, point, strict=True))
            for point in self.points_
        ]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"points": self.points_, "shift": self._shift_, "factor": self._factor_}, {}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        shift, factor = check_factors(arrays["shift"], arrays["factor"])
        points = check_array(arrays["points"], "points", shape=(None, shift.size))
        if len(points) == 0:
            raise fail("points", "at least one", "none")
        self._keep(points, shift, factor)
