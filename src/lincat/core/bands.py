"""Bands of CDF values: of each of them, or of all of a state's at once.

Single values have Student's interval of their log-odds. Whole CDFs reach the largest |E_k|/se_k
over the atoms, in draws of the errors (sup-t); chances too small to be seen are bounded by their
neighbours'.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lincat._typing import FloatArray
from lincat.core.uncertainty import Interval, Uncertainty, probability_interval, widened

_MIDDLE = 0.05  # CDF values that tell how many independent draws there are
_INNER = 1e-3  # CDF values nearer to 0 or 1 are left out of simultaneous bands


def band(cdf: FloatArray, uncertainty: Uncertainty, *, simultaneous: bool) -> Interval:
    """Return (low, high), (n, K) each, that hold CDF values; all of a state's if simultaneous."""
    if uncertainty.centre is not None:
        plain = replace(uncertainty, centre=None)
        low, high = band(uncertainty.centre, plain, simultaneous=simultaneous)
        return np.minimum(low, cdf), np.maximum(high, cdf)
    if uncertainty.moved is not None:
        ends = band(cdf, replace(uncertainty, moved=None), simultaneous=simultaneous)
        low, high = widened(ends, cdf, np.abs(uncertainty.moved))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    se = uncertainty.sizes()
    reach = np.full(len(cdf), uncertainty.student())
    if simultaneous:
        coefficients = uncertainty.coefficients()
        inner = (cdf > _INNER) & (cdf < 1.0 - _INNER) & (se > 0.0)
        for i, (one, chosen) in enumerate(zip(se, inner, strict=True)):
            if chosen.any():
                scaled = uncertainty.directions[:, i, chosen] / one[chosen]
                largest = np.abs(coefficients @ scaled).max(axis=1)
                reach[i] = max(reach[i], np.quantile(largest, uncertainty.confidence))
    low, high = probability_interval(cdf, se, reach[:, None])
    if simultaneous:
        _reach_out(low, high, cdf, se, uncertainty.student())
    unknown = uncertainty.unknown[:, None]
    return np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)


def _reach_out(
    low: FloatArray, high: FloatArray, cdf: FloatArray, se: FloatArray, t: float
) -> None:
    """Bound chances that are too small to be seen by those of the nearest atoms that are not.

    The middle of a CDF errs like a share of n independent draws, n = F (1 − F)/se². Of what has a
    chance of t²/n none may have been seen; then estimate and standard error are both 0, and all
    that is known is that a CDF increases.
    """
    for i, (F, one) in enumerate(zip(cdf, se, strict=True)):
        middle = (F > _MIDDLE) & (F < 1.0 - _MIDDLE) & (one > 0.0)
        if not middle.any():
            continue
        n = float(np.median(F[middle] * (1.0 - F[middle]) / one[middle] ** 2))
        seen = np.flatnonzero((F >= t**2 / n) & (F <= 1.0 - t**2 / n))
        if len(seen):
            first, last = seen[0], seen[-1]
            high[i, :first] = np.maximum(high[i, :first], high[i, first])
            low[i, last + 1 :] = np.minimum(low[i, last + 1 :], low[i, last])
