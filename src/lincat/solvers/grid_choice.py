"""Where to put the grid, and how many intervals it needs, once the data are known.

Range: the union over the states seen of mean ± 6 standard deviations, and of what each observed
reward leads to, r_g + δ_g V: a rare loss lies many standard deviations away. It is cut to what is
attainable. Intervals: projecting adds the variance spacing² v(s), v(s) = δ² E v(s') + E[u(1 − u)]
with u(1 − u) about 1/6 (moments.py), so the spacing follows from how much wider a distribution may
come out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lincat._arguments import check_integer
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.grid import Grid, reach
from lincat.solvers.moments import Moments, solve_moments, widening
from lincat.solvers.whitening import Whitening
from lincat.statistics.totals import Totals

_FEWEST = (200, 1000)  # intervals; the more the better for jumps, so more where they cost little
_MOST = (400, 6000)
_CHEAP = 20_000  # parameters that cost little
_DEAR = 100_000  # parameters that cost too much
_DEAR_TABLE = 400_000  # likewise of a table, whose states have few successors

_DEVIATIONS = 6.0
_WIDER = 0.01  # the share by which a standard deviation may come out too large
_BARE = 0.025  # of the smallest one worth looking at: the standard deviation of what is certain
_SMALLEST_SD = 0.1  # of the pooled one; states that are nearly certain must not set the spacing
_NOTHING = 1e-3  # width of the grid of a return that is 0: it says nothing of a unit
_OUTER = 0.001  # share of states, at each end, that need not be looked at


@dataclass(frozen=True)
class GridChoice:
    """A grid, and what speaks for it.

    Attributes
    ----------
    grid : Grid
    wanted : int
        The intervals with which standard deviations come out at most 1 % too large; the grid has
        fewer where that is more than it may have.
    moments : Moments
        Of the returns.
    """

    grid: Grid
    wanted: int
    moments: Moments

    @property
    def widening(self) -> float:
        """The share by which standard deviations come out too large, about."""
        return math.sqrt(1.0 + ((1.0 + _WIDER) ** 2 - 1.0) * self._coarser**2) - 1.0

    @property
    def _coarser(self) -> float:
        return self.wanted / self.grid.intervals


def choose_grid(
    totals: Totals,
    gamma: float,
    Phi: FeatureMatrix,
    *,
    intervals: int | None = None,
    most: int | None = None,
    attainable: bool = True,
    whitening: Whitening | None = None,
) -> GridChoice:
    """Return a grid for the return distributions that the data lead to.

    Parameters
    ----------
    totals : Totals
    gamma : float
    Phi : array or CSR matrix of shape (n, d)
        Features of a sample of the states seen.
    intervals : int, optional
        K, if it is given.
    most : int, optional
        K at the most, otherwise; by default between 400 and 6,000, by the number of features.
    attainable : bool
        Whether rewards keep within the range that was seen, so that returns do.
    whitening : Whitening, optional
        Of ``totals.Sigma``, if it is there already.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> from lincat.solvers.grid_choice import choose_grid
    >>> coin = lincat.catalog.uniform_coin().process.sample(10_000, seed=1)
    >>> statistics = lincat.Statistics(n_features=1)
    >>> statistics = statistics.update(lincat.Transitions(coin.state, coin.reward, coin.next_state))
    >>> choose_grid(statistics.totals(), 0.5, np.ones((1, 1))).grid
    Grid(low=0.0, high=2.0, intervals=1000)
    """
    moments = solve_moments(totals, gamma, whitening=whitening)
    mean, variance = moments.mean(Phi), moments.variance(Phi)
    floor = _SMALLEST_SD * math.sqrt(moments.pooled_variance(Phi))
    sd = np.sqrt(np.maximum(variance, floor**2))
    low, high = _range(totals, gamma, mean, sd, attainable=attainable)
    added = np.asarray(Phi @ widening(totals, gamma, whitening=whitening))
    spacing = spacing_for(variance, added, floor)
    occurring = max(int(np.count_nonzero(totals.Sigma.diagonal())), 1)
    # Each discount has sums of its own; gamma, and 0 where an episode ends, are the least.
    size = occurring * max(len(np.unique(totals.discount(gamma))) // 2, 1)
    wanted = int(np.clip(_CHEAP // size, *_FEWEST))
    if most is None:
        dear = _DEAR_TABLE if scipy.sparse.issparse(totals.cross) else _DEAR
        most = int(np.clip(dear // size, *_MOST))
    if spacing > 0.0:
        wanted = max(wanted, math.ceil(min((high - low) / spacing, 1e9)))
    if intervals is None:
        intervals = min(wanted, most)
    return GridChoice(
        Grid(low, high, check_integer(intervals, "intervals", low=1)), wanted, moments
    )


def spacing_for(variance: FloatArray, added: FloatArray, floor: float) -> float:
    """Return the spacing with which nine standard deviations in ten are at most 1 % too large.

    Parameters
    ----------
    variance : array of shape (n,)
        Of the return from each state.
    added : array of shape (n,)
        The variance that projecting adds to it, in squares of the spacing: a sixth, at least.
    floor : float
        A smaller standard deviation is that of what is nearly certain.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.grid_choice import spacing_for
    >>> round(spacing_for(np.ones(2), np.full(2, 1 / 6), 0.1), 3)  # √(1 + 0.347²/6) is 1.01
    0.347
    """
    # Variances add up; where there is hardly any, what is added is all that is seen.
    allowed = np.where(
        variance > floor**2,
        np.sqrt(((1.0 + _WIDER) ** 2 - 1.0) * np.maximum(variance, 0.0)),
        _BARE * floor,
    )
    return float(np.quantile(allowed / np.sqrt(np.maximum(added, 1.0 / 6.0)), 0.1))


def _range(
    totals: Totals, gamma: float, mean: FloatArray, sd: FloatArray, *, attainable: bool
) -> tuple[float, float]:
    seen = np.abs(totals.phi_sum).max(axis=1) > 0.0
    reward, discount = totals.reward[seen], totals.discount(gamma)[seen]
    # What a reward leads to: itself, and then some state's mean.
    typical = np.quantile(mean, [_OUTER, 1.0 - _OUTER])
    after = reward[:, None] + discount[:, None] * typical
    low = min(float(np.quantile(mean - _DEVIATIONS * sd, _OUTER)), float(after.min()))
    high = max(float(np.quantile(mean + _DEVIATIONS * sd, 1.0 - _OUTER)), float(after.max()))
    if attainable:
        # What follows a state that was never left is not among the rewards seen.
        ends = np.concatenate([reach(reward, discount), typical])
        low, high = max(low, float(ends.min())), min(high, float(ends.max()))
    if low == high == 0.0:  # nothing was ever earned, or all of it is certain
        return -_NOTHING / 2.0, _NOTHING / 2.0
    narrowest = 1e-6 * max(abs(low), abs(high), 1e-300)
    if high - low < narrowest:  # a single value, or nearly so
        low, high = low - 0.5e3 * narrowest, high + 0.5e3 * narrowest
    return low, high
