"""Figures with a kink, quantiles and CVaR: what draws of the errors make of them.

An interval is h(F) ± the quantile of |h(F ⊕ E) − h(F)| over draws E, both made monotone the same
way; ⊕ adds to the angle whose sin² is F, as draws would have chances below 0 in the tail otherwise.
Symmetric, since percentiles of h(F ⊕ E) themselves hold too rarely where a kink is near.
"""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._typing import FloatArray
from lincat.core import risk
from lincat.core.grid import Grid
from lincat.core.uncertainty import CLEAR, Interval, Uncertainty

_AT_ONCE = 2**18  # CDF values of draws: they stay near to the processor, and calls cost little


def interval_by_draws(
    uncertainty: Uncertainty, cdf: FloatArray, grid: Grid, measure: str, levels: FloatArray
) -> Interval:
    """Return (low, high), (n, m) each, of "quantile" or "cvar" at m levels."""
    of = risk.expected_shortfall if measure == "cvar" else risk.interpolated_quantile
    centre = of(cdf, grid, levels)
    coefficients, se, margin = (
        uncertainty.coefficients(),
        uncertainty.sizes(),
        np.empty_like(centre),
    )
    for i, row in enumerate(cdf):
        directions = uncertainty.directions[:, i]
        drawn = figures_of_draws(measure, row, se[i], coefficients, directions, grid, levels)
        margin[i] = np.quantile(np.abs(drawn - centre[i]), uncertainty.confidence, axis=0)
    return centre - margin, centre + margin


def turned(p: FloatArray, se: FloatArray, errors: FloatArray) -> FloatArray:
    """Return probabilities with errors, (..., K), added to their angles, asin √p.

    An angle errs as much wherever p is, and no draw leaves [0, 1]. Where p is not known to be above
    0, or below 1, by twice its standard error, it moves as it would there.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.core.draws import turned
    >>> p, se = np.array([0.5, 0.01]), np.array([0.1, 0.004])
    >>> turned(p, se, np.array([[0.01, 0.01], [0.0, -0.01]])).round(4)
    array([[0.51  , 0.0225],
           [0.5   , 0.0025]])
    """
    angle, per_error, plus = _angles(p, se)
    turned: FloatArray = np.sin(np.clip(angle + per_error * errors, 0.0, np.pi / 2.0)) ** 2 + plus
    return turned


def _angles(p: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Angles of probabilities, by how much an error moves them, and what is added to their sin²."""
    least = np.clip(CLEAR * se, 1e-12, 0.5)
    inside = np.clip(p, least, 1.0 - least)
    root = np.sqrt(inside)
    return np.arcsin(root), 0.5 / (root * np.sqrt(1.0 - inside)), p - inside


def figures_of_draws(
    measure: str,
    cdf: FloatArray,
    se: FloatArray,
    coefficients: FloatArray,
    directions: FloatArray,
    grid: Grid,
    levels: FloatArray,
) -> FloatArray:
    """Return "quantile" or "cvar" at m levels, (draws, m), of CDF values (K,) with errors.

    A draw of the errors is its coefficients, (draws, nu), times the directions, (nu, K). Some draws
    at a time: on a grid that holds many states they would take a gigabyte.
    """
    parts = -(-len(coefficients) * grid.intervals // _AT_ONCE)
    drawn = (some @ directions for some in np.array_split(coefficients, parts))
    return np.concatenate([_figures_of(measure, cdf, se, E, grid, levels) for E in drawn])


def _figures_of(
    measure: str,
    cdf: FloatArray,
    se: FloatArray,
    errors: FloatArray,
    grid: Grid,
    levels: FloatArray,
) -> FloatArray:
    """The same of errors (draws, K).

    What lies above the highest level in every draw does not count, and is left out; so are the
    atoms before the first that has mass in any, but for its neighbour: cells at an end are halves.
    """
    K = grid.intervals
    least = turned(cdf, se, errors.min(axis=0))  # of all draws; it is monotone in the error
    enough, some = np.flatnonzero(least >= levels.max()), np.flatnonzero((cdf != 0.0) | (se != 0.0))
    last = min(int(enough[0]) + 1, K) if len(enough) else K
    first = min(max(int(some[0]) - 1, 0), last - 1) if len(some) else 0
    part = Grid(grid.low + first * grid.spacing, grid.low + last * grid.spacing, last - first)
    envelope = np.empty((len(errors), last - first + 2))
    angles = (x[first:last] for x in _angles(cdf, se))
    kernels.figures.turned_rows(envelope, errors, first, *angles)
    if measure == "cvar":
        return risk.shortfall_of(envelope, part, levels)
    share = risk.spread_share(cdf[None])[:, first : last + 1]
    return risk.quantile_of(envelope, part, levels, share)
