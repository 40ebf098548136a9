"""Centres that are spread as a sample is, and how far apart they are."""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._typing import FloatArray

_ROUNDS = 5  # of moving each centre into the middle of the observations nearest to it


def spread_centers(sample: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return centres by k-means, begun as k-means++ does (Arthur & Vassilvitskii 2007).

    ``sample`` is (n, m); there are ``count`` of them, or as many as it has different points.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.features.centers import spread_centers
    >>> sample = np.array([[0.0], [0.2], [7.0], [7.2]])
    >>> np.sort(spread_centers(sample, 2, np.random.default_rng(0)), axis=0).ravel()
    array([0.1, 7.1])
    """
    points = np.ascontiguousarray(sample, dtype=np.float64)
    count = min(count, len(points))
    first, chance = int(rng.integers(len(points))), rng.random(max(count - 1, 0))
    room = np.empty((count, points.shape[1]))
    centers = room[: kernels.centers.draw_centers(room, points, first, chance)]
    nearest = np.empty(len(points), dtype=np.int64)
    for _ in range(_ROUNDS):
        kernels.centers.nearest_centers(nearest, points, centers)
        members = np.bincount(nearest, minlength=len(centers))
        kept = members > 0  # a centre that lost all its observations stays where it was
        for j in range(points.shape[1]):
            sums = np.bincount(nearest, weights=points[:, j], minlength=len(centers))
            centers[kept, j] = sums[kept] / members[kept]
    return centers


def spacing_of(centers: FloatArray) -> float:
    """Return the median distance from a centre to the nearest other; 1 if there is none."""
    from scipy.spatial.distance import cdist

    if len(centers) == 1:
        return 1.0
    distances = cdist(centers, centers)
    np.fill_diagonal(distances, np.inf)
    return max(float(np.median(distances.min(axis=1))), 1e-9)
