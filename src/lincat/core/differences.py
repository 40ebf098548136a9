"""Differences of two sets of return distributions, A − B: intervals, and stochastic dominance.

Both carry their sampling error as directions (core/uncertainty.py). Learned from the *same rows*,
the directions of order j are slow sums over the same stretches of time, so that E_j(A) − E_j(B)
is one direction of the difference: what both share cancels. Learned from other rows, errors are
independent, and their variances add; degrees of freedom are then Satterthwaite's, and in draws each
side has a chi of its own.

- mean: Student's interval; quantile and CVaR: symmetric draws, both sides moved by the same draw;
  P(G < c): from the intervals of both sides (MOVER, Zou and Donner 2008), as chances near 0 err by
  factors;
- A dominates B to first order where F_A <= F_B everywhere, to second order where the running
  integral of F_A − F_B is <= 0 everywhere. Bands hold at all points at once, by the largest
  |error|/(standard error) over the points (sup-t).

What reward nodes move, on either side, is one more error, as in single intervals. Sides that share
their rows have the same rewards, but not the same made of them by nodes: it is not taken to cancel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from lincat._arguments import check_choice, check_levels, check_number, fail
from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.core import risk
from lincat.core.distribution import ReturnDistribution
from lincat.core.draws import figures_of_draws
from lincat.core.grid import Grid
from lincat.core.uncertainty import (
    Interval,
    Uncertainty,
    beside,
    farthest,
    probability_interval,
    widened,
)

#: What differences can be asked for.
FIGURES = ("mean", "quantile", "cvar", "probability_below")

#: By order: what the winner may be behind, of probability or of a standard deviation.
TOLERANCE = {1: 0.01, 2: 0.05}
_MOST_POINTS = 2000  # of the line, at which CDFs are held against each other
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Dominances:
    """Whether one of two distributions dominates, for n states.

    Attributes
    ----------
    winner : array of int, shape (n,)
        1 where A dominates, −1 where B does, 0 where neither is shown.
    a_behind, b_behind : arrays of shape (n,)
        By how much A, or B, is behind anywhere at most, with the confidence of the intervals: in
        probability to first order, in units of the return to second.
    tolerance : array of shape (n,)
        What the winner may be behind.
    """

    winner: IntArray
    a_behind: FloatArray
    b_behind: FloatArray
    tolerance: FloatArray


@dataclass(frozen=True)
class Differences:
    """Two sets of n return distributions that are held against each other, state by state.

    Attributes
    ----------
    a, b : ReturnDistribution
        Of the same n states, with their uncertainty; grids may differ.
    paired : bool
        Whether both were learned from the same rows.

    Examples
    --------
    >>> import lincat
    >>> from lincat.core.differences import Differences
    >>> coin, sides = lincat.catalog.uniform_coin().process, []
    >>> for seed in (1, 2):
    ...     seen = coin.sample(20_000, seed=seed)
    ...     model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0, 2, 16), n_features=1)
    ...     _ = model.fit(seen.state, seen.reward, seen.next_state)
    ...     sides.append(model.predict([0], confidence=0.95))
    >>> both = Differences(*sides, paired=False)
    >>> low, high = both.interval("mean")
    >>> bool(low[0] < 0.0 < high[0])  # the same coin
    True
    >>> both.dominance(1).winner
    array([0])
    """

    a: ReturnDistribution
    b: ReturnDistribution
    paired: bool

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            object.__setattr__(self, name, _about_its_errors(getattr(self, name)))

    def figures(self, name: str, argument: float | None = None) -> Interval:
        """Return a figure of A and of B, (n,) each; quantile and P(G < c) are interpolated."""
        check_choice(name, "figure", FIGURES)
        return _figure(self.a, name, argument), _figure(self.b, name, argument)

    def interval(self, name: str, argument: float | None = None) -> Interval:
        """Return (low, high), (n,) each, that hold the difference of a figure, A − B."""
        a, b = self.figures(name, argument)
        errors = self._errors
        if name == "mean":
            of_a, of_b = (
                -side.grid.spacing * each.sum(axis=2)
                for side, each in ((self.a, errors.a), (self.b, errors.b))
            )
            margin = errors.student(of_a - of_b) * errors.size(of_a - of_b)
            low, high = a - b - margin, a - b + margin
        elif name == "probability_below":
            low, high = self._mover(float(argument or 0.0))
        else:
            margin = self._margin_of_draws(name, float(argument or 0.0), a - b)
            low, high = a - b - margin, a - b + margin
        if self._is_moved:
            low, high = widened((low, high), a - b, self._farthest(name, argument))
        most = 1.0 if name == "probability_below" else np.inf
        unknown = errors.unknown
        return (
            np.where(unknown, -most, np.maximum(low, -most)),
            np.where(unknown, most, np.minimum(high, most)),
        )

    def dominance(self, order: Literal[1, 2], *, tolerance: float | None = None) -> Dominances:
        """Return whether A or B dominates, by bands that hold at all points at once.

        A dominates if F_A − F_B (to second order: its running integral) is shown to be nowhere
        above a tolerance, and shown to be below 0 somewhere. There must be some tolerance, as no
        data show that what is 0 in the tails is not above 0: by default 0.01, or to second order a
        twentieth of the standard deviation of returns. If F_A <= F_B + 0.01 everywhere, runs of A
        and B can be matched such that 99 in 100 of A's are at least as good (Strassen 1965).
        """
        share = TOLERANCE[order] if tolerance is None else check_number(tolerance, "tolerance")
        x, errors = _points(self.a.grid, self.b.grid), self._errors
        Fa, of_a = _at(self.a, errors.a, x)
        Fb, of_b = _at(self.b, errors.b, x)
        # Where both are nearly 0, or nearly 1, they differ by less than the tolerance.
        inner = np.maximum(Fa, Fb) > TOLERANCE[1]
        D, E, unit = Fa - Fb, of_a - of_b, np.ones(len(Fa))
        if order == 1:
            inner &= np.minimum(Fa, Fb) < 1.0 - TOLERANCE[1]
        else:
            D, E = (np.cumsum(values, axis=-1) * (x[1] - x[0]) for values in (D, E))
            unit = np.sqrt((_variance(self.a) + _variance(self.b)) / 2.0)
        size, far = errors.size(E), self._farthest_at(x, order)
        winner, behind = np.zeros(len(D), dtype=np.int64), np.full((2, len(D)), np.inf)
        for i in np.flatnonzero(~errors.unknown):
            at = inner[i]
            reach = beside(errors.reach(E[:, i, at], size[i, at]) * size[i, at], far[i, at])
            above, below = D[i, at] + reach, D[i, at] - reach
            behind[:, i] = max(above.max(initial=0.0), 0.0), max(-below.min(initial=0.0), 0.0)
            a_wins = behind[0, i] <= share * unit[i] and (above < -_ROUNDING).any()
            b_wins = behind[1, i] <= share * unit[i] and (below > _ROUNDING).any()
            winner[i] = int(a_wins) - int(b_wins)
        return Dominances(winner, behind[0], behind[1], share * unit)

    @property
    def _is_moved(self) -> bool:
        """Whether something else than sampling moves a side (reward nodes)."""
        return any(_moved(side) is not None for side in (self.a, self.b))

    def _farthest(self, name: str, argument: float | None) -> FloatArray:
        """How far the difference of a figure may be off for another reason than sampling, (n,)."""
        far = []
        for side in (self.a, self.b):
            moved = _moved(side)

            def figure(F: FloatArray, grid: Grid = side.grid) -> FloatArray:
                return _figure(ReturnDistribution(F, grid), name, argument)

            if moved is not None:
                far.append(farthest(figure, side.cdf_values, moved))
        return np.asarray(np.sqrt(np.sum(np.square(far), axis=0)))

    def _farthest_at(self, x: FloatArray, order: int) -> FloatArray:
        """The same of F_A − F_B at points, or of its running integral, (n, points)."""
        squared = np.zeros((len(self.a), len(x)))
        for side in (self.a, self.b):
            moved = _moved(side)
            if moved is not None:
                far = _at(side, moved[None], x)[1][0]
                squared += (far if order == 1 else np.cumsum(far, axis=1) * (x[1] - x[0])) ** 2
        return np.sqrt(squared)

    @cached_property
    def _errors(self) -> _Errors:
        mine, theirs = self.a.uncertainty, self.b.uncertainty
        if mine is None or theirs is None:
            raise fail("a and b", "distributions with their uncertainty", "one without")
        if mine.unknown.shape != theirs.unknown.shape:
            raise fail("b", f"the {len(self.a)} states of a", f"{len(self.b)} states")
        return _Errors.of(mine, theirs, paired=self.paired)

    def _margin_of_draws(self, name: str, level: float, centre: FloatArray) -> FloatArray:
        """The quantile of |h(A ⊕ E) − h(B ⊕ E) − (h(A) − h(B))| over draws E, for each state."""
        errors, margin = self._errors, np.empty(len(self.a))
        levels = np.array([level])
        for i in range(len(self.a)):
            of_a, of_b = (
                figures_of_draws(
                    name,
                    side.cdf_values[i],
                    errors.size(each[:, i]),
                    errors.coefficients,
                    each[:, i],
                    side.grid,
                    levels,
                )[:, 0]
                for side, each in ((self.a, errors.a), (self.b, errors.b))
            )
            margin[i] = np.quantile(np.abs(of_a - of_b - centre[i]), errors.confidence)
        return margin

    def _mover(self, threshold: float) -> Interval:
        """An interval of P_A − P_B from one of each, and how they depend on each other."""
        errors, x = self._errors, np.array([threshold])
        ends, wrong = [], []
        for side, each in ((self.a, errors.a), (self.b, errors.b)):
            p, of_p = _at(side, each, x, strict=True)
            p, of_p = p[:, 0], of_p[..., 0]
            low, high = probability_interval(p, errors.size(of_p), errors.student(of_p))
            ends.append((p, p - low, high - p))
            wrong.append(of_p)
        (p, below, above), (q, under, over) = ends
        sizes = errors.size(wrong[0]) * errors.size(wrong[1])
        together = errors.product(wrong[0], wrong[1])
        rho = np.divide(together, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)

        def reach(one: FloatArray, other: FloatArray) -> FloatArray:
            squared = one**2 + other**2 - 2.0 * rho * one * other
            return np.sqrt(np.maximum(squared, 0.0))

        return p - q - reach(below, over), p - q + reach(above, under)


@dataclass(frozen=True)
class _Errors:
    """Directions of A and B, (m, n, K) each, in groups of their own degrees of freedom.

    From the same rows there is one group, in which both are moved; else each side has its own, in
    which the other one stands still.
    """

    a: FloatArray
    b: FloatArray
    groups: tuple[slice, ...]
    coefficients: FloatArray  # (draws, m)
    confidence: float
    unknown: BoolArray

    @classmethod
    def of(cls, a: Uncertainty, b: Uncertainty, *, paired: bool) -> _Errors:
        if a.confidence != b.confidence:
            raise fail("b", f"the confidence of a, {a.confidence:g}", b.confidence)
        unknown = a.unknown | b.unknown
        nu, mu = a.degrees_of_freedom, b.degrees_of_freedom
        if paired:
            m = min(nu, mu)
            one = replace(a, directions=a.directions[:m])
            draws = one.coefficients()
            groups: tuple[slice, ...] = (slice(0, m),)
            return cls(one.directions, b.directions[:m], groups, draws, a.confidence, unknown)
        draws = np.hstack([a.coefficients(), replace(b, seed=a.seed + 1).coefficients()])
        of_a = np.pad(a.directions, ((0, mu), (0, 0), (0, 0)))
        of_b = np.pad(b.directions, ((nu, 0), (0, 0), (0, 0)))
        groups = (slice(0, nu), slice(nu, nu + mu))
        return cls(of_a, of_b, groups, draws, a.confidence, unknown)

    def product(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """The covariance of two errors, (m, ...) each in all directions."""
        return np.asarray(sum(np.mean(one[g] * other[g], axis=0) for g in self.groups))

    def size(self, errors: FloatArray) -> FloatArray:
        """The standard error, of errors (m, ...) in all directions."""
        return np.sqrt(self.product(errors, errors))

    def student(self, errors: FloatArray) -> FloatArray:
        """How many of them an interval reaches; degrees of freedom are Satterthwaite's."""
        parts = np.array([np.mean(errors[g] ** 2, axis=0) for g in self.groups])
        count = np.array([g.stop - g.start for g in self.groups], dtype=np.float64)
        spread = (parts**2 / count.reshape(-1, *[1] * (parts.ndim - 1))).sum(axis=0)
        square = parts.sum(axis=0) ** 2
        df = np.divide(square, spread, out=np.full_like(square, count.sum()), where=spread > 0.0)
        return np.asarray(stdtrit(df, 0.5 + self.confidence / 2.0))

    def reach(self, errors: FloatArray, size: FloatArray) -> float:
        """How many standard errors a band over all points reaches: errors (m, points)."""
        seen = size > 0.0
        if not seen.any():
            return 0.0
        largest = np.abs(self.coefficients @ (errors[:, seen] / size[seen])).max(axis=1)
        return float(np.quantile(largest, self.confidence))


