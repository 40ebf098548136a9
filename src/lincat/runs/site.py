"""What one site says: sums of its rows, by blocks of time, and returns that were held out.

Everything that can be added is a sum. What cannot, the returns that figures are held against later,
comes from rows that no sum holds: for some discount factors, and for groups of states, not single
ones, unless states are few enough to have a row of a table each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.data.steps import Steps
from lincat.runs.known_returns import known_returns, return_weights
from lincat.statistics.block_statistics import Statistics

#: Discount factors for which held-out returns are kept, unless others are asked for.
GAMMAS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)

_MOST_MARKS = 4096
_TOLERANCE = 1e-2  # weight of what may be missing of a return
_MOST_RETURNS = 2_000  # for each discount factor
_FEWEST_RETURNS = 20


@dataclass(frozen=True)
class Clock:
    """When rows were: of stretches of a stream, one behind the other, first and last time.

    Attributes
    ----------
    rows : int array of shape (m,)
        In each stretch.
    first, last : int arrays of shape (m,)
        Microseconds since 1970.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.runs.site import Clock
    >>> clock = Clock().then(np.array([5, 3, 9])).then(np.array([20]))
    >>> clock.spans(np.array([2, 2]))  # of blocks of two rows each: no shorter than they are
    (array([3, 3]), array([ 9, 20]))
    """

    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    first: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    last: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def then(self, time: IntArray) -> Clock:
        """Return the clock with more rows, at these times."""
        pieces = np.array_split(time, min(-(-len(time) // 256), 64))
        return self.joined(
            Clock(
                np.array([len(x) for x in pieces], dtype=np.int64),
                np.array([x.min() for x in pieces], dtype=np.int64),
                np.array([x.max() for x in pieces], dtype=np.int64),
            )
        )

    def joined(self, other: Clock) -> Clock:
        """Return this clock with another stream behind it; of long ones neighbours are merged."""
        rows, first, last = (
            np.concatenate([getattr(x, name) for x in (self, other)])
            for name in ("rows", "first", "last")
        )
        while len(rows) > _MOST_MARKS:
            at = np.arange(0, len(rows), 2)
            rows, first = np.add.reduceat(rows, at), np.minimum.reduceat(first, at)
            last = np.maximum.reduceat(last, at)
        return Clock(rows, first, last)

    def spans(self, counts: IntArray) -> tuple[IntArray, IntArray]:
        """Return first and last time of blocks of so many rows each, shape (n_blocks,)."""
        ends, edges = np.cumsum(counts), np.cumsum(self.rows)
        low = np.searchsorted(edges, ends - counts, side="right")
        high = np.searchsorted(edges, ends, side="left")
        return (
            np.array([self.first[a : b + 1].min() for a, b in zip(low, high, strict=True)]),
            np.array([self.last[a : b + 1].max() for a, b in zip(low, high, strict=True)]),
        )


@dataclass(frozen=True)
class HeldReturns:
    """Returns from held-out rows, at one discount factor.

    Attributes
    ----------
    gamma : float
    value : array of shape (n,)
        The returns, those of a cell ascending.
    cell : int array of shape (n,)
        The cell of the state that each began in: a row of the table, or of ``Phi``.
    stretch : int array of shape (n,)
        Which of them depend on each other.
    Phi : array of shape (cells, d), or None
        Mean features of those states, where there is no table.
    spans : int array of shape (stretches, 2), or None
        First and last time of each stretch, where rows have times.
    weight : array of shape (n,), or None
        How much each counts; None where all count alike.
    """

    gamma: float
    value: FloatArray
    cell: IntArray
    stretch: IntArray
    Phi: FloatArray | None
    spans: IntArray | None = None
    weight: FloatArray | None = None

    def within(self, since: int | None, until: int | None) -> HeldReturns:
        """Return those of stretches that lie between two times."""
        if self.spans is None:
            return self._only(np.zeros(len(self.value), dtype=bool))
        good = np.ones(len(self.spans), dtype=bool)
        if since is not None:
            good &= self.spans[:, 0] >= since
        if until is not None:
            good &= self.spans[:, 1] < until
        return self._only(good[self.stretch])

    def _only(self, good: BoolArray) -> HeldReturns:
        weight = None if self.weight is None else self.weight[good]
        return replace(
            self,
            value=self.value[good],
            cell=self.cell[good],
            stretch=self.stretch[good],
            weight=weight,
        )


@dataclass(frozen=True)
class Site:
    """What one site says.

    Attributes
    ----------
    name : str
    source : str
        What was read, in words.
    statistics : Statistics
    clock : Clock or None
        None where rows have no times.
    cell_counts, cell_sums : arrays of shape (C,) and (C, d)
        Rows, and the sum of their features, of each cell of states; C is 0 for tables.
    start_count : int
    start_sum : array of shape (d,)
        Episodes that began, and the sum of the features of their first states.
    held : tuple of HeldReturns
    skipped_rows : int
    """

    name: str
    source: str
    statistics: Statistics
    clock: Clock | None
    cell_counts: IntArray
    cell_sums: FloatArray
    start_count: int
    start_sum: FloatArray
    held: tuple[HeldReturns, ...] = ()
    skipped_rows: int = 0

    def spans(self) -> tuple[IntArray, IntArray] | None:
        """First and last time of each block; None where rows have no times."""
        return None if self.clock is None else self.clock.spans(self.statistics.block_counts)


def held_returns(
    held: Steps,
    cell: IntArray,
    phi: FloatArray | None,
    gammas: Sequence[float],
    known: BoolArray,
) -> tuple[HeldReturns, ...]:
    """Return what came back from held-out steps, for each discount factor that they tell of.

    Parameters
    ----------
    held : Steps
    cell : int array of shape (n,)
        Of each step.
    phi : array of shape (n, d), or None for tables
    gammas : sequence of float
    known : array of bool, shape (n,)
        Which steps begin in states that were seen before.
    """
    found, weight = [], return_weights(held)
    if weight is not None:
        known = known & (weight > 0.0)
    for gamma in gammas:
        value, usable = _realised(held, gamma)
        chosen = np.flatnonzero(usable & known)
        if len(chosen) < _FEWEST_RETURNS:
            continue
        chosen = chosen[:: -(-len(chosen) // _MOST_RETURNS)]  # neighbours share most of theirs
        chosen = chosen[np.lexsort((value[chosen], cell[chosen]))]
        own, Phi = cell[chosen], None
        if phi is not None:
            _, own = np.unique(own, return_inverse=True)
            Phi = np.zeros((int(own.max()) + 1, phi.shape[1]))
            np.add.at(Phi, own, phi[chosen])
            Phi /= np.bincount(own)[:, None]
        _, stretch = np.unique(stretches(held, gamma)[chosen], return_inverse=True)
        stretch = stretch.astype(np.int64)
        spans = None if held.time is None else _spans(stretch, held.time[chosen])
        counts = None if weight is None else weight[chosen]
        own = own.astype(np.int64)
        found.append(HeldReturns(gamma, value[chosen], own, stretch, Phi, spans, counts))
    return tuple(found)


def _spans(stretch: IntArray, time: IntArray) -> IntArray:
    spans = np.empty((int(stretch.max()) + 1, 2), dtype=np.int64)
    spans[:] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    np.minimum.at(spans[:, 0], stretch, time)
    np.maximum.at(spans[:, 1], stretch, time)
    return spans


def _realised(held: Steps, gamma: float) -> tuple[FloatArray, BoolArray]:
    """What came back from each step on, and whether that is known, shape (n,) each.

    What lies behind the end of the record is worth what comes back on average: no model is there
    yet to say more, and at most a hundredth of it counts.
    """
    value, missing, usable = known_returns(held, gamma, _TOLERANCE)
    if usable.any():
        value += missing * (value[usable].mean() / (1.0 - missing[usable].mean()))
    return value, usable


def stretches(held: Steps, gamma: float) -> IntArray:
    """Number stretches of a record that are long against what returns share, shape (n,)."""
    ends = held.terminated | held.truncated
    record = np.concatenate([[0], np.cumsum(ends)[:-1]])
    begins = np.flatnonzero(np.concatenate([[True], ends[:-1]]))
    within = np.arange(len(held)) - begins[record]
    length = round(2.0 / (1.0 - gamma)) if gamma < 1.0 else len(held)
    _, stretch = np.unique(np.stack([record, within // length]), axis=1, return_inverse=True)
    return np.asarray(stretch, dtype=np.int64)
