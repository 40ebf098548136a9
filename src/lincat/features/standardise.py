"""Mean and spread of a sample, and the row norms that go with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lincat._arguments import check_array, fail
from lincat._text import shown
from lincat._typing import FloatArray

_LEAST = 1e-3  # that a coordinate may count


def standardise(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shift and factor, (m,) each: (x - shift) factor has mean 0 and variance 1.

    A coordinate that is constant in the sample gets the factor 0: it stays at 0 from then on.
    """
    constant = (points == points[0]).all(axis=0)  # their computed variance need not be 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shift, spread = points.mean(axis=0), points.std(axis=0)
        factor = np.where(constant, 0.0, 1.0 / spread)
    shift = np.where(constant, points[0], shift)
    bad = np.flatnonzero(~(np.isfinite(factor) & np.isfinite(spread)))
    if bad.size:
        j = int(bad[0])
        got = f"a standard deviation of {spread[j]:g} for coordinate {j}"
        raise fail("observations", "numbers whose spread can be computed", got)
    return shift, factor


def check_factors(shift: FloatArray, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both as they come from a file, if they can be of any sample."""
    shift = check_array(shift, "shift", shape=(None,))
    factor = check_array(factor, "factor", shape=shift.shape)
    if shift.size == 0 or (factor < 0.0).any():
        raise fail("factor", "numbers of at least 0", factor)
    return shift, factor


def check_importance(importance: Any, m: int) -> FloatArray:
    """Return how much each of m coordinates counts in distances: 1, unless something is given."""
    if importance is None:
        return np.ones(m)
    counts = check_array(importance, "importance", shape=(m,))
    if not ((counts >= _LEAST) & (counts <= 1.0)).all():
        raise fail("importance", f"numbers from {_LEAST:g} to 1", shown(counts))
    return counts