def _about_its_errors(side: ReturnDistribution) -> ReturnDistribution:
    """The distributions that errors are about, where those that are shown have a bias."""
    known = side.uncertainty
    if known is None or known.centre is None:
        return side
    return ReturnDistribution(known.centre, side.grid, replace(known, centre=None))


def _moved(side: ReturnDistribution) -> FloatArray | None:
    return None if side.uncertainty is None else side.uncertainty.moved


def _figure(side: ReturnDistribution, name: str, argument: float | None) -> FloatArray:
    if name == "mean":
        return side.mean()
    if name == "probability_below":
        return side.probability_below(check_number(argument, "threshold"), interpolate=True)
    level = float(check_levels(check_number(argument, "level"), "level", zero=False))
    return side.quantile(level, interpolate=True) if name == "quantile" else side.cvar(level)


def _points(a: Grid, b: Grid) -> FloatArray:
    """Points over both grids; on a common one the middles of its cells, where the CDF is F_k."""
    low, high = min(a.low, b.low), max(a.high, b.high)
    spacing = max(min(a.spacing, b.spacing), (high - low) / _MOST_POINTS)
    count = max(round((high - low) / spacing), 1)
    return low + (np.arange(count) + 0.5) * (high - low) / count


def _at(
    side: ReturnDistribution, directions: FloatArray, x: FloatArray, *, strict: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Interpolated CDFs at points, (n, points), and their errors in each direction, (m, ...)."""
    k, weight = risk.place_in_cells(risk.spread_share(side.cdf_values), side.grid, x, strict=strict)
    padded = np.pad(directions, ((0, 0), (0, 0), (1, 1)))
    moved = (1.0 - weight) * padded[..., k] + weight * padded[..., k + 1]
    return risk.interpolated_cdf(side.cdf_values, side.grid, x, strict=strict), moved


def _variance(side: ReturnDistribution) -> FloatArray:
    return side.proper().variance()
