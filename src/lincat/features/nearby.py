"""Features that see only what is near: many narrow bumps, of which each observation has a few.

Where returns vary sharply (before an end, along the edge of a basin) hundreds of bumps are too few,
and thousands that all reach everywhere are too slow. Here a bump around one of many centres c_j
reaches as far as there are k nearer ones: with ρ the distance to the (k + 1)-th centre, the k
nearest have the weights (1 − x)⁴(4x + 1), x = |z − c_j|/ρ (Wendland 1995), which sum to 1 when
normalised, vary smoothly with z, and are 0 where another centre takes the place. Beside them, the
quadratic 1, z_i, z_i z_j. A row has k entries and those, however many centres there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_integer, fail
from lincat._text import counted
from lincat._typing import FeatureMatrix, FloatArray
from lincat.features._base import Features
from lincat.features.bounds import input_names
from lincat.features.centers import spread_centers
from lincat.features.observations import as_points, bad_row, finite_points
from lincat.features.quadratic import FAR, product_pairs, quadratic, quadratic_names
from lincat.features.standardise import check_factors, check_importance, standardise

_SAMPLE = 20_000


@final
class Nearby(Features):
    """A quadratic, and many bumps, of which each observation has its nearest few.

    Parameters
    ----------
    bumps : int
        In all.
    neighbours : int
        Bumps that an observation has.
    importance : array of shape (m,), optional
        How much each coordinate counts in distances from bumps; 1 by default.
    seed : int
        For the choice of centres.

    Attributes
    ----------
    centers_ : array of shape (bumps, m)
        In standard deviations of the sample, times the importance.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> sample = np.random.default_rng(0).normal(size=(500, 2))
    >>> nearby = lincat.Nearby(bumps=100, neighbours=8).fit(sample)
    >>> nearby.describe()
    'A quadratic and 100 narrow bumps, of which each observation has 8: 106 features.'
    >>> nearby.transform(sample[:3]).indptr
    array([ 0, 14, 28, 42], dtype=int32)
    """

    kind = "nearby"

    def __init__(
        self, *, bumps: int = 600, neighbours: int = 24, importance: Any = None, seed: int = 0
    ) -> None:
        self.bumps = bumps
        self.neighbours = neighbours
        self.importance = importance
        self.seed = seed

    def _fit(self, observations: Any) -> None:
        points = finite_points(observations)
        bumps = check_integer(self.bumps, "bumps", low=1)
        neighbours = check_integer(self.neighbours, "neighbours", low=1)
        rng = np.random.default_rng(check_integer(self.seed, "seed", low=0))
        self._shift_, self._factor_ = standardise(points)
        self._importance_ = check_importance(self.importance, points.shape[1])
        z = self._standardised(points)
        self._low_, self._high_ = z.min(axis=0), z.max(axis=0)
        if len(z) > _SAMPLE:
            z = z[rng.choice(len(z), _SAMPLE, replace=False)]
        self._settle(spread_centers(z * self._importance_, bumps, rng), neighbours)

    def _settle(self, centers: FloatArray, neighbours: int) -> None:
        from scipy.spatial import KDTree

        self.centers_ = centers
        self._near_ = min(neighbours, len(centers))
        self._tree_ = KDTree(centers)
        m = len(self._shift_)
        self._pairs_ = product_pairs(m)
        self.n_features_ = 1 + m + len(self._pairs_[0]) + len(centers)

    def _standardised(self, points: FloatArray) -> FloatArray:
        return np.clip((points - self._shift_) * self._factor_, -FAR, FAR)

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, len(self._shift_))
        finite = np.isfinite(points).all(axis=1)
        if not finite.all():
            raise bad_row(points, int(np.argmin(finite)))
        # Beyond what was seen, nothing changes: a quadratic would run away.
        z = np.clip(self._standardised(points), self._low_, self._high_)
        plain = quadratic(z, self._pairs_)
        weight, nearest = self._bumps(z * self._importance_)
        places = np.broadcast_to(np.arange(plain.shape[1]), plain.shape)
        columns = np.concatenate([places, nearest + plain.shape[1]], axis=1, dtype=np.int32)
        values = np.concatenate([plain, weight], axis=1)
        begin = np.arange(len(z) + 1, dtype=np.int32) * np.int32(values.shape[1])
        shape = len(z), self.n_features_
        return scipy.sparse.csr_array((values.ravel(), columns.ravel(), begin), shape=shape)

    def _bumps(self, z: FloatArray) -> tuple[FloatArray, Any]:
        """The weights of the nearest centres, in the order of their numbers, and these numbers."""
        near = self._near_
        if near == len(self.centers_):  # there is none that could take another's place
            distance, nearest = self._tree_.query(z, k=np.arange(1, near + 1))
            reach = 2.0 * distance[:, -1:]
        else:
            distance, nearest = self._tree_.query(z, k=np.arange(1, near + 2))
            distance, nearest, reach = distance[:, :-1], nearest[:, :-1], distance[:, -1:]
        x = distance / np.where(reach > 0.0, reach, 1.0)
        weight = (1.0 - x) ** 4 * (4.0 * x + 1.0)
        total = weight.sum(axis=1, keepdims=True)
        # As many centres as it has neighbours, all at one distance: they share alike.
        weight = np.where(total > 0.0, weight / np.where(total > 0.0, total, 1.0), 1.0 / near)
        order = np.argsort(nearest, axis=1)
        return np.take_along_axis(weight, order, 1), np.take_along_axis(nearest, order, 1)

    def _sentence(self) -> str:
        bumps = counted(len(self.centers_), "narrow bump")
        each = f", of which each observation has {self._near_}"
        return f"A quadratic and {bumps}{each}: {self.n_features_} features."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        names = quadratic_names(input_names(inputs, len(self._shift_)), self._pairs_)
        return [*names, *(f"bump {i}" for i in range(len(self.centers_)))]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {
            "shift": self._shift_,
            "factor": self._factor_,
            "importance": self._importance_,
            "low": self._low_,
            "high": self._high_,
            "centers": self.centers_,
        }
        return arrays, {"neighbours": self._near_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self._shift_, self._factor_ = check_factors(arrays["shift"], arrays["factor"])
        m = len(self._shift_)
        self._importance_ = check_importance(arrays["importance"], m)
        self._low_ = check_array(arrays["low"], "low", shape=(m,))
        self._high_ = check_array(arrays["high"], "high", shape=(m,))
        centers = check_array(arrays["centers"], "centers", shape=(None, m))
        if len(centers) == 0:
            raise fail("centers", "at least one", "none")
        self._settle(centers, check_integer(values["neighbours"], "neighbours", low=1))
