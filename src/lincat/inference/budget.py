"""The error budget: where the error of a batch solution comes from, and what to spend on next.

Parts that differ in kind are told in one unit, the standard deviation of the return from a state:

- sampling: the standard error of means, in the typical state; thin: in the worst tenth of states;
- grid: what K against 2K does to CVaR. Grid bias falls like spacing² for smooth figures, so that
  (4h(2K) − h(K))/3 is nearer, and its distance from h(K) an honest estimate of K's error; where the
  differences K/2 → K → 2K do not fall by about four, that order is not seen. Where another solution
  would cost too much, the widening of the grid stands for it;
- features: how far held-out returns are from the predictions, W1 beyond its noise. A test stands
  beside it: with features that are exact, TD errors of successive blocks do not correlate (it
  sees what lasts for longer than a block);
- off_grid: what mass that leaves the grid does to means, against the equation of means alone;
- drift: means from the first half of the blocks against those from the second, beyond chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from scipy.sparse import issparse

from lincat._arguments import InvalidInputError
from lincat._typing import BoolArray, FeatureMatrix, FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.inference.validation import Validation
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.solvers.krylov import ConvergenceError
from lincat.solvers.moments import solve_moments
from lincat.solvers.whitening import whiten

_STATES = 200  # of the sample that is looked at
_SMALLEST_SD = 0.1  # of the pooled one
# Numbers of a solution on 2K intervals that is still made: K/2 and 2K take less time than K did.
_AFFORDED = 30_000
_ORDER = (2.5, 5.5)  # by which successive differences fall where the order is two
_SURE = 2.0  # standard errors
_SEEN = 3.0  # of a correlation of blocks, which its own noise does not reach
_NEGLIGIBLE = 0.02  # standard deviations: nothing is worth spending on
_SHOWN = 0.005  # likewise: what is smaller is not told in the sentence
_THIN = 3.0  # times the typical error
_UNSEEN = 1e-6  # part of a state's features that may be rounding

#: What errors come from.
Code: TypeAlias = Literal["sampling", "thin", "grid", "features", "off_grid", "drift"]

#: Parts by their codes.
WORDS: dict[Code, str] = {
    "sampling": "Sampling",
    "thin": "Rarely seen states",
    "grid": "Grid",
    "features": "Features",
    "off_grid": "Mass off the grid",
    "drift": "Drift",
}
_REMEDIES: dict[Code, str] = {
    "sampling": "more data",
    "thin": "more data from states that were rarely seen",
    "grid": "a finer grid (--intervals)",
    "features": "richer features (--features), or a larger --n-step",
    "off_grid": "a wider grid: leave --low and --high out",
    "drift": "newer data alone, or features that tell then from now",
}


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One source of error.

    Attributes
    ----------
    code : "sampling", "thin", "grid", "features", "off_grid" or "drift"
    size : float or None
        In standard deviations of the return; None where it could not be told.
    text : str
        What was looked at, and what it says.
    remedy : str
        What makes it smaller.
    """

    code: Code
    size: float | None
    text: str
    remedy: str


