"""The grid of atoms that carries a return distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat._typing import ArrayLike, FloatArray, IntArray
from lincat._validation import check_gamma, check_integer, check_number, fail

__all__ = ["Grid"]


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
