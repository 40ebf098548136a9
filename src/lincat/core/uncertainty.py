"""Intervals of return distributions: what their sampling error makes of each figure.

The errors that CDF values may have come as nu directions E_j, (n, K) each, all as large as the
error itself. Three kinds of figure follow from them:

- linear ones (mean, P(G < c)): the root of the mean of h(E_j)² is a standard error, Student with nu
  degrees of freedom; variance and exponential moments likewise, by their derivative. Probabilities
  take it on the scale of log-odds, as those near 0 or 1 err by factors rather than by amounts;
- kinked ones (quantiles, CVaR): draws E = Σ_j g_j E_j/(√nu chi), and h(F) ± the quantile of
  |h(F ⊕ E) − h(F)|, both made monotone the same way; ⊕ adds to the angle whose sin² is F, as draws
  would have chances below 0 in the tail otherwise. Symmetric, since percentiles of h(F ⊕ E)
  themselves hold too rarely where a kink is near;
- whole CDFs: the largest |E_k|/se_k over the atoms, in the same draws; chances too small to be seen
  are bounded by their neighbours'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, logit, stdtrit

from lincat._arguments import check_array, check_choice, check_levels, check_number, fail
from lincat._typing import ArrayLike, BoolArray, FloatArray
from lincat.core import risk
from lincat.core.grid import Grid
from lincat.core.representation import pmf_from_cdf

Interval = tuple[FloatArray, FloatArray]

#: Measures that take an argument, and what it is called.
_WITH_ARGUMENT = {
    "quantile": "level",
    "cvar": "level",
    "probability_below": "threshold",
    "entropic": "aversion",
}
#: What an interval can be asked for.
MEASURES = ("mean", "variance", "std", *_WITH_ARGUMENT)

_DRAWS = 1000
_BEYOND = 50  # draws, on average, that lie outside of an interval
_OFF = 1.5  # times a known error that an interval reaches
_CLEAR = 2.0  # standard errors that tell a probability from 0 or 1
_AT_ONCE = 2**21  # CDF values of draws
_MIDDLE = 0.05  # CDF values that tell how many independent draws there are
_INNER = 1e-3  # CDF values nearer to 0 or 1 are left out of simultaneous bands


@dataclass(frozen=True)
class Uncertainty:
    """The sampling error of the CDF values of n states.

    Attributes
    ----------
    directions : array of shape (nu, n, K)
        Independent errors of the size of the true one.
    confidence : float
        Of intervals and bands, in (0, 1).
    unknown : array of bool, shape (n,)
        States of which the data say nothing; their intervals hold everything.
    seed : int
        Of the draws.
    centre : array of shape (n, K), optional
        The CDF values that errors are about, where these are not those of the distributions (which
        a step size left a bias in). Intervals then hold the figure of both, and are symmetric about
        that of the distributions.
    moved : array of shape (n, K), optional
        How far the CDF values may be off for another reason than sampling. What a figure moves with
        them counts as one more error beside the others.
    """

    directions: FloatArray
    confidence: float
    unknown: BoolArray
    seed: int = 0
    centre: FloatArray | None = None
    moved: FloatArray | None = None

    def __post_init__(self) -> None:
        check_number(
            self.confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True
        )

    def __getitem__(self, rows: Any) -> Uncertainty:
        centre, moved = (None if x is None else x[rows] for x in (self.centre, self.moved))
        directions, unknown = self.directions[:, rows], self.unknown[rows]
        return replace(self, directions=directions, unknown=unknown, centre=centre, moved=moved)

    def through(
        self, change: Callable[[FloatArray], FloatArray], *, unknown: BoolArray, centre: Any
    ) -> Uncertainty:
        """Return what is known after a linear map of errors, (n, K), with another centre."""
        directions = np.stack([change(one) for one in self.directions])
        moved = None if self.moved is None else change(self.moved)
        return replace(self, directions=directions, unknown=unknown, centre=centre, moved=moved)

    @property
    def degrees_of_freedom(self) -> int:
        """nu, the number of directions."""
        return len(self.directions)

    def student(self) -> float:
        """Return how many standard errors an interval reaches."""
        return float(stdtrit(self.degrees_of_freedom, 0.5 + self.confidence / 2.0))

    def coefficients(self) -> FloatArray:
        """Return g_j/(√nu chi), (draws, nu): a draw is their sum over the directions."""
        n = max(_DRAWS, round(_BEYOND / (1.0 - self.confidence)))
        return _coefficients(n, self.degrees_of_freedom, self.seed)

    def sizes(self) -> FloatArray:
        """Return the standard errors of the CDF values, (n, K)."""
        return np.asarray(np.sqrt(np.mean(self.directions**2, axis=0)))


@lru_cache(maxsize=8)
def _coefficients(n: int, nu: int, seed: int) -> FloatArray:
    """Draws of multivariate t, (n, nu), over √nu; kept, as every figure of a state takes them."""
    rng = np.random.Generator(np.random.Philox(seed))
    normal = rng.standard_normal((n, nu))
    chi = np.sqrt(rng.chisquare(nu, size=(n, 1)) / nu)
    drawn: FloatArray = np.asarray(normal / (np.sqrt(nu) * chi))
    drawn.flags.writeable = False
    return drawn


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
        value, up, down = (
            _figure(cdf + sign * uncertainty.moved, grid, measure, argument) for sign in (0, 1, -1)
        )
        # Either way: a kink may hide one of them.
        low, high = _widened(ends, value, np.maximum(np.abs(up - value), np.abs(down - value)))
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
        return _by_draws(uncertainty, cdf, grid, measure, levels)
    one = _below if measure == "probability_below" else _entropic
    ends = [one(cdf, grid, uncertainty, float(x)) for x in arguments]
    shape = (len(ends), len(cdf))
    low, high = (np.array([end[side] for end in ends]).reshape(shape).T for side in (0, 1))
    return low, high


def band(cdf: FloatArray, uncertainty: Uncertainty, *, simultaneous: bool) -> Interval:
    """Return (low, high), (n, K) each, that hold CDF values; all of a state's if simultaneous."""
    if uncertainty.centre is not None:
        plain = replace(uncertainty, centre=None)
        low, high = band(uncertainty.centre, plain, simultaneous=simultaneous)
        return np.minimum(low, cdf), np.maximum(high, cdf)
    if uncertainty.moved is not None:
        ends = band(cdf, replace(uncertainty, moved=None), simultaneous=simultaneous)
        low, high = _widened(ends, cdf, np.abs(uncertainty.moved))
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
    low, high = _probability_interval(cdf, se, reach[:, None])
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


