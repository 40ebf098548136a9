"""Intervals of the figures of return distributions: what their sampling error makes of each.

- Linear figures (mean, P(G < c)): the root of the mean of h(E_j)² over the directions E_j is a
  standard error, Student with nu degrees of freedom; variance and exponential moments likewise, by
  their derivative. Probabilities take it on the scale of log-odds, as those near 0 or 1 err by
  factors rather than by amounts.
- Kinked ones (quantiles, CVaR): draws.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lincat._arguments import check_array, check_choice, check_levels, fail
from lincat._typing import ArrayLike, FloatArray
from lincat.core import risk
from lincat.core.draws import interval_by_draws
from lincat.core.grid import Grid
from lincat.core.representation import pmf_from_cdf
from lincat.core.uncertainty import (
    Interval,
    Uncertainty,
    farthest,
    probability_interval,
    widened,
)

#: Measures that take an argument, and what it is called.
_WITH_ARGUMENT = {
    "quantile": "level",
    "cvar": "level",
    "probability_below": "threshold",
    "entropic": "aversion",
}
#: What an interval can be asked for.
MEASURES = ("mean", "variance", "std", *_WITH_ARGUMENT)


def interval(
    cdf: FloatArray, grid: Grid, uncertainty: Uncertainty, measure: str, argument: ArrayLike | None
) -> Interval:
    """Return the intervals of a measure of n distributions (n, K): (low, high), each (n,).

    With a list of m arguments each is (n, m).
    """
    check_choice(measure, "measure", MEASURES)
    if uncertainty.centre is not None:
        plain = replace(uncertainty, centre=None)
        low, high = interval(uncertainty.centre, grid, plain, measure, argument)
        value = _figure(cdf, grid, measure, argument)
        reach, (least, most) = np.maximum(value - low, high - value), _extremes(measure)
        return np.maximum(value - reach, least), np.minimum(value + reach, most)
    if uncertainty.moved is not None:
        ends = interval(cdf, grid, replace(uncertainty, moved=None), measure, argument)
        far = farthest(lambda F: _figure(F, grid, measure, argument), cdf, uncertainty.moved)
        low, high = widened(ends, _figure(cdf, grid, measure, argument), far)
        least, most = _extremes(measure)
        return np.maximum(low, least), np.minimum(high, most)
    if measure not in _WITH_ARGUMENT:
        if argument is not None:
            raise fail("argument", f"none for {measure!r}", argument)
        ends = _moment_interval(cdf, grid, uncertainty, measure)
    elif argument is None:
        raise fail("argument", f"a number for {measure!r}", "none")
    else:
        arguments = check_array(argument, _WITH_ARGUMENT[measure])
        if arguments.ndim > 1:
            raise fail("argument", "a number or a list of numbers", f"shape {arguments.shape}")
        ends = _argued_interval(cdf, grid, uncertainty, measure, np.atleast_1d(arguments))
        if arguments.ndim == 0:
            ends = ends[0][:, 0], ends[1][:, 0]
    low, high = ends
    least, most = _extremes(measure)
    unknown = uncertainty.unknown if low.ndim == 1 else uncertainty.unknown[:, None]
    return (
        np.where(unknown, least, np.maximum(low, least)),
        np.where(unknown, most, np.minimum(high, most)),
    )


def _figure(cdf: FloatArray, grid: Grid, measure: str, argument: ArrayLike | None) -> FloatArray:
    """What an interval is about, (n,) or (n, m): quantiles and probabilities interpolated."""
    if argument is None:
        if measure == "mean":
            return risk.mean(cdf, grid)
        variance = risk.variance(cdf, grid)
        return np.sqrt(np.maximum(variance, 0.0)) if measure == "std" else variance
    arguments = np.atleast_1d(np.asarray(argument, dtype=np.float64))
    if measure == "entropic":
        table = np.stack([risk.entropic(cdf, grid, float(x)) for x in arguments], axis=1)
    elif measure == "probability_below":
        table = risk.interpolated_cdf(cdf, grid, arguments, strict=True)
    else:
        of = risk.expected_shortfall if measure == "cvar" else risk.interpolated_quantile
        table = of(cdf, grid, arguments)
    return table[:, 0] if np.ndim(argument) == 0 else table


def _argued_interval(
    cdf: FloatArray, grid: Grid, uncertainty: Uncertainty, measure: str, arguments: FloatArray
) -> Interval:
    """The ends, (n, m) each, of a measure that takes one of m arguments."""
    if measure in ("quantile", "cvar"):
        levels = check_levels(arguments, "level", zero=False)
        return interval_by_draws(uncertainty, cdf, grid, measure, levels)
    one = _below if measure == "probability_below" else _entropic
    ends = [one(cdf, grid, uncertainty, float(x)) for x in arguments]
    shape = (len(ends), len(cdf))
    low, high = (np.array([end[side] for end in ends]).reshape(shape).T for side in (0, 1))
    return low, high


def _around(uncertainty: Uncertainty, centre: FloatArray, errors: FloatArray) -> Interval:
    """Student's interval about n estimates, whose errors in each direction are (nu, n)."""
    margin = uncertainty.student() * np.sqrt(np.mean(errors**2, axis=0))
    return centre - margin, centre + margin


