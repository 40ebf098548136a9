"""Predictions against what happened: distances, scores and calibration, per group of states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lincat._arguments import check_array, check_integer, check_levels, check_number, fail
from lincat._typing import ArrayLike, FloatArray, IntArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.projection import project
from lincat.core.representation import pmf_from_cdf
from lincat.inference import scores
from lincat.inference.pit import Transform
from lincat.inference.validation import GroupValidation, Method, Validation

_ENOUGH = 30  # returns per state from which its own empirical distribution says something
_WORST = 0.9  # share of states that are no worse than the worst
_FEW_STRETCHES = 20  # of a record, whose own spread is hardly known
# Returns t rows apart correlate by gamma^t: in units of half a stretch, which is the horizon, by
# exp(-t). This is the integral over t of the correlation of whether two such normal numbers lie
# below their 5 % quantile: so much more than its part of a stretch a single row is worth.
_IN_STRETCH = 0.44
_SCATTER = math.sqrt(math.pi / 2.0 - 1.0)  # of |N| over its mean; sums of such scatter less
_SMALLEST_SD = 0.1  # of that of all returns together: what is nearly certain is measured in it
_FORGIVEN = 2.0  # spacings by which a quantile may be off: projection smears atoms
_FORGIVEN_SD = 0.02  # likewise, of the standard deviation of all returns
_CELLS = 1 << 20  # numbers in a table that is made at once


def validate(
    dist: ReturnDistribution,
    returns: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: Sequence[Any] | None = None,
    blocks: Sequence[Any] | None = None,
    levels: ArrayLike = (0.5, 0.8, 0.95),
    bins: int = 20,
    tail: float = 0.05,
    confidence: float = 0.95,
    method: Method | None = None,
    description: str = "",
) -> Validation:
    """Compare predicted distributions with returns that were not learned from.

    Parameters
    ----------
    dist : ReturnDistribution over n states
        The predictions; of signed distributions, the nearest proper ones.
    returns : array of shape (n,) or (n, R)
        What came back from each state; returns off the grid count where they are. With ``weights``
        of shape (n, R) also of shape (R,): the same points for all states.
    weights : array of shape (n,) or (n, R), optional
        Of shape (n,): how much the returns of each state count, as many as they stand for. They are
        draws as before, and errors are those of so many draws that count differently.
        Of shape (n, R): the returns are then not draws but the points of a *known distribution*,
        with these masses: nothing is left to chance, and standard errors are 0. The sum of a row is
        the state's own weight.
    groups : n labels, optional
        Results for each of these groups of states as well as for all.
    blocks : n labels, optional
        Trajectories: returns from states of the same one depend on each other, and standard errors
        and the band of the empirical CDF take each trajectory as one draw. Without them every
        return is taken as independent of the others.
    levels : list of numbers in (0, 1)
        Of the central intervals whose coverage is counted.
    bins : int
        Of the histogram of the probability integral transform.
    tail : float
        The level of CVaR.
    confidence : float
        Of the band around the empirical CDF.
    method : "rollouts" or "held_out", optional
        Where returns that are draws come from; "held_out" by default. Of a known distribution it
        is "exact".
    description : str
        The same in words, for reports; by default how many there are.

    Returns
    -------
    Validation

    Examples
    --------
    >>> from lincat import catalog, true_returns, validate
    >>> lake = catalog.frozen_lake()
    >>> grid = lake.grid(intervals=40)
    >>> exact = true_returns(lake.process, lake.gamma, grid)
    >>> result = validate(exact, grid.atoms, weights=exact.pmf)
    >>> result["all"].w1 < 1e-12, [round(c, 12) for c in result["all"].coverage]
    (True, [0.5, 0.8, 0.95])
    """
    if not isinstance(dist, ReturnDistribution) or len(dist) == 0:
        raise fail("dist", "a lincat.ReturnDistribution of some states", repr(dist))
    values, mass = _check_returns(returns, weights, len(dist))
    check = check_levels(levels, "levels", zero=False)
    if check.ndim != 1 or (check == 1.0).any():
        raise fail("levels", "a list of numbers in (0, 1)", check.tolist())
    bins = check_integer(bins, "bins", low=1)
    tail = check_number(tail, "tail", low=0.0, high=1.0, low_open=True)
    scores.dkw_band(1.0, confidence)
    names, member = _labels(groups, "groups", len(dist))
    if "all" in names:
        raise fail("groups", "labels other than 'all', which is every state", "'all'")
    _, block = _labels(blocks, "blocks", len(dist))
    exact = weights is not None and np.ndim(weights) != 1
    if method is not None and method not in (("exact",) if exact else ("rollouts", "held_out")):
        expected = "'exact', as there are weights" if exact else "'rollouts' or 'held_out'"
        raise fail("method", expected, repr(method))

    own = None if blocks is None else block
    cases = _Cases(dist, values, mass, exact, own, check, bins, tail, float(confidence))
    everything = np.arange(len(dist))
    parts = [("all", everything)]
    if groups is not None:
        parts += [(name, everything[member == i]) for i, name in enumerate(names)]
    by_default = (
        f"the exact answer for {len(dist):,} states" if exact else f"{values.size:,} returns"
    )
    return Validation(
        method=method or ("exact" if exact else "held_out"),
        description=description or by_default,
        levels=tuple(check.tolist()),
        tail=tail,
        confidence=float(confidence),
        atoms=tuple(dist.grid.atoms.tolist()),
        groups=tuple(cases.summary(name, rows) for name, rows in parts),
    )


def _check_returns(
    returns: ArrayLike, weights: ArrayLike | None, n: int
) -> tuple[FloatArray, FloatArray]:
    """Returns and their masses, both of shape (n, R)."""
    values = check_array(returns, "returns")
    if weights is None or np.ndim(weights) == 1:
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[0] != n or values.shape[1] == 0:
            raise fail(
                "returns", f"returns of {n} states, as dist has", f"shape {np.shape(returns)}"
            )
        if weights is None:
            return values, np.ones_like(values)
        own = check_array(weights, "weights", shape=(n,))
        _check_masses(own[:, None])
        return values, np.repeat(np.maximum(own, 0.0)[:, None], values.shape[1], axis=1)
    mass = check_array(weights, "weights", shape=(n, None))
    if values.shape not in (mass.shape, mass.shape[1:]) or mass.size == 0:
        raise fail(
            "returns", f"{mass.shape} or {mass.shape[1:]}, as weights say", f"shape {values.shape}"
        )
    _check_masses(mass)
    return np.broadcast_to(values, mass.shape), np.maximum(mass, 0.0)


def _check_masses(mass: FloatArray) -> None:
    if (mass < -1e-9).any():  # a distribution that was solved for may have masses of -1e-17
        row, column = (int(i) for i in np.argwhere(mass < -1e-9)[0])
        raise fail("weights", "numbers of at least 0", f"{mass[row, column]:g} in row {row}")


def _labels(labels: Sequence[Any] | None, argument: str, n: int) -> tuple[list[str], IntArray]:
    """Names of the labels in their order, and the number of each state's."""
    if labels is None:
        return [], np.zeros(n, np.int64)
    array = np.asarray(labels)
    if array.shape != (n,):
        raise fail(argument, f"{n} labels, one per state", f"shape {array.shape}")
    if array.dtype == object:
        array = array.astype(str)
    names, index = np.unique(array, return_inverse=True)
    return [str(name) for name in names], index.astype(np.int64)