def _widened(ends: Interval, value: FloatArray, far: FloatArray) -> Interval:
    """Ends about a value that may be so far off, beside its sampling error.

    Added like an independent error: with a bias of that size, whichever it is, at least 93 % of
    intervals of 95 % hold, and one that is small beside the error costs next to nothing.
    """
    far, (low, high) = _OFF * far, ends
    below, above = (np.hypot(np.maximum(x, 0.0), far) for x in (value - low, high - value))
    return np.minimum(low, value - below), np.maximum(high, value + above)


def _probability_interval(p: FloatArray, se: FloatArray, reach: FloatArray | float) -> Interval:
    """±reach standard errors about probabilities, on the scale of log(p/(1 − p)).

    Where p is not known to be above 0, or below 1, by twice its standard error, the interval is the
    one that would be right there, moved: log-odds of nothing are no scale.
    """
    least = np.clip(_CLEAR * se, 1e-12, 0.5)
    inside = np.clip(p, least, 1.0 - least)
    width = reach * se / (inside * (1.0 - inside))
    ends = (expit(logit(inside) + sign * width) + p - inside for sign in (-1.0, 1.0))
    low, high = (np.clip(end, 0.0, 1.0) for end in ends)
    return low, high


def turned(p: FloatArray, se: FloatArray, errors: FloatArray) -> FloatArray:
    """Return probabilities with errors, (..., K), added to their angles, asin √p.

    An angle errs as much wherever p is, and no draw leaves [0, 1]. Where p is not known to be above
    0, or below 1, by twice its standard error, it moves as it would there.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.core.uncertainty import turned
    >>> p, se = np.array([0.5, 0.01]), np.array([0.1, 0.004])
    >>> turned(p, se, np.array([[0.01, 0.01], [0.0, -0.01]])).round(4)
    array([[0.51  , 0.0225],
           [0.5   , 0.0025]])
    """
    least = np.clip(_CLEAR * se, 1e-12, 0.5)
    inside = np.clip(p, least, 1.0 - least)
    out = errors / (2.0 * np.sqrt(inside * (1.0 - inside)))
    out += np.arcsin(np.sqrt(inside))
    np.clip(out, 0.0, np.pi / 2.0, out=out)  # in place: there are a thousand draws of each state
    np.sin(out, out=out)
    out *= out
    out += p - inside
    return out


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
    return _probability_interval(centre, se, uncertainty.student())


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
    drawn = turned(cdf[first:last], se[first:last], errors[:, first:last])
    if measure == "cvar":
        return risk.expected_shortfall(drawn, part, levels)
    share = risk.spread_share(cdf[None])[:, first : last + 1]
    return risk.interpolated_quantile(drawn, part, levels, share=share)


def _by_draws(
    uncertainty: Uncertainty, cdf: FloatArray, grid: Grid, measure: str, levels: FloatArray
) -> Interval:
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


def _masses(directions: FloatArray) -> FloatArray:
    """What errors of CDF values are as errors of masses, (nu, n, K + 1); they sum to zero."""
    return np.diff(directions, axis=-1, prepend=0.0, append=0.0)
