"""How many steps a return takes to be known, and into how many parts a record may be cut."""

from __future__ import annotations

import math

from lincat.data.steps import Steps

_FEWEST_ENDS = 10  # of episodes, from which their length is known
_MOST_PARTS = 10  # more would say little more of how a log varies


def steps_that_count(gamma: float, tolerance: float, most: int) -> int:
    """Return the steps after which what is missing of a return no longer counts.

    Examples
    --------
    >>> from lincat.runs.horizon import steps_that_count
    >>> steps_that_count(0.9, 0.01, most=1000), steps_that_count(1.0, 0.01, most=1000)
    (44, 1000)
    """
    if gamma in (0.0, 1.0):
        return 1 if gamma == 0.0 else most
    return math.ceil(math.log(tolerance) / math.log(gamma))


def steps_until_known(gamma: float, tolerance: float, first: Steps | None, most: int) -> int:
    """Return the same, or the steps within which most episodes end, by the first of them."""
    steps = steps_that_count(gamma, tolerance, most)
    ends = 0 if first is None else int(first.terminated.sum())
    if first is None or ends < _FEWEST_ENDS:
        return steps
    return min(steps, 3 * len(first) // ends)


def parts_of(rows: int, steps: int, *, lost: float) -> int:
    """Return how many parts, ten at most, may each lose so many steps, a share of all rows.

    Examples
    --------
    >>> from lincat.runs.horizon import parts_of
    >>> parts_of(10_000, 44, lost=0.02), parts_of(10_000, 44, lost=0.1), parts_of(500, 44, lost=0.1)
    (4, 10, 1)
    """
    return min(max(int(lost * rows) // max(steps, 1), 1), _MOST_PARTS)
