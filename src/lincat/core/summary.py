"""What is said of distributions in numbers, and where there is something to see of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lincat._rows import HIGH, LOW
from lincat._typing import FloatArray

if TYPE_CHECKING:
    from lincat.core.distribution import ReturnDistribution

# What gives the ends of intervals, (low, high), each (n,), of a measure and its argument.
Interval = Callable[[str, float | None], tuple[FloatArray, FloatArray]]

_MOST_STATES = 24  # in a picture


def summary_columns(
    dist: ReturnDistribution,
    *,
    level: float = 0.05,
    threshold: float | None = None,
    negative: bool = True,
    interval: Interval | None = None,
) -> dict[str, FloatArray]:
    """Return figures of each state, (n,) each, by their names; see ``report.tables.summary_rows``.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.core.summary import summary_columns
    >>> coin = ReturnDistribution([0.5], Grid(0.0, 1.0, intervals=1))
    >>> list(summary_columns(coin, level=0.1))
    ['mean', 'std', 'q0.1', 'median', 'q0.9', 'cvar0.1']
    """
    proper = dist.proper()
    figures: list[tuple[str, FloatArray, str, float | None]] = [
        ("mean", proper.mean(), "mean", None),
        ("std", proper.std(), "std", None),
        (f"q{level:g}", proper.quantile(level), "quantile", level),
        ("median", proper.quantile(0.5), "quantile", 0.5),
        (f"q{1 - level:g}", proper.quantile(1.0 - level), "quantile", 1.0 - level),
        (f"cvar{level:g}", proper.cvar(level), "cvar", level),
    ]
    if threshold is not None:
        below = proper.probability_below(threshold)
        figures.append((f"P(G<{threshold:g})", below, "probability_below", threshold))
    columns: dict[str, FloatArray] = {}
    for name, values, measure, argument in figures:
        columns[name] = values
        if interval is not None:
            low, high = interval(measure, argument)
            # Of quantiles they are interpolated, and the figure is an atom: it must lie within.
            columns[name + LOW], columns[name + HIGH] = (
                np.minimum(low, values),
                np.maximum(high, values),
            )
    if negative and dist.negative_mass.max() > 1e-9:
        columns["negative"] = dist.negative_mass
    return columns


def visible_range(*distributions: ReturnDistribution) -> tuple[float, float]:
    """Return the part of the grid that holds all but a thousandth of each one, and a margin."""
    low, high = math.inf, -math.inf
    for dist in distributions:
        proper = dist.proper()
        low = min(low, float(proper.quantile(0.0005).min()))
        high = max(high, float(proper.quantile(0.9995).max()))
    first = min(dist.grid.low for dist in distributions)
    last = max(dist.grid.high for dist in distributions)
    margin = max(0.04 * (high - low), *(2.0 * dist.grid.spacing for dist in distributions))
    low, high = max(first, low - margin), min(last, high + margin)
    # A little less than the whole grid is no reason to leave its ends out.
    return (first, last) if high - low > 0.8 * (last - first) else (low, high)


def shown_states(n: int) -> list[int]:
    """Return at most 24 of n states, evenly spread, the first among them."""
    return [int(i) for i in np.unique(np.linspace(0, n - 1, min(n, _MOST_STATES)).round())]
