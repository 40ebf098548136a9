"""The ends of what can be earned: the lowest and highest values seen, and how far they may go on.

A payoff that came back often is an end that returns do not pass: a loss of 20 and no more. Of a
value with a tail, the largest one seen is no end. The gap between the first and the tenth one tells
them apart, so an end lies as far beyond the first as the tenth lies before it (after Robson and
Whitlock, 1964, who take the second): the same value ten times over, and nothing lies beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lincat._typing import FloatArray

#: How many values are kept, of either end.
KEPT = 10


def _none() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True)
class Extremes:
    """The ten lowest and the ten highest of all values seen, one seen twice counting twice.

    Attributes
    ----------
    lowest : array of shape (at most 10,)
        Ascending.
    highest : array of shape (at most 10,)
        Descending.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.statistics.extremes import Extremes
    >>> seen = Extremes().then(np.append(np.full(12, -20.0), np.arange(50.0)))
    >>> seen.range()
    (-20.0, 58.0)
    """

    lowest: FloatArray = field(default_factory=_none)
    highest: FloatArray = field(default_factory=_none)

    def then(self, values: FloatArray) -> Extremes:
        """Return those of these and more values."""
        if len(values) > KEPT:
            low = np.partition(values, KEPT - 1)[:KEPT]
            high = np.partition(values, len(values) - KEPT)[-KEPT:]
        else:
            low = high = values
        return self.joined(Extremes(low, high))

    def joined(self, other: Extremes) -> Extremes:
        """Return those of both."""
        low = np.sort(np.concatenate([self.lowest, other.lowest]))[:KEPT]
        high = np.sort(np.concatenate([self.highest, other.highest]))[::-1][:KEPT]
        return Extremes(low, high)

    def range(self) -> tuple[float, float]:
        """Return the ends that values keep within; infinite where too few were seen."""
        return _beyond(self.lowest, -np.inf), _beyond(self.highest, np.inf)


def _beyond(values: FloatArray, nowhere: float) -> float:
    """The end of values in their order, as far beyond the first as the last is before it."""
    first, *_, last = values.tolist() if len(values) == KEPT else [nowhere, nowhere]
    return first + (first - last) if np.isfinite([first, last]).all() else nowhere
