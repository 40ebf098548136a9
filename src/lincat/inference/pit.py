"""Where returns fall in their predicted distributions: the probability integral transform.

For a continuous distribution F, F(Y) is uniform if Y has that distribution. A distribution on a
grid is another matter, in two ways, and both have an exact remedy.

* It jumps. The mass of a return at atom x_k is spread evenly over [F(x_k−), F(x_k)], the
  nonrandomised transform of Czado, Gneiting and Held (Biometrics 65, 2009).
* It is the Cramér projection of a distribution that lives between the atoms. So each return is
projected
  too: split between the two atoms around it, or moved to the end that it lies beyond.

Then if the prediction is the projection of the true distribution, the expected mass of the returns
at atom k is its probability p_k, which is spread over a stretch of length p_k: the transform is
uniform, in expectation exactly. An atom without probability has a stretch of length 0: what falls
there stays in that point, and where the point is the limit of an interval, one half of it counts as
inside.
"""

from __future__ import annotations

import numpy as np

from lincat._typing import FloatArray, IntArray
from lincat.core.grid import Grid

_POINT = 1e-12  # stretches shorter than this are points


class Transform:
    """The transforms of returns (n, R) under proper distributions with CDF values (n, K).

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import Grid
    >>> from lincat.inference.pit import Transform
    >>> coin = np.array([[0.5]])  # 0 or 1
    >>> pit = Transform(coin, Grid(0.0, 1.0, intervals=1), np.array([[0.0, 0.25, 1.0]]))
    >>> pit.below(0.5), pit.within(0.25, 0.75)
    (array([[1.  , 0.75, 0.  ]]), array([[0.5, 0.5, 0.5]]))
    """

    def __init__(self, cdf: FloatArray, grid: Grid, returns: FloatArray) -> None:
        K = grid.intervals
        position = np.clip(grid.position(returns), 0.0, K)
        left = np.minimum(position.astype(np.int64), K - 1)
        self._share_right = position - left
        self._ends = [_values(cdf, left + i - 1) for i in range(3)]

    def below(self, level: float) -> FloatArray:
        """Return how much of each return's transform lies below a level, shape (n, R)."""
        low, middle, high = self._ends
        at_left, at_right = _share(low, middle, level), _share(middle, high, level)
        return at_left + self._share_right * (at_right - at_left)

    def within(self, low: float, high: float) -> FloatArray:
        """Return how much of it lies between two levels, shape (n, R)."""
        return self.below(high) - self.below(low)


def _values(cdf: FloatArray, at: IntArray) -> FloatArray:
    """F at some atoms of each row: 0 before the first and 1 from the last."""
    K = cdf.shape[1]
    inside = np.take_along_axis(cdf, np.clip(at, 0, K - 1), axis=1)
    return np.where(at < 0, 0.0, np.where(at >= K, 1.0, inside))


def _share(low: FloatArray, high: FloatArray, level: float) -> FloatArray:
    """How much of [low, high] lies below the level."""
    if level <= 0.0 or level >= 1.0:
        return np.full(low.shape, float(level >= 1.0))
    length = high - low
    point = length <= _POINT
    share = np.clip((level - low) / np.where(point, 1.0, length), 0.0, 1.0)
    side = np.where(np.abs(level - low) <= _POINT, 0.5, (level > low).astype(np.float64))
    return np.where(point, side, share)
