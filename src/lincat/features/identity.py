"""Observations that are features already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse

from lincat._arguments import check_integer, check_sparse, fail
from lincat._typing import FeatureMatrix
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.observations import as_points, bad_row


@final
class Identity(Features):
    """Features as they come: the numbers of an observation are phi.

    Float32 stays float32, and a sparse matrix stays sparse.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> phi = lincat.Identity().fit([[0.0, 1.0]]).transform(np.ones((2, 2), dtype=np.float32))
    >>> phi.dtype, phi.shape
    (dtype('float32'), (2, 2))
    """

    kind = "identity"
    takes_sparse = True

    def __init__(self) -> None:
        pass

    def _fit(self, observations: Any) -> None:
        phi = _check(observations, None)
        if phi.shape[0] == 0:
            raise fail("observations", "a warm-up sample of at least one observation", "none")
        self.n_features_ = int(phi.shape[1])

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        return _check(observations, self.n_features_)

    def _sentence(self) -> str:
        return f"The {self.n_features_} numbers of an observation, as they are."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        return input_names(inputs, self.n_features_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {"n_features": self.n_features_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self.n_features_ = check_integer(values["n_features"], "n_features", low=1)


def _check(observations: Any, width: int | None) -> FeatureMatrix:
    if scipy.sparse.issparse(observations):
        matrix = check_sparse(observations, "observations")
        if width not in (None, matrix.shape[1]):
            raise fail("observations", f"a matrix of shape (n, {width})", f"shape {matrix.shape}")
        return matrix
    points = observations
    kept = isinstance(points, np.ndarray) and points.ndim == 2 and points.dtype == np.float32
    if kept and points.shape[1] > 0 and width in (None, points.shape[1]):
        points = np.ascontiguousarray(points)
    else:
        points = as_points(observations, width)
    finite = np.isfinite(points)
    if not finite.all():
        raise bad_row(points, int(np.argmin(finite.all(axis=1))))
    return points
