"""The grid of atoms that carries a return distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat import kernels
from lincat._arguments import check_gamma, check_integer, check_number, fail
from lincat._room import check_room
from lincat._typing import ArrayLike, FloatArray, IntArray

_LARGEST = 1e150  # of an end: float64 holds the squares, and so the variances
_MARGIN = 0.1  # by which a grid is wider, on each side, than the first transitions ask for
_BOUND = 10  # of them at the same end make it a bound


@dataclass(frozen=True)
class Grid:
    """K + 1 equally spaced atoms x_k = low + k * spacing, k = 0..K (Eq. (cate_param)).

    Parameters
    ----------
    low, high : float
        The first and the last atom.
    intervals : int
        K, the number of *intervals*; there is one atom more.

    Examples
    --------
    >>> from lincat import Grid
    >>> grid = Grid(low=0.0, high=4.0, intervals=8)
    >>> grid.spacing
    0.5
    >>> grid.atoms
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. , 3.5, 4. ])
    """

    low: float
    high: float
    intervals: int

    def __post_init__(self) -> None:
        low = check_number(self.low, "low")
        high = check_number(self.high, "high")
        intervals = check_integer(self.intervals, "intervals", low=1)
        if max(-low, high) > _LARGEST:
            raise fail("grid", f"ends within ±{_LARGEST:g}", f"[{low:g}, {high:g}]")
        if low >= high:
            raise fail("high", f"a number above low = {low:g}", f"{high:g}")
        spacing = (high - low) / intervals
        if not np.isfinite(spacing) or low + spacing == low or high - spacing == high:
            raise fail(
                "intervals",
                "a spacing that float64 can resolve",
                f"spacing {spacing:g} on [{low:g}, {high:g}]",
                "use fewer intervals or a wider grid",
            )
        check_room(intervals + 1, "intervals", intervals, "use fewer")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "intervals", intervals)

    @classmethod
    def for_rewards(cls, low: float, high: float, *, gamma: float, intervals: int) -> Grid:
        """Return the grid [low, high] / (1 - gamma) that holds every return of such rewards.

        Examples
        --------
        >>> from lincat import Grid
        >>> Grid.for_rewards(0.0, 1.0, gamma=0.75, intervals=30)
        Grid(low=0.0, high=4.0, intervals=30)
        """
        low, high, gamma = check_number(low, "low"), check_number(high, "high"), check_gamma(gamma)
        return cls(low / (1.0 - gamma), high / (1.0 - gamma), intervals)

    @classmethod
    def for_transitions(cls, reward: ArrayLike, discount: ArrayLike, *, intervals: int) -> Grid:
        """Return a grid for a stream that begins with these rewards and discounts.

        A reward that came for ever would return r/(1 - discount). A grid that holds all of these
        loses no mass. What comes later may reach further, so the grid is wider by a tenth on each
        side; but an end that ten or more of them share is a bound, and the grid ends there. If all
        are the same nothing is known of others, and it is as wide again, on each side, as they are
        far from zero.

        Parameters
        ----------
        reward : array of shape (n,)
        discount : array of shape (n,), or a number
            gamma, and 0 where an episode ended.
        intervals : int

        Examples
        --------
        >>> from lincat import Grid
        >>> Grid.for_transitions([0.0] * 10 + [3.0, 5.0], discount=0.5, intervals=10)
        Grid(low=0.0, high=11.0, intervals=10)
        """
        ends = reach(reward, discount)
        if not np.isfinite(ends).all():
            raise fail("grid", "a lincat.Grid, as a discount of 1 sets no bounds", "'auto'")
        return cls._around(ends, intervals)

    @classmethod
    def for_episodes(cls, reward: ArrayLike, discount: ArrayLike, *, intervals: int) -> Grid:
        """Return a grid for a stream without discounting, from the episodes that ended in it.

        Rewards are in the order of the steps; the returns of all steps whose episode came to its
        end, at a discount of 0, take the place of r/(1 - discount). The grid is wider by a tenth on
        each side, also where many share an end: without discounting, projection reaches past it.

        Examples
        --------
        >>> from lincat import Grid
        >>> Grid.for_episodes([1.0, 1.0, 8.0, 1.0], [1.0, 1.0, 0.0, 1.0], intervals=10)
        Grid(low=7.8, high=10.2, intervals=10)
        """
        gain = np.asarray(reward, dtype=np.float64)
        factor = np.asarray(np.broadcast_to(discount, gain.shape), dtype=np.float64)
        returns, missing, ended = np.empty_like(gain), np.empty_like(gain), factor == 0.0
        kernels.returns.returns_to_go(
            returns, missing, gain, np.ascontiguousarray(factor), ended, np.zeros_like(ended)
        )
        if not (missing == 0.0).any():
            raise fail(
                "grid",
                "a lincat.Grid, as a discount of 1 sets no bounds",
                f"'auto' with no end of an episode among the first {len(gain)} transitions",
            )
        return cls._around(returns[missing == 0.0], intervals, bound=np.inf)

    @classmethod
    def _around(cls, points: FloatArray, intervals: int, bound: float = _BOUND) -> Grid:
        values, count = np.unique(points, return_counts=True)
        if len(values) == 0:
            raise fail("grid", "transitions to choose a grid from", "none")
        low, high = float(values[0]), float(values[-1])
        if low == high:
            margin = max(1.0, abs(low))
            return cls(low - margin, high + margin, intervals)
        below, above = (_MARGIN * (high - low) * (n < bound) for n in (count[0], count[-1]))
        return cls(low - below, high + above, intervals)

    @property
    def spacing(self) -> float:
        """The gap iota between neighbouring atoms."""
        return (self.high - self.low) / self.intervals

    @property
    def atoms(self) -> FloatArray:
        """The atoms, an array of shape (K + 1,)."""
        return np.linspace(self.low, self.high, self.intervals + 1)

    def position(self, x: ArrayLike) -> FloatArray:
        """Return x in grid units: 0 at ``low``, K at ``high``."""
        return (np.asarray(x, dtype=np.float64) - self.low) / self.spacing

    def index_at_or_below(self, x: ArrayLike) -> IntArray:
        """Return the index of the last atom <= x; -1 below the grid, at most K.

        A number within 1e-9 of the spacing of an atom counts as that atom, so that 0.3 finds the
        atom that floating point calls 0.30000000000000004.
        """
        return self._count(np.floor(self.position(x) + 1e-9)) - 1

    def index_below(self, x: ArrayLike) -> IntArray:
        """Return the index of the last atom < x, with the same tolerance."""
        return self._count(np.ceil(self.position(x) - 1e-9) - 1.0) - 1

    def _count(self, index: FloatArray) -> IntArray:
        """Atoms up to and including ``index``, which may lie outside the grid."""
        return np.clip(index + 1.0, 0, self.intervals + 1).astype(np.int64)


def reach(reward: ArrayLike, discount: ArrayLike) -> FloatArray:
    """Return the return that each reward would give if it came for ever: r/(1 - discount)."""
    gain, left = np.broadcast_arrays(np.asarray(reward, float), 1.0 - np.asarray(discount, float))
    for_ever = np.where(gain == 0.0, 0.0, np.copysign(np.inf, gain))
    ends: FloatArray = np.divide(gain, left, out=for_ever, where=left > 0.0)
    return ends
