"""Intervals of the figures that are shown of states, as records that JSON holds.

An interval holds the *fixed point*: what ever more such data would lead to, with these features on
this grid. Of the chance to end below a return, the bands tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from lincat._arguments import check_choice, fail
from lincat._typing import ArrayLike, FloatArray
from lincat.core.distribution import ReturnDistribution

Ends = tuple[float, float]
Numbers = tuple[float, ...]

_WITH_ARGUMENT = ("quantile", "cvar", "probability_below")

# Of the slider on the page, and the quantiles in its table.
_LEVELS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.95)


class StateIntervals(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Intervals of one state, (low, high) each.

    Attributes
    ----------
    mean, std : two floats
    quantile, cvar : m pairs of floats
        One for each of ``Intervals.levels``.
    """

    mean: Ends
    std: Ends
    quantile: tuple[Ends, ...]
    cvar: tuple[Ends, ...]


class Intervals(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Intervals of the figures of an answer's states; each holds the figure it belongs to.

    Attributes
    ----------
    confidence : float
        Of each for itself.
    levels : tuple of m floats
        Of quantiles and CVaR, ascending.
    states : n StateIntervals, or None
        None for a state of which the data say nothing.
    """

    confidence: float
    levels: Numbers
    states: tuple[StateIntervals | None, ...]

    def __post_init__(self) -> None:
        m = len(self.levels)
        known = [one for one in self.states if one is not None]
        if not m or any(len(x) != m for one in known for x in (one.quantile, one.cvar)):
            raise fail("intervals", f"a quantile and a CVaR at each of {m} levels", "others")
        if sorted(set(self.levels)) != list(self.levels):
            raise fail("intervals.levels", "levels that increase", list(self.levels))

    def margins(self, level: float) -> FloatArray:
        """Return half the widths of intervals of CVaR, (n,); interpolated between levels.

        Examples
        --------
        >>> from lincat.inference.intervals import Intervals, StateIntervals
        >>> one = StateIntervals(mean=(0.9, 1.1), std=(0.1, 0.2), quantile=((0, 1), (0, 1)),
        ...                      cvar=((0.2, 0.6), (0.5, 0.7)))
        >>> Intervals(confidence=0.95, levels=(0.1, 0.2), states=(one, None)).margins(0.15)
        array([0.15,  nan])
        """
        nothing = ((np.nan, np.nan),) * len(self.levels)
        rows = np.array([nothing if one is None else one.cvar for one in self.states])
        widths = (rows[:, :, 1] - rows[:, :, 0]) / 2.0
        inside = self.levels[0] <= level <= self.levels[-1]
        found = [np.interp(level, self.levels, row) if inside else np.nan for row in widths]
        return np.array(found)


class Bands(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Confidence bands around the CDFs of an answer.

    Attributes
    ----------
    confidence : float
    low, high : n tuples of K floats
    """

    confidence: float
    low: tuple[Numbers, ...]
    high: tuple[Numbers, ...]


def intervals_of(dist: ReturnDistribution, levels: Sequence[float] = ()) -> Intervals | None:
    """Return the intervals of distributions that know their sampling error; None of others.

    ``levels`` are added to those that the page needs, with one minus each.
    """
    known = dist.uncertainty
    if known is None:
        return None
    asked = sorted({*_LEVELS, *levels, *(1.0 - level for level in levels if level < 1.0)})
    mean, std = (shown_interval(dist, measure) for measure in ("mean", "std"))
    quantile, cvar = (shown_interval(dist, measure, asked) for measure in ("quantile", "cvar"))
    states = tuple(
        None
        if unknown
        else StateIntervals(
            mean=_ends(mean, i),
            std=_ends(std, i),
            quantile=tuple(_ends(quantile, (i, j)) for j in range(len(asked))),
            cvar=tuple(_ends(cvar, (i, j)) for j in range(len(asked))),
        )
        for i, unknown in enumerate(known.unknown)
    )
    return Intervals(confidence=known.confidence, levels=tuple(asked), states=states)


def shown_interval(
    dist: ReturnDistribution, measure: str, argument: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return (low, high) of a figure as tables have it, from distributions that know their errors.

    Figures are of the nearest proper distributions. Quantiles are atoms there, and the interval
    about the interpolated quantile is made to hold the atom too; the chance to end below a return
    is the CDF's value at the last atom before it.
    """
    proper = dist.proper()
    if argument is None:
        return proper.interval(measure)
    if measure == "quantile":
        return _holding(proper.interval(measure, argument), proper.quantile(argument))
    if measure != "probability_below":
        return proper.interval(measure, argument)
    value, at = proper.probability_below(argument), int(dist.grid.index_below(argument))
    if not 0 <= at < dist.grid.intervals:
        return value, value
    low, high = dist.band()
    return _holding((low[:, at], high[:, at]), value)


def interval_of(
    dist: ReturnDistribution,
    intervals: Intervals | None,
    bands: Bands | None,
    measure: str,
    argument: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Return (low, high), each (n,), of a figure as tables have it; NaN where it is not known."""
    check_choice(measure, "measure", ("mean", "std", *_WITH_ARGUMENT))
    if (argument is None) == (measure in _WITH_ARGUMENT):
        expected = "a number" if argument is None else "none"
        raise fail("argument", f"{expected} for {measure!r}", argument)
    unknown = np.full(len(dist), np.nan)
    if intervals is None or bands is None:
        return unknown, unknown
    if argument is None:
        ends = [None if one is None else getattr(one, measure) for one in intervals.states]
    elif measure == "quantile":
        at = _index(intervals.levels, argument)
        ends = [None if x is None or at is None else x.quantile[at] for x in intervals.states]
    elif measure == "cvar":
        value, margin = dist.proper().cvar(argument), intervals.margins(argument)
        return value - margin, value + margin
    else:
        ends = _below(dist, intervals, bands, argument)
    low, high = np.array([(np.nan, np.nan) if x is None else x for x in ends]).T
    return low, high


def _below(
    dist: ReturnDistribution, intervals: Intervals, bands: Bands, threshold: float
) -> list[Ends | None]:
    """The chance to end below a return is the CDF's value at the last atom before it."""
    at = int(dist.grid.index_below(threshold))
    value = dist.proper().probability_below(threshold)
    if not 0 <= at < dist.grid.intervals:
        ends = value, value
    else:
        low, high = (np.array(band)[:, at] for band in (bands.low, bands.high))
        ends = _holding((low, high), value)
    return [None if one is None else _ends(ends, i) for i, one in enumerate(intervals.states)]


def _holding(
    ends: tuple[FloatArray, FloatArray], value: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return intervals that were made wide enough to hold values."""
    return np.minimum(ends[0], value), np.maximum(ends[1], value)


def _ends(ends: tuple[FloatArray, FloatArray], at: int | tuple[int, int]) -> Ends:
    return float(ends[0][at]), float(ends[1][at])


def _index(levels: tuple[float, ...], level: float) -> int | None:
    at = int(np.argmin(np.abs(np.array(levels) - level)))
    return at if abs(levels[at] - level) < 1e-12 else None