class Extrapolated(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Figures of a shown state as a grid without end would have them, where the order is seen."""

    state: str
    std: float
    cvar: float


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the error comes from.

    Attributes
    ----------
    parts : tuple of Part
    next : str
        The code of the part to spend on; "" where none is worth it.
    sentence : str
    residual : float
        The correlation of TD errors of successive blocks, in its standard errors: above 3, features
        are not exact.
    order : float or None
        By how much the differences of K/2, K and 2K fell; about 4 for an order of two.
    extrapolated : tuple of Extrapolated
    """

    parts: tuple[Part, ...]
    next: Code | Literal[""]
    sentence: str
    residual: float
    order: float | None = None
    extrapolated: tuple[Extrapolated, ...] = ()

    def __getitem__(self, code: str) -> Part:
        return next(part for part in self.parts if part.code == code)


def error_budget(
    learner: CategoricalLSTD,
    names: tuple[str, ...],
    predict: Callable[[CategoricalLSTD], ReturnDistribution],
    *,
    level: float = 0.05,
    validation: Validation | None = None,
    widening: float = 0.0,
) -> Budget:
    """Return the budget of a solution, without another pass over the data.

    Parameters
    ----------
    learner : CategoricalLSTD
        With at least four blocks.
    names : tuple of str
        Of the shown states.
    predict : function
        From a learner, on whatever grid, to the distributions of the shown states.
    level : float
        Of CVaR.
    validation : Validation, optional
        Against returns that were not learned from.
    widening : float
        Share by which the grid makes standard deviations too large, where 2K is not solved.

    Examples
    --------
    >>> import lincat
    >>> from lincat.inference.budget import error_budget
    >>> seen = lincat.catalog.paper().process.sample(5_000, seed=0)
    >>> model = lincat.CategoricalLSTD(gamma=0.75, grid=lincat.Grid(0, 4, 20), n_features=3)
    >>> model = model.fit(seen.state, seen.reward, seen.next_state)
    >>> budget = error_budget(model, ("0", "1"), lambda one: one.predict([0, 1]))
    >>> budget.next
    'grid'
    >>> budget.sentence[:45]
    'Spend on a finer grid (--intervals) next: err'
    """
    Phi = learner.sampled_features()
    Phi = Phi[:: -(-Phi.shape[0] // _STATES)]
    moments = learner.moments_
    sd = _deviations(moments.variance(Phi), moments.pooled_variance(Phi))
    if not (sd > 0.0).all():  # all returns are the same
        return _concluded([], 0.0)
    errors = np.array(
        [-learner.grid_.spacing * (Phi @ one) for one in learner.ensemble_.Psi.sum(2)]
    )
    se = np.sqrt(np.mean(errors**2, axis=0)) / sd
    typical = float(np.quantile(se, 0.5, method="lower"))
    worst = float(np.quantile(se, 0.9, method="higher"))
    residual = learner.ensemble_.correlation * math.sqrt(learner.statistics_.n_blocks)
    parts = [
        _part("sampling", typical, "standard error of the mean, in the typical state"),
        _part("thin", worst, "standard error of the mean, in the worst tenth of states"),
        _features(validation, residual),
        _part("off_grid", _off_grid(learner, Phi, sd), "what mass off the grid does to means"),
        _drift(learner, Phi, sd, errors),
    ]
    rows, K = int(learner.touched_rows().sum()), learner.grid_.intervals
    if 2 * K * rows > _AFFORDED:
        text = "by how much the grid makes standard deviations too large"
        return _concluded([*parts, _part("grid", widening, text)], residual)
    return _concluded(parts, residual, _on_grids(learner, names, predict, level))


def extrapolate(
    coarse: FloatArray, reported: FloatArray, fine: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return (limit, order, seen) of figures on K/2, K and 2K intervals, (n,) each.

    The limit is (4h(2K) − h(K))/3; the order is (h(K) − h(K/2))/(h(2K) − h(K)), and an order of
    two is seen where that is about 4.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.inference.budget import extrapolate
    >>> h = [np.array([1.0 + 0.3 * spacing**2]) for spacing in (0.4, 0.2, 0.1)]
    >>> limit, order, seen = extrapolate(*h)
    >>> limit.round(12), order.round(12), seen
    (array([1.]), array([4.]), array([ True]))
    """
    step, before = fine - reported, reported - coarse
    order = np.divide(before, step, out=np.full_like(step, np.nan), where=step != 0.0)
    with np.errstate(invalid="ignore"):
        seen = (order > _ORDER[0]) & (order < _ORDER[1])
    return fine + step / 3.0, order, seen


def _on_grids(
    learner: CategoricalLSTD,
    names: tuple[str, ...],
    predict: Callable[[CategoricalLSTD], ReturnDistribution],
    level: float,
) -> tuple[Part, float | None, tuple[Extrapolated, ...]]:
    """CVaR and standard deviation of the shown states on K/2, K and 2K intervals."""
    grid = learner.grid_
    half = Grid(grid.low, grid.high, max(grid.intervals // 2, 1))
    try:
        halved, doubled = learner.solve(grid=half), learner.doubled()
    except (InvalidInputError, ConvergenceError):
        return _part("grid", None, "no solution on another number of intervals"), None, ()
    dists = [predict(one).proper() for one in (halved, learner, doubled)]
    mean, variance = dists[1].mean(), dists[1].variance()
    sd = _deviations(variance, float(np.mean(np.maximum(variance, 0.0)) + np.var(mean)))
    cvar, order, seen = extrapolate(*(dist.cvar(level) for dist in dists))
    std, _, std_seen = extrapolate(*(dist.std() for dist in dists))
    away = np.where(seen, cvar, dists[2].cvar(level)) - dists[1].cvar(level)
    size = float(np.max(np.abs(away) / np.maximum(sd, 1e-300)))
    found = tuple(
        Extrapolated(state=name, std=float(std[i]), cvar=float(cvar[i]))
        for i, name in enumerate(names)
        if seen[i] and std_seen[i]
    )
    ratio = order[np.isfinite(order)]
    typical = float(np.median(ratio)) if len(ratio) else None
    text = "CVaR on twice as many intervals, in the worst shown state"
    text += ", extrapolated" if seen.all() else "; order two is not seen everywhere"
    return _part("grid", size, text), typical, found


def _features(validation: Validation | None, residual: float) -> Part:
    test = "TD errors of successive blocks correlate: features are not exact"
    passed = "TD errors of successive blocks do not correlate"
    said = test if residual > _SEEN else passed
    if validation is None:
        return _part("features", None, f"no held-out returns; {said}")
    group = validation["all"]
    x, F = np.asarray(validation.atoms), np.asarray(group.empirical_cdf)
    mass = np.diff(F, prepend=0.0)
    sd = math.sqrt(max(float(mass @ (x - mass @ x) ** 2), 0.0))
    off, noise = group.w1, group.w1_noise
    if group.w1_states is not None and group.w1_states_noise is not None:
        off, noise = group.w1_states, group.w1_states_noise
    size = max(off - noise, 0.0) / sd if sd > 0.0 else None
    return _part("features", size, f"W1 of held-out returns beyond its noise; {said}")


def _off_grid(learner: CategoricalLSTD, Phi: FeatureMatrix, sd: FloatArray) -> float:
    away = learner.predict(Phi).mean() - learner.moments_.mean(Phi)
    return float(np.max(np.abs(away) / sd))


def _drift(
    learner: CategoricalLSTD, Phi: FeatureMatrix, sd: FloatArray, errors: FloatArray
) -> Part:
    """Half of what the two halves of the record differ by, beyond chance.

    Chance comes from the errors of even order: a difference of the halves is odd about the middle
    of the record, and so none of it is in them.
    """
    statistics = learner.statistics_
    middle = statistics.n_blocks // 2
    means, known = [], np.ones(Phi.shape[0], dtype=bool)
    for first, last in ((0, middle), (middle, statistics.n_blocks)):
        totals = statistics.window(first, last)
        null = whiten(totals.Sigma).null
        if null.shape[1] and learner.ridge == 0.0:
            part = abs(Phi @ null).max(axis=1)
            part = np.asarray(part.todense() if issparse(part) else part)
            known &= part.ravel() <= _UNSEEN
        try:
            means.append(solve_moments(totals, learner.gamma, ridge=learner.ridge).mean(Phi))
        except (InvalidInputError, ConvergenceError):  # no end of an episode in it, say
            return _part("drift", None, "half of the record alone has no solution")
    if not known.any():
        return _part("drift", None, "no state was seen in both halves of the record")
    squared = np.mean(((means[0] - means[1]) / sd)[known] ** 2)
    # Of halves, each with twice the variance of the whole.
    chance = np.mean((2.0 * errors[1::2] / sd)[:, known] ** 2) * _SURE**2
    size = 0.5 * math.sqrt(max(float(squared - chance), 0.0))
    return _part("drift", size, "means of the first half of the record against those of the second")


def _part(code: Code, size: float | None, text: str) -> Part:
    return Part(code=code, size=size, text=text, remedy=_REMEDIES[code])


def _concluded(
    parts: list[Part],
    residual: float,
    grids: tuple[Part, float | None, tuple[Extrapolated, ...]] | None = None,
) -> Budget:
    order: float | None = None
    found: tuple[Extrapolated, ...] = ()
    if grids is not None:
        part, order, found = grids
        parts = [*parts, part]
    chosen = _largest(parts)
    counted = [part for part in _known(parts) if (part.size or 0.0) >= _SHOWN]
    sizes = ", ".join(f"{WORDS[part.code].lower()} {part.size:.2g}" for part in counted)
    if chosen is None:
        sentence = (
            "Nothing is worth spending on: every error is small beside the spread of returns."
        )
    else:
        rest = "" if len(counted) == len(parts) else "; what else is known is smaller"
        sentence = f"Spend on {chosen.remedy} next: errors, in standard deviations, {sizes}{rest}."
    return Budget(
        parts=tuple(parts),
        next="" if chosen is None else chosen.code,
        sentence=sentence,
        residual=residual,
        order=order,
        extrapolated=found,
    )


def _known(parts: list[Part]) -> list[Part]:
    known = [part for part in parts if part.size is not None]
    return sorted(known, key=lambda part: -(part.size or 0.0))


def _largest(parts: list[Part]) -> Part | None:
    """The largest part, if it counts; thin states where they are much worse than the typical."""
    sizes = {part.code: part.size or 0.0 for part in parts}
    rare = sizes.get("thin", 0.0) > _THIN * sizes.get("sampling", 0.0)
    chosen = [part for part in _known(parts) if rare or part.code != "thin"]
    if not chosen or (chosen[0].size or 0.0) < _NEGLIGIBLE:
        return None
    return chosen[0]


def _deviations(variance: FloatArray, pooled: float) -> FloatArray:
    """Standard deviations, at least a tenth of the one with the pooled variance."""
    return np.sqrt(np.maximum(variance, _SMALLEST_SD**2 * pooled))