def _extremes(measure: str) -> tuple[float, float]:
    if measure == "probability_below":
        return 0.0, 1.0
    return (0.0 if measure in ("variance", "std") else -np.inf), np.inf


def _moment_interval(
    cdf: FloatArray, grid: Grid, uncertainty: Uncertainty, measure: str
) -> Interval:
    mean = risk.mean(cdf, grid)
    if measure == "mean":
        return _around(uncertainty, mean, -grid.spacing * uncertainty.directions.sum(axis=2))
    # d E(G − m)² = Σ (x − m)² dp: the mean's own error cancels to first order.
    square = (grid.atoms - mean[:, None]) ** 2
    errors = (_masses(uncertainty.directions) * square).sum(axis=2)
    low, high = _around(uncertainty, risk.variance(cdf, grid), errors)
    if measure == "variance":
        return low, high
    return np.sqrt(np.maximum(low, 0.0)), np.sqrt(np.maximum(high, 0.0))


def _below(cdf: FloatArray, grid: Grid, uncertainty: Uncertainty, threshold: float) -> Interval:
    cells, weights = risk.place_in_cells(
        risk.spread_share(cdf), grid, np.array([threshold]), strict=True
    )
    k, weight = int(cells[0]), weights[:, 0]
    centre = risk.interpolated_cdf(cdf, grid, np.array([threshold]), strict=True)[:, 0]
    padded = np.pad(uncertainty.directions, ((0, 0), (0, 0), (1, 1)))
    errors = (1.0 - weight) * padded[..., k] + weight * padded[..., k + 1]
    se = np.sqrt(np.mean(errors**2, axis=0))
    return probability_interval(centre, se, uncertainty.student())


def _entropic(cdf: FloatArray, grid: Grid, uncertainty: Uncertainty, aversion: float) -> Interval:
    """An interval of E exp(−βG), which is linear, through −log(·)/β, which is monotone."""
    if aversion == 0.0:
        return _moment_interval(cdf, grid, uncertainty, "mean")
    exponent = -aversion * grid.atoms
    factor = np.exp(exponent - exponent.max())
    moment = pmf_from_cdf(cdf) @ factor
    ends = _around(uncertainty, moment, _masses(uncertainty.directions) @ factor)
    with np.errstate(divide="ignore"):
        logs = [np.log(np.maximum(end, 0.0)) + exponent.max() for end in ends]
    equivalents = [-log / aversion for log in logs]
    return (equivalents[1], equivalents[0]) if aversion > 0.0 else (equivalents[0], equivalents[1])


def _masses(directions: FloatArray) -> FloatArray:
    """What errors of CDF values are as errors of masses, (nu, n, K + 1); they sum to zero."""
    return np.diff(directions, axis=-1, prepend=0.0, append=0.0)
