"""Bounds of points: given, or taken from the warm-up sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat._typing import FloatArray

# Beyond this a bound says that there is none: environments write ±3.4e38 for infinity in float32.
_NO_BOUND = 1e30
# What is added to each side of the range of a sample, as a share of its width.
_MARGIN = 0.05
# Less than this cannot be divided by.
_NARROWEST = 1e-280


def bounds_from(points: FloatArray, low: Any, high: Any) -> tuple[FloatArray, FloatArray]:
    """Return low < high, each of shape (m,): as given where finite, else from the sample.

    The sample's range gets a margin of 5 % on each side, since later observations will reach
    further; a coordinate that is constant in it gets one of 0.5.
    """
    smallest, largest = points.min(axis=0), points.max(axis=0)
    given_low, given_high = (
        _given(x, name, len(smallest)) for x, name in ((low, "low"), (high, "high"))
    )
    with np.errstate(over="ignore", invalid="ignore"):  # check_bounds looks at the outcome
        width = largest - smallest
        margin = np.where(width > 0.0, _MARGIN * width, 0.5 * np.maximum(1.0, np.abs(smallest)))
        lows = np.where(np.isfinite(given_low), given_low, smallest - margin)
        highs = np.where(np.isfinite(given_high), given_high, largest + margin)
    # A bound on one side only, with the whole sample beyond it: the other lies on its far side.
    free_low, free_high = ~np.isfinite(given_low), ~np.isfinite(given_high)
    lows = np.where(free_low & (lows >= highs), highs - 1.0, lows)
    highs = np.where(free_high & (highs <= lows), lows + 1.0, highs)
    return check_bounds(lows, highs)


def check_bounds(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bounds if they are finite, and low is below high everywhere."""
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    bad = np.flatnonzero(~(np.isfinite(width) & (width > _NARROWEST)))
    if bad.size:
        i = int(bad[0])
        got = f"[{low[i]:g}, {high[i]:g}] for coordinate {i}"
        raise fail("low", "finite bounds with low < high", got)
    return low, high


def _given(value: Any, argument: str, m: int) -> FloatArray:
    if value is None:
        return np.full(m, np.nan)
    try:
        array = np.asarray(value, dtype=np.float64)
        array = np.array(np.broadcast_to(array, (m,)))
    except (TypeError, ValueError):
        raise fail(argument, f"a number, or {m} of them, one for each coordinate", value) from None
    if np.isnan(array).any():
        raise fail(argument, "numbers or infinities", f"nan at index {np.argmax(np.isnan(array))}")
    array[np.abs(array) >= _NO_BOUND] = np.nan
    return array


def input_names(inputs: Sequence[str] | None, m: int) -> list[str]:
    """Return m names for the numbers of an observation."""
    if inputs is None:
        return [f"x{j}" for j in range(m)]
    if len(inputs) != m:
        raise fail("inputs", f"{m} names, one for each number of an observation", len(inputs))
    return list(inputs)
