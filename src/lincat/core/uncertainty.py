"""The sampling error of return distributions: directions, draws of them, scales of chances.

The errors that CDF values may have come as nu directions E_j, (n, K) each, all as large as the
error itself. The root of the mean of h(E_j)² is the standard error of a linear figure h, Student
with nu degrees of freedom; draws E = Σ_j g_j E_j/(√nu chi) are errors of everything at once. What
follows for a figure is in figure_intervals.py and draws.py, for CDFs in bands.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, logit, stdtrit

from lincat._arguments import check_number
from lincat._typing import BoolArray, FloatArray

Interval = tuple[FloatArray, FloatArray]

_DRAWS = 1000
_BEYOND = 50  # draws, on average, that lie outside of an interval
_OFF = 1.5  # times a known error that an interval reaches
#: Standard errors that tell a probability from 0 or 1.
CLEAR = 2.0


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


def widened(ends: Interval, value: FloatArray, far: FloatArray) -> Interval:
    """Return ends about a value that may be so far off, beside its sampling error."""
    low, high = ends
    below, above = (beside(np.maximum(x, 0.0), far) for x in (value - low, high - value))
    return np.minimum(low, value - below), np.maximum(high, value + above)


def beside(margin: FloatArray, far: FloatArray) -> FloatArray:
    """Return how far an interval reaches where a figure may be so far off, beside its margin.

    Added like an independent error: with a bias of that size, whichever it is, at least 93 % of
    intervals of 95 % hold, and one that is small beside the error costs next to nothing.
    """
    return np.hypot(margin, _OFF * far)


def farthest(figure: Callable[[FloatArray], FloatArray], cdf: FloatArray, moved: Any) -> FloatArray:
    """Return how far a figure moves at most where CDF values (n, K) move one way or the other.

    Either way: a kink may hide one of them.
    """
    value = figure(cdf)
    return np.maximum(*(np.abs(figure(cdf + sign * moved) - value) for sign in (1.0, -1.0)))


def probability_interval(p: FloatArray, se: FloatArray, reach: FloatArray | float) -> Interval:
    """±reach standard errors about probabilities, on the scale of log(p/(1 − p)).

    Where p is not known to be above 0, or below 1, by twice its standard error, the interval is the
    one that would be right there, moved: log-odds of nothing are no scale.
    """
    least = np.clip(CLEAR * se, 1e-12, 0.5)
    inside = np.clip(p, least, 1.0 - least)
    width = reach * se / (inside * (1.0 - inside))
    ends = (expit(logit(inside) + sign * width) + p - inside for sign in (-1.0, 1.0))
    low, high = (np.clip(end, 0.0, 1.0) for end in ends)
    return low, high