@dataclass(eq=False)
class _Cases:
    """Everything that can be said of single returns, to be summed up over groups."""

    dist: ReturnDistribution
    values: FloatArray
    mass: FloatArray
    exact: bool
    block: IntArray | None
    levels: FloatArray
    bins: int
    tail: float
    confidence: float

    def __post_init__(self) -> None:
        dist, values, mass, exact, tail = self.dist, self.values, self.mass, self.exact, self.tail
        proper = dist.proper()
        self.grid, self.cdf = dist.grid, proper.cdf_values
        self.error = proper.mean()[:, None] - values
        self.crps = np.concatenate(
            [scores.crps(self.cdf[p], self.grid, values[p]) for p in self._pieces(0)]
        )
        transform = Transform(self.cdf, self.grid, values)
        self.inside = [
            transform.within((1.0 - c) / 2.0, (1.0 + c) / 2.0) for c in self.levels.tolist()
        ]
        self.below = transform.below(tail)
        quantile = proper.quantile(tail)[:, None]
        self.below_quantile = (values < quantile).astype(np.float64)
        forgiven = max(_FORGIVEN * dist.grid.spacing, _FORGIVEN_SD * float(values.std()))
        self.well_below = (values < quantile - forgiven).astype(np.float64)
        self.hardly_above = (values <= quantile + forgiven).astype(np.float64)
        # The share of each state's own mass that lies below the edge of each bin.
        edges = np.linspace(0.0, 1.0, self.bins + 1)
        self.pit = np.stack([(mass * transform.below(u)).sum(axis=1) for u in edges], 1)
        self.w1: FloatArray | None = None
        if exact or values.shape[1] >= _ENOUGH:
            own = mass.sum(axis=1, keepdims=True)
            per_state = mass / np.where(own > 0.0, own, 1.0)
            pieces = self._pieces(values.shape[1])
            self.w1 = np.concatenate(
                [self._distance(pmf_from_cdf(self.cdf[p]), values[p], per_state[p]) for p in pieces]
            )
            draws = values.shape[1]
            noise = scores.expected_deviation(draws, self.cdf) if not exact else 0.0 * self.cdf
            self.w1_noise: FloatArray = self.grid.spacing * noise.sum(axis=1)

    def _pieces(self, beside: int) -> list[slice]:
        """Rows of tables that are made at once, with so many columns beside those of the atoms."""
        rows = max(_CELLS // (beside + self.grid.intervals + 1), 1)
        return [slice(i, i + rows) for i in range(0, len(self.cdf), rows)]

    def _distance(self, pmf: FloatArray, values: FloatArray, mass: FloatArray) -> FloatArray:
        """W1 of each row's two distributions."""
        atoms = np.broadcast_to(self.grid.atoms, pmf.shape)
        return scores.distance(np.hstack([atoms, values]), np.hstack([pmf, -mass]))

    def _dependent_variance(self, rows: IntArray, mass: FloatArray, block: IntArray) -> FloatArray:
        """Variance of the mean of 1{y <= x_k} − F_k, shape (K,), from its sums over blocks."""
        _, number = np.unique(block, return_inverse=True)
        sums = np.zeros((number.max() + 1, self.cdf.shape[1]))
        atoms = self.grid.atoms[:-1]
        for i, (row, state_mass) in enumerate(zip(rows, mass, strict=True)):
            position = np.searchsorted(atoms, self.values[row])
            steps = np.bincount(position, state_mass, minlength=len(atoms) + 1)[: len(atoms)]
            sums[number[i]] += np.cumsum(steps) - state_mass.sum() * self.cdf[row]
        share = np.bincount(number, mass.sum(axis=1))
        sums -= share[:, None] * sums.sum(axis=0)
        blocks = len(sums)
        return np.asarray((sums**2).sum(axis=0) * blocks / max(blocks - 1, 1))

    def _claimed_error(
        self, below: float, error: float, block: IntArray | None, state: FloatArray
    ) -> float:
        """The standard error of the share below the quantile, if what is claimed were true.

        Shares of a fifth scatter more than the claimed twentieth: their error would excuse them.
        Of few stretches often none goes below at all; then their spread says nothing, and the error
        is that of as many returns as stretches. Of more, one or two may go below, and for a few
        rows only: it is at least that of returns that share their rewards.
        """
        claimed = self.tail * (1.0 - self.tail)
        if 0.0 < below < 1.0:
            error *= math.sqrt(claimed / (below * (1.0 - below)))
        if block is None:
            return error
        share = np.bincount(block, state)
        share = share[share > 0.0]
        least = claimed * float((share**2).sum())
        return max(error, math.sqrt(least if len(share) < _FEW_STRETCHES else _IN_STRETCH * least))

    def _distances(self, rows: IntArray) -> tuple[float | None, float | None]:
        """How far off distributions are where they are worst, and on average, in deviations."""
        own = self.values[rows]
        unit = np.maximum(own.std(axis=1), _SMALLEST_SD * own.std())
        if self.exact or self.w1 is None or not (unit > 0.0).all():
            return None, None
        w1, noise = self.w1[rows] / unit, self.w1_noise[rows] / unit
        # By chance their average is larger, as where states hardly ever gain anything.
        scatter = min(float((w1 - noise).std()), _SCATTER * float(np.sqrt((noise**2).mean())))
        least = max(float(w1.mean()) - 2.0 * scatter / math.sqrt(len(w1)), 0.0)
        # Noise and error add up about like independent numbers: by their squares.
        typical = math.sqrt(max(least**2 - float(noise.mean()) ** 2, 0.0))
        return float(np.quantile(w1 - noise, _WORST)), typical

    def summary(self, name: str, rows: IntArray) -> GroupValidation:
        """Sum up over some of the states."""
        values, mass = self.values[rows], self.mass[rows]
        total = float(mass.sum())
        if total <= 0.0:
            raise fail("weights", "some mass in every group", f"none in group {name!r}")
        mass = mass / total
        state = mass.sum(axis=1)
        block = None if self.block is None else self.block[rows]
        uneven = bool((state != state[0]).any())

        def average(x: FloatArray) -> tuple[float, float | None]:
            mean = float((mass * x[rows]).sum())
            return mean, 0.0 if self.exact else _standard_error(x[rows] - mean, mass, block, uneven)

        pooled, chance = np.zeros((2, self.cdf.shape[1]))
        for p in self._pieces(0):
            cdf = self.cdf[rows[p]]
            pooled += state[p] @ cdf
            chance += (mass[p] ** 2).sum(axis=1) @ (cdf * (1.0 - cdf))
        flat, flat_mass = values.ravel(), mass.ravel()
        pooled_pmf = np.diff(pooled, prepend=0.0, append=1.0)
        w1 = float(self._distance(pooled_pmf[None], flat[None], flat_mass[None])[0])
        # E|Z| = √(2/π) sd, for a CDF value that is a sum over many returns.
        noise = 0.0
        if not self.exact:
            variance = chance
            if block is not None:
                variance = np.maximum(chance, self._dependent_variance(rows, mass, block))
            noise = self.grid.spacing * float(np.sqrt(2.0 / np.pi * variance).sum())

        empirical = np.minimum(np.cumsum(project(flat, flat_mass, self.grid)), 1.0)
        empirical[-1] = 1.0
        band = 0.0
        if not self.exact:
            weight = flat_mass if block is None else np.bincount(block, state)
            band = scores.dkw_band(1.0 / float((weight**2).sum()), self.confidence)
        worst, typical = self._distances(rows)
        mean_error, mean_error_se = average(self.error)
        below, below_se = average(self.below)
        if below_se is not None:
            below_se = self._claimed_error(below, below_se, block, state)
        below_quantile, below_quantile_se = average(self.below_quantile)
        coverage = [average(inside) for inside in self.inside]
        height = np.diff(self.pit[rows].sum(axis=0)) / total
        crps, climatology = average(self.crps)[0], scores.half_mean_difference(flat, flat_mass)
        return GroupValidation(
            group=name,
            n_states=len(rows),
            n_returns=None if self.exact else values.size,
            w1=w1,
            w1_noise=noise,
            w1_states=None if self.w1 is None else float(state @ self.w1[rows]),
            w1_states_noise=None if self.w1 is None else float(state @ self.w1_noise[rows]),
            w1_worst=worst,
            w1_typical=typical,
            crps=crps,
            crps_climatology=climatology,
            skill=1.0 - crps / climatology if climatology > 0.0 else None,
            mean_error=mean_error,
            mean_error_se=mean_error_se,
            coverage=tuple(c for c, _ in coverage),
            coverage_se=tuple(se for _, se in coverage),
            cvar_predicted=float(ReturnDistribution(pooled, self.grid).cvar(self.tail)[0]),
            cvar_realised=scores.lower_tail_mean(flat, flat_mass, self.tail),
            below_tail=below,
            below_tail_se=below_se,
            below_quantile=below_quantile,
            below_quantile_se=below_quantile_se,
            quantile_miss=max(
                average(self.well_below)[0] - self.tail,
                self.tail - average(self.hardly_above)[0],
                0.0,
            ),
            pit=tuple((len(height) * height).tolist()),
            predicted_cdf=(*pooled.tolist(), 1.0),
            empirical_cdf=tuple(empirical.tolist()),
            empirical_low=tuple(np.append(np.maximum(empirical[:-1] - band, 0.0), 1.0).tolist()),
            empirical_high=tuple(np.minimum(empirical + band, 1.0).tolist()),
        )


def _standard_error(
    deviation: FloatArray, mass: FloatArray, block: IntArray | None, uneven: bool
) -> float | None:
    """Of a weighted mean, from the deviations from it; None where there is but one draw.

    A draw that counts for nearly all is its own mean, and would look certain. So where draws count
    ``uneven``, the error is at least that of the plain mean times how much fewer they are worth.
    """
    sums, share = _by_block(mass * deviation, block), _by_block(mass, block)
    if len(sums) < 2:
        return None
    error = float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)))
    if not uneven:
        return error
    alike = np.full_like(mass, 1.0 / mass.size)
    plain = _standard_error(deviation - deviation.mean(), alike, block, uneven=False) or 0.0
    fewer = float((share**2).sum() / (_by_block(alike, block) ** 2).sum())
    return max(error, plain * math.sqrt(fewer))


def _by_block(values: FloatArray, block: IntArray | None) -> FloatArray:
    """The sums of each block's draws; without blocks every draw."""
    if block is None:
        return values.ravel()
    _, number = np.unique(block, return_inverse=True)
    return np.bincount(number, values.sum(axis=1)).astype(np.float64)
