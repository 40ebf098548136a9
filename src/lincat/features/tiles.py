"""Tile coding: grids laid over the space of observations, each displaced a little.

With T tilings of b tiles along a coordinate, that coordinate's range is cut into b T - T + 1 equal
cells, and a tile is T cells wide. Tiling t is displaced by (2j + 1) t mod T cells along coordinate
j = 0, 1, ...: the asymmetric displacement by odd numbers of Parks & Militzer (1991) and Sutton &
Barto (2018, section 9.5.4), which avoids the diagonal artefacts of equal ones. Each tiling covers
the whole range with b tiles exactly, and each tile can be reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._arguments import check_array, check_integer, fail
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.features._base import Features
from lincat.features.bounds import bounds_from, check_bounds, input_names
from lincat.features.observations import as_points, bad_row, finite_points

_SIZE = 2**17  # features at most, unless the user says so
_MASK = 2**64 - 1
_MOST_OFFSETS = 10**6  # tilings x coordinates
_MOST_CELLS = 2**40  # along one coordinate: far below where floats cannot count them


@final
class Tiles(Features):
    """Tile coding: each observation switches on one tile of each of several displaced grids.

    Every row has exactly ``tilings`` entries, 1/√tilings each, so that ‖phi‖ = 1. Observations
    beyond the bounds count as on the edge.

    Parameters
    ----------
    tilings : int
        Grids laid over each other. A power of two, at least four times the number of coordinates,
        displaces them most evenly; any number works.
    bins : int or sequence of int
        Tiles along each coordinate, in every tiling; 1 leaves a coordinate out.
    low, high : float or arrays of shape (m,), optional
        Bounds. Where there is none, or an infinite one, the warm-up sample's smallest and largest
        values take its place, with a margin of 5 % of their distance.
    size : int, optional
        Features at most, 131,072 by default. If there are more tiles than that, they share
        features: the tiles of tiling t are spread over ``size // tilings`` features of its own by a
        fixed hash (below), so that two tilings never meet, and ‖phi‖ stays 1.

    Attributes
    ----------
    n_features_ : int
    hashed_ : bool
        Whether tiles share features.

    Notes
    -----
    The hash of tile (c_0, ..., c_{m-1}) in tiling t, in arithmetic modulo 2^64, is
    h = mix(Σ_j c_j o_j + (t + 1) g), where g = 0x9E3779B97F4A7C15, mix is the finaliser of
    splitmix64, and o_j = mix((j + 1) g) with its lowest bit set. The feature is
    t s + floor((h >> 32) s / 2^32), with s = size // tilings.

    Examples
    --------
    >>> import lincat
    >>> tiles = lincat.Tiles(tilings=4, bins=3, low=0.0, high=1.0).fit([[0.5, 0.5]])
    >>> tiles.describe()
    'Tile coding with 4 tilings of 3 x 3 tiles, 36 features of which each observation has 4.'
    >>> phi = tiles.transform([[0.1, 0.9], [0.15, 0.9]])
    >>> phi.indices.reshape(2, 4)
    array([[ 2, 11, 20, 29],
           [ 2, 11, 20, 32]], dtype=int32)
    >>> phi.data[0]
    np.float64(0.5)
    """

    kind = "tiles"
    all_used = False

    def __init__(
        self,
        *,
        tilings: int = 8,
        bins: int | Sequence[int] = 8,
        low: Any = None,
        high: Any = None,
        size: int | None = None,
    ) -> None:
        self.tilings = tilings
        self.bins = bins
        self.low = low
        self.high = high
        self.size = size

    def _fit(self, observations: Any) -> None:
        points = finite_points(observations)
        low, high = bounds_from(points, self.low, self.high)
        tilings = check_integer(self.tilings, "tilings", low=1)
        size = _SIZE if self.size is None else check_integer(self.size, "size", low=tilings)
        self._settle(low, high, _check_bins(self.bins, points.shape[1]), tilings, size)

    def _settle(
        self, low: FloatArray, high: FloatArray, bins: IntArray, tilings: int, size: int
    ) -> None:
        """Set everything that the kernel needs; the only place that does."""
        m = low.size
        cells = [(int(b) - 1) * tilings + 1 for b in bins]
        if max(cells) > _MOST_CELLS or tilings * m > _MOST_OFFSETS or size > 2**31 - 1:
            got = f"{max(bins)} bins, {tilings} tilings, size {size}"
            raise fail("bins", "fewer tiles", got)
        self.low_, self.high_, self.bins_ = low, high, bins
        tiles = math.prod(int(b) for b in bins)
        self.hashed_ = tiles * tilings > size
        self._block_ = size // tilings if self.hashed_ else tiles
        if self.hashed_:
            stride = [_mix((j + 1) * 0x9E3779B97F4A7C15) | 1 for j in range(m)]
        else:  # the last coordinate runs fastest, as in NumPy
            stride = [math.prod(int(b) for b in bins[j + 1 :]) for j in range(m)]
        self._stride_ = np.array(stride, dtype=np.uint64)
        self._offset_ = np.outer(2 * np.arange(m) + 1, np.arange(tilings)) % tilings
        self._scale_ = np.array(cells) / (high - low)
        self._top_ = np.array(cells, dtype=np.float64) - 1.0
        self.n_features_ = self._block_ * tilings

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        points = as_points(observations, self.low_.size)
        n, tilings = len(points), self._offset_.shape[1]
        # SciPy's own choice of index, so that it need not copy.
        entry = np.int32 if max(n * tilings, self.n_features_) < 2**31 else np.int64
        indices = np.empty((n, tilings), dtype=entry)
        bad = kernels.features.tile_rows(
            indices,
            points,
            self.low_,
            self._scale_,
            self._top_,
            self._offset_,
            self._stride_,
            np.uint64(self._block_),
            self.hashed_,
        )
        if bad >= 0:
            raise bad_row(points, bad)
        data = np.full(n * tilings, 1.0 / math.sqrt(tilings))
        indptr = np.arange(0, n * tilings + 1, tilings, dtype=entry)
        matrix = scipy.sparse.csr_array(
            (data, indices.ravel(), indptr), shape=(n, self.n_features_)
        )
        # A tiling's features follow those of the one before, so they are.
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def _sentence(self) -> str:
        tilings = self._offset_.shape[1]
        shape = " x ".join(str(b) for b in self.bins_)
        shared = ", shared by hashing," if self.hashed_ else ""
        return (
            f"Tile coding with {tilings} tilings of {shape} tiles, {self.n_features_:,} features"
            f"{shared} of which each observation has {tilings}."
        )

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        input_names(inputs, self.low_.size)
        tilings = range(self._offset_.shape[1])
        if self.hashed_:
            return [f"tiling {t}, feature {i}" for t in tilings for i in range(self._block_)]
        tiles = list(np.ndindex(*(int(b) for b in self.bins_)))
        return [f"tiling {t}, tile {', '.join(map(str, tile))}" for t in tilings for tile in tiles]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"low": self.low_, "high": self.high_, "bins": self.bins_}
        tilings = self._offset_.shape[1]
        return arrays, {"tilings": tilings, "size": self.n_features_, "hashed": self.hashed_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        low, high = check_bounds(
            *(check_array(arrays[name], name, shape=(None,)) for name in ("low", "high"))
        )
        bins = _check_bins(arrays["bins"], low.size)
        tilings = check_integer(values["tilings"], "tilings", low=1)
        self._settle(low, high, bins, tilings, check_integer(values["size"], "size", low=tilings))
        if (self.n_features_, self.hashed_) != (values["size"], values["hashed"]):
            raise fail("size", f"{self.n_features_} features", values["size"])


def _check_bins(value: Any, m: int) -> IntArray:
    """Return tiles along each of m coordinates."""
    array = np.asarray(value)
    if array.ndim == 0:
        return np.full(m, check_integer(value, "bins", low=1), dtype=np.int64)
    if array.shape != (m,):
        raise fail("bins", f"an integer, or {m} of them, one for each coordinate", value)
    return np.array([check_integer(b, "bins", low=1) for b in array], dtype=np.int64)


def _mix(h: int) -> int:
    """The finaliser of splitmix64, as in kernels/features.py."""
    h &= _MASK
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & _MASK
    return h ^ (h >> 31)
