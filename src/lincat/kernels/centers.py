"""Centres among points (n, m): drawn as k-means++ does, and which one is nearest to each point."""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.features import least
from lincat.kernels.guards import refuse
from lincat.kernels.layout import CALLED, KERNEL


@njit(**KERNEL)
def draw_centers(centers, points, first, chance):
    """Fill ``centers`` (count, m) with points that are far apart, and return how many there are.

    The first is points[first]. Each later one is drawn, by a number of ``chance``, with
    probabilities as the squared distances to the nearest centre so far (Arthur & Vassilvitskii
    2007), until all of these are 0.
    """
    n, m = points.shape
    count = centers.shape[0]
    refuse(not 0 <= first < n or centers.shape[1] != m or chance.shape[0] < count - 1)
    across = np.ascontiguousarray(points.T)
    squared = np.full(n, np.inf)
    distance = np.empty(n)
    pick = first
    for c in range(count):
        distance[:] = 0.0
        for j in range(m):
            centers[c, j] = across[j, pick]
            for i in range(n):
                distance[i] += (across[j, i] - centers[c, j]) ** 2
        for i in range(n):
            squared[i] = min(squared[i], distance[i])
        total = squared.sum()
        if not total > 0.0:
            return c + 1
        if c + 1 < count:
            pick = _drawn(squared, chance[c] * total)
    return count


@njit(**CALLED)
def _drawn(squared, place):
    """The first number up to which the sum is more than ``place``; else that of the largest."""
    so_far = 0.0
    for i in range(len(squared)):
        so_far += squared[i]
        if so_far > place:
            return i
    return np.argmax(squared)


@njit(**KERNEL)
def nearest_centers(nearest, points, centers):
    """nearest[i] = the number of the centre nearest to points[i], the first of several."""
    n, m = points.shape
    count = centers.shape[0]
    refuse(nearest.shape[0] != n or centers.shape[1] != m or count == 0)
    across = np.ascontiguousarray(centers.T)
    squared = np.empty(count)
    for i in range(n):
        squared[:] = 0.0
        for j in range(m):
            z = points[i, j]
            for k in range(count):
                squared[k] += (z - across[j, k]) ** 2
        smallest = least(squared)
        k = 0
        while k < count - 1 and squared[k] > smallest:
            k += 1
        nearest[i] = k
