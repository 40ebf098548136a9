"""A grid that mass leaves, grown: the same distributions on more atoms, exactly.

Old values F_0 .. F_{K-1} of a CDF stand at the atoms of the old grid. On a grid that reaches
further with the same spacing they stay where they are, with zeros before and ones after them. Where
that makes too many atoms, 2**h neighbours become one: the Cramér projection onto the coarser grid
has the mean of their values (project, with atoms that all lie on the finer one). Both are affine,

    F' = F M + o,

so that parameters and all sums of iterates follow, wherever features span a constant: with
phi·c = 1, F = phi·Theta + u_K becomes phi·(Theta M + c gᵀ) + u_K', g = u_K M + o − u_K'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lincat._arguments import check_array, check_integer, check_number
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf

#: Updates after which a grid is looked at: always the same ones, however a stream is cut.
EVERY = 4096

Reach: TypeAlias = tuple[float, float]

_SHARE = 0.25  # of its width that a grid grows at least, where mass leaves it
_LEAVES = 1e-5  # mass off the grid, per transition, from which it grows
_TRIED = 64  # features that may be the constant one
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Constant:
    """Parameters c with phi·c = 1: all the same number, or a number for one feature alone.

    Attributes
    ----------
    feature : int or None
        None for all of them.
    value : float
    """

    feature: int | None
    value: float

    def vector(self, d: int) -> FloatArray:
        """Return c, shape (d,)."""
        if self.feature is None:
            return np.full(d, self.value)
        c = np.zeros(d)
        c[self.feature] = self.value
        return c

    def holds(self, phi: FeatureMatrix) -> bool:
        """Whether phi·c = 1 for these features (n, d), or state numbers (n,)."""
        if phi.ndim == 1:
            return self.feature is None and self.value == 1.0
        if self.feature is None:
            found = self.value * np.asarray(phi.sum(axis=1)).ravel()
        else:
            column = phi[:, [self.feature]]
            dense = column.toarray() if hasattr(column, "toarray") else column
            found = self.value * np.asarray(dense).ravel()
        return bool((np.abs(found - 1.0) <= _ROUNDING).all())


def constants_of(phi: FeatureMatrix) -> list[Constant]:
    """Return what may be constant, by the first of these features (n, d) or state numbers (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.learners.growing import constants_of
    >>> phi = np.array([[0.3, 2.0], [-0.7, 2.0]])
    >>> [c for c in constants_of(phi) if c.holds(phi)]
    [Constant(feature=1, value=0.5)]
    """
    if phi.ndim == 1:
        return [Constant(None, 1.0)]
    first = phi[[0]]
    row = np.asarray(first.toarray() if hasattr(first, "toarray") else first).ravel()
    total = float(row.sum())
    found = [] if total == 0.0 else [Constant(None, 1.0 / total)]
    largest = np.argsort(-np.abs(row), kind="stable")[:_TRIED]
    return found + [Constant(int(i), 1.0 / float(row[i])) for i in largest if row[i] != 0.0]


class GridWatch:
    """What is seen of a grid between two looks at it.

    Parameters
    ----------
    most : int
        Intervals that it may grow to.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.constants: list[Constant] | None = None
        #: Furthest that a reward leads to from the middle of the grid, since the last look.
        self.low, self.high = math.inf, -math.inf
        #: Mass that had left the grid, and transitions seen, at the last look.
        self.clipped = np.zeros(2)
        self.seen = 0

    def see(self, phi: FeatureMatrix, reward: FloatArray, discount: FloatArray, grid: Grid) -> None:
        """Take note of transitions."""
        if self.constants is None:
            self.constants = constants_of(phi)
        self.constants = [constant for constant in self.constants if constant.holds(phi)]
        ends = reward + discount * 0.5 * (grid.low + grid.high)
        self.low, self.high = min(self.low, float(ends.min())), max(self.high, float(ends.max()))

    def look(self, grid: Grid, clipped: FloatArray, seen: int, reach: Reach) -> Growth | None:
        """Return how the grid has to grow, or that it need not; then begin again.

        It grows no further than ``reach``, where no reward so far can lead.
        """
        left = (clipped - self.clipped) > _LEAVES * max(seen - self.seen, 1)
        low = min(self.low, grid.low - _SHARE * (grid.high - grid.low)) if left[0] else grid.low
        high = max(self.high, grid.high + _SHARE * (grid.high - grid.low)) if left[1] else grid.high
        low, high = max(low, min(reach[0], grid.low)), min(high, max(reach[1], grid.high))
        self.low, self.high = math.inf, -math.inf
        self.clipped, self.seen = clipped.copy(), seen
        room = _ROUNDING * grid.spacing
        if not self.constants or (low >= grid.low - room and high <= grid.high + room):
            return None
        self.clipped = np.zeros(2)
        return grown(grid, low, high, self.most)

    def state(self) -> list[Any]:
        """Return plain values from which :meth:`from_state` continues."""
        constants = None
        if self.constants is not None:
            constants = [[c.feature, c.value] for c in self.constants]
        return [self.most, constants, self.low, self.high, self.clipped.tolist(), self.seen]

    @classmethod
    def from_state(cls, state: list[Any]) -> GridWatch:
        """Continue from what :meth:`state` gave."""
        most, constants, low, high, clipped, seen = state
        watch = cls(check_integer(most, "most", low=1))
        if constants is not None:
            watch.constants = [
                Constant(
                    None if feature is None else check_integer(feature, "feature", low=0),
                    check_number(value, "constant"),
                )
                for feature, value in constants
            ]
        watch.low, watch.high = float(low), float(high)
        watch.clipped = check_array(clipped, "clipped", shape=(2,))
        watch.seen = check_integer(seen, "seen", low=0)
        return watch


@dataclass(frozen=True)
class Growth:
    """How CDFs on one grid are those on another: F' = F M + o.

    Attributes
    ----------
    old, new : Grid
    below : int
        Atoms of the old spacing that were added before the first one.
    merged : int
        2**h, old atoms for each new one.
    """

    old: Grid
    new: Grid
    below: int
    merged: int

    def sums(self, values: FloatArray) -> FloatArray:
        """Return values M, for values of shape (n, K)."""
        made = np.zeros((len(values), self.new.intervals))
        place = (np.arange(self.old.intervals) + self.below) // self.merged
        first = np.flatnonzero(np.diff(place, prepend=-1))
        made[:, place[first]] = np.add.reduceat(values, first, axis=1) / self.merged
        return made

    def offset(self) -> FloatArray:
        """Return g, shape (K',)."""
        after = self.below + self.old.intervals  # from where on CDFs are 1
        j = np.arange(self.new.intervals)
        ones = np.clip((j + 1) * self.merged - after, 0, self.merged) / self.merged
        kept = self.sums(uniform_cdf(self.old.intervals)[None])[0]
        return np.asarray(kept + ones - uniform_cdf(self.new.intervals))


def grown(grid: Grid, low: float, high: float, most: int) -> Growth:
    """Return how a grid grows to hold [low, high], on at most ``most`` intervals.

    Examples
    --------
    >>> from lincat import Grid
    >>> from lincat.learners.growing import grown
    >>> grown(Grid(0.0, 2.0, 8), -0.6, 2.0, most=20).new
    Grid(low=-0.75, high=2.0, intervals=11)
    >>> grown(Grid(0.0, 2.0, 8), 0.0, 8.0, most=20).new
    Grid(low=0.0, high=8.0, intervals=16)
    """
    spacing, K = grid.spacing, grid.intervals
    below = max(math.ceil((grid.low - low) / spacing - _ROUNDING), 0)
    above = max(math.ceil((high - grid.high) / spacing - _ROUNDING), 0)
    merged = 1
    while -(-(below + K + above) // merged) > most:
        merged *= 2
    surplus = -(below + K + above) % merged
    if above:
        above += surplus
    else:
        below += surplus
    new = Grid(
        grid.low - below * spacing, grid.high + above * spacing, (below + K + above) // merged
    )
    return Growth(grid, new, below, merged)
