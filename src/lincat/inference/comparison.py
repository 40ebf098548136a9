"""How two runs or models differ: frozen, typed records of differences with their certainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from lincat._arguments import check_levels, check_number, fail
from lincat._typing import FloatArray
from lincat.core.differences import FIGURES, Differences
from lincat.core.distribution import ReturnDistribution

Winner = Literal["A dominates", "B dominates", "not shown"]


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A figure of A and of B, and what is known of their difference.

    Attributes
    ----------
    figure : "mean", "quantile", "cvar" or "probability_below"
        Quantile and probability are interpolated between atoms.
    argument : float or None
        The level, or the threshold.
    a, b, difference : float
        The difference is a − b.
    low, high : float or None
        An interval that holds it; None where the sampling error is not known.
    """

    figure: str
    argument: float | None
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and self.low * self.high > 0.0


class Dominance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether one side is better at every return: stochastic dominance.

    Attributes
    ----------
    order : 1 or 2
        1: from every return on, the chance to end below it is smaller. 2: so is the expected
        shortfall below it, which everybody prefers who is averse to risk.
    verdict : "A dominates", "B dominates" or "not shown"
    a_behind, b_behind : float or None
        By how much A, or B, is behind anywhere at most: in probability (order 1), or in units of
        the return (order 2). None where that is not known.
    tolerance : float
        What the side that dominates may be behind.
    """

    order: Literal[1, 2]
    verdict: Winner
    a_behind: float | None
    b_behind: float | None
    tolerance: float


class StateComparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The comparison in one state."""

    state: str
    differences: tuple[Difference, ...]
    first_order: Dominance
    second_order: Dominance

    def __getitem__(self, figure: str) -> Difference:
        for one in self.differences:
            if one.figure == figure:
                return one
        raise fail("figure", f"one of {', '.join(d.figure for d in self.differences)}", figure)


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The results of :func:`lincat.compare`; ``comparison["start"]`` is one state's.

    Attributes
    ----------
    a, b : str
        What the two are called.
    confidence : float
        Of every interval, and of each verdict of dominance, one by one.
    paired : bool
        Whether both were learned from the same rows, so that what they share cancels.
    failed : tuple of str
        Those whose verdict failed: nothing is ranked then, and no dominance is claimed.
    states : tuple of StateComparison
    """

    a: str
    b: str
    confidence: float
    paired: bool
    failed: tuple[str, ...]
    states: tuple[StateComparison, ...]

    def __getitem__(self, state: str) -> StateComparison:
        for one in self.states:
            if one.state == state:
                return one
        raise fail("state", f"one of {', '.join(s.state for s in self.states)}", state)

    def to_json(self) -> str:
        """Return everything as JSON text."""
        return msgspec.json.encode(self).decode()


def compare_distributions(
    a: ReturnDistribution,
    b: ReturnDistribution,
    state_names: Sequence[str],
    *,
    paired: bool,
    confidence: float = 0.95,
    level: float = 0.05,
    threshold: float | None = None,
    names: tuple[str, str] = ("A", "B"),
    failed: Sequence[str] = (),
) -> Comparison:
    """Hold two sets of distributions of the same states against each other.

    Without the uncertainty of both sides, differences have no intervals and nothing is shown.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.inference.comparison import compare_distributions
    >>> grid = Grid(0.0, 10.0, intervals=2)
    >>> bold, careful = ReturnDistribution([0.4, 0.4], grid), ReturnDistribution([0.0, 1.0], grid)
    >>> found = compare_distributions(bold, careful, ["start"], paired=False)
    >>> found["start"]["mean"].difference, found["start"].first_order.verdict
    (1.0, 'not shown')
    """
    level = float(check_levels(level, "level", zero=False))
    if len(a) != len(b) or len(a) != len(state_names):
        raise fail("b", f"the {len(a)} states of a", f"{len(b)}")
    both = Differences(a, b, paired)
    known = a.uncertainty is not None and b.uncertainty is not None
    questions: list[tuple[str, float | None]] = [(name, level) for name in FIGURES[1:3]]
    questions.insert(0, ("mean", None))
    if threshold is not None:
        questions.append(("probability_below", check_number(threshold, "threshold")))
    columns = [_differences(both, name, argument, known) for name, argument in questions]
    first, second = (_dominances(both, order, known and not failed) for order in (1, 2))
    return Comparison(
        a=names[0],
        b=names[1],
        confidence=confidence,
        paired=paired,
        failed=tuple(failed),
        states=tuple(
            StateComparison(
                state=name,
                differences=tuple(column[i] for column in columns),
                first_order=first[i],
                second_order=second[i],
            )
            for i, name in enumerate(state_names)
        ),
    )


def _differences(
    both: Differences, name: str, argument: float | None, known: bool
) -> list[Difference]:
    a, b = both.figures(name, argument)
    nothing = np.full(len(a), np.nan)
    low, high = both.interval(name, argument) if known else (nothing, nothing)
    return [
        Difference(
            figure=name,
            argument=argument,
            a=float(a[i]),
            b=float(b[i]),
            difference=float(a[i] - b[i]),
            low=_finite(low[i]),
            high=_finite(high[i]),
        )
        for i in range(len(a))
    ]


def _dominances(both: Differences, order: Literal[1, 2], known: bool) -> list[Dominance]:
    n = len(both.a)
    if not known:
        nothing = Dominance(
            order=order, verdict="not shown", a_behind=None, b_behind=None, tolerance=0.0
        )
        return [nothing] * n
    found = both.dominance(order)
    words: dict[int, Winner] = {1: "A dominates", -1: "B dominates", 0: "not shown"}
    return [
        Dominance(
            order=order,
            verdict=words[int(found.winner[i])],
            a_behind=_finite(found.a_behind[i]),
            b_behind=_finite(found.b_behind[i]),
            tolerance=float(found.tolerance[i]),
        )
        for i in range(n)
    ]


def _finite(value: FloatArray) -> float | None:
    return float(value) if np.isfinite(value) else None
