"""How many transitions a target error takes, for each way to learn, and why.

The error is W1,mu between what is learned and the fixed point, as in the paper; what no amount of
data removes (the approximation error) stands beside it. Two things decide the number:

noise     as N grows, √N times the error has a limit whose quantiles are known (theory/asymptotic)
          or estimated (the ensemble behind intervals): N = (quantile/target)² is the least
          possible. A tail average uses half of the data, variance reduction nearly all.
start     step by step, the uniform distribution has to be forgotten: its error decays like
          exp(−M Σ steps), M = Sigma − E[δ phi phi'ᵀ] (the update of the means, whose modes are the
          slowest of all).

Steps are those that ``step_size="auto"`` takes (``learners.schedules.auto_step``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from lincat._arguments import check_number, fail
from lincat._typing import FloatArray
from lincat.core.grid import Grid
from lincat.core.metrics import wasserstein
from lincat.core.uncertainty import Uncertainty
from lincat.inference.estimated_constants import (
    dense,
    diagonal,
    estimate_constants,
    is_diagonal,
)
from lincat.inference.forgetting import mean_w1, steps_to_forget, updates_with_sum
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.schedules import auto_step, stable_step
from lincat.processes.problem import Problem
from lincat.solvers.approximation import approximation_error
from lincat.solvers.exact import solve_categorical
from lincat.solvers.moments import weighted_cross
from lincat.theory import bounds
from lincat.theory.asymptotic import limit_noise, mixing_time
from lincat.theory.constants import error_constants
from lincat.theory.reachable import reachable
from lincat.theory.setting import Bound, Setting

_DRAWS = 2000
_ROWS = 300  # states over which errors are averaged
_MOST = 600  # features in which it is looked at how a start is forgotten
_UNKNOWNS = 3000  # d * K on which the limit of the errors is computed
_INTERVALS = (32, 64, 128, 256, 512)
# Mean squares over the least possible: docs/learners.md and docs/theory.md have the measured ones.
_TAIL, _REDUCED, _BATCH = 3.6, 2.1, 1.5
_KEPT = 0.25  # share of the target that the start, or the grid, may be
_EPOCHS = 2048.0  # transitions before recentring has begun to pay
_PER_FEATURE = 10.0  # transitions for each feature before sums can be solved


@dataclass(frozen=True)
class Need:
    """What one way to learn needs.

    Attributes
    ----------
    way : str
        A learner, or where a number is from.
    step : str
        Its step size, as one would say it; empty where there is none.
    transitions : int
    reason : str
    """

    way: str
    step: str
    transitions: int
    reason: str


@dataclass(frozen=True)
class SamplePlan:
    """Step size, number of transitions and K for a target error.

    Attributes
    ----------
    gamma, error, confidence : float
    grid : Grid or None
        None where only constants were given.
    intervals : int
        K.
    step_size : float
        The first step of Linear-CTD with ``step_size="auto"``; ``last_step`` is its last.
    last_step : float
    transitions : int
        That Linear-CTD needs with it: the error is then below the target in at least the share
        ``confidence`` of runs.
    least : int
        By the asymptotic theory.
    approximation : float or None
        W1,mu between fixed point and truth, which more transitions do not change; None if unknown.
    needs : tuple of Need
        All ways to learn, and the paper's theorem.
    notes : tuple of str
    """

    gamma: float
    error: float
    confidence: float
    grid: Grid | None
    intervals: int
    step_size: float
    last_step: float
    transitions: int
    least: int
    approximation: float | None
    needs: tuple[Need, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Known:
    """What plans are made from, however it is known."""

    grid: Grid
    setting: Setting
    n_features: int
    used: int  # features that have data
    quantile: float  # of √N times the error
    forget: float  # the sum of steps after which a quarter of the target is left of the start
    ending: float  # the mean of ‖phi‖²(1 − δ)
    approximation: float
    where: str  # what the approximation error is
    notes: tuple[str, ...] = ()


# ------------------------------------------------------------------------------ three beginnings


@reachable
def plan_problem(
    problem: Problem,
    *,
    error: float,
    confidence: float = 0.95,
    intervals: int | None = None,
    walk: bool = True,
) -> SamplePlan:
    """Return the plan for a known process, from independent transitions or along a walk.

    Examples
    --------
    >>> import lincat
    >>> from lincat.inference.planning import plan_problem
    >>> plan = plan_problem(lincat.catalog.paper(), error=0.05)
    >>> plan.intervals, plan.least < plan.transitions < 10 * plan.least
    (128, True)
    """
    error, confidence = _checked(error, confidence)
    problem = _independent(problem)
    process, Phi, gamma = problem.process, problem.Phi, problem.gamma
    if gamma >= 1.0:
        raise fail("gamma", "a discount factor below 1", gamma, "bounds need one")
    mu, d = process.stationary, Phi.shape[1]
    K, gap = _intervals(problem, error, intervals)
    coarse = problem.grid(min(K, max(_UNKNOWNS // d, 1)))
    star = solve_categorical(process, Phi, coarse, gamma)
    noise = limit_noise(process, Phi, coarse, gamma, star, walk=walk)
    quantile = _quantile(noise.draws(_DRAWS), Phi, coarse.spacing, mu, confidence)
    constants = error_constants(process, Phi, coarse, gamma, star)
    setting = Setting.of(
        constants,
        width=coarse.high - coarse.low,
        mixing_time=mixing_time(process) if walk else 1.0,
    )
    chance, delta = mu[process.state] * process.probability, process.discounts(gamma)
    following = (Phi[process.state] * (chance * delta)[:, None]).T @ Phi[process.next_state]
    norms = (Phi**2).sum(axis=1)[process.state]
    known = _Known(
        grid=problem.grid(K),
        setting=setting,
        n_features=d,
        used=d,
        quantile=quantile,
        forget=steps_to_forget(
            noise.Sigma - following, Phi, star, coarse.spacing, mu, _KEPT * error
        ),
        ending=float(chance @ (norms * (1.0 - delta))),
        approximation=gap,
        where="exact, of grid and features",
    )
    return _plan(known, error, confidence)


@reachable
def plan_model(model: CategoricalLSTD, *, error: float, confidence: float = 0.95) -> SamplePlan:
    """Return the plan that the data behind a batch solution speak for: more of the same kind.

    Examples
    --------
    >>> import lincat
    >>> from lincat.inference.planning import plan_model
    >>> seen = lincat.catalog.paper().process.sample(5_000, seed=1)
    >>> model = lincat.CategoricalLSTD(gamma=0.75, n_features=3)
    >>> plan = plan_model(model.fit(seen.state, seen.reward, seen.next_state), error=0.05)
    >>> plan.least < plan.transitions < 10 * plan.least
    True
    """
    error, confidence = _checked(error, confidence)
    found, totals = estimate_constants(model), model.statistics_.totals()
    grid = model.grid_
    Sigma = totals.Sigma / totals.weight
    rows, mu = _states(model, Sigma)
    Psi = model.ensemble_.Psi
    draws = Uncertainty(Psi, confidence, np.zeros(len(rows), bool)).coefficients()
    drawn = (np.tensordot(one, Psi, axes=1) for one in draws[:_DRAWS])
    quantile = _quantile(drawn, rows, grid.spacing, mu, confidence) * math.sqrt(found.count)
    root = math.sqrt(found.intervals) * (1.0 - model.gamma)
    setting = Setting(
        gamma=model.gamma,
        intervals=found.intervals,
        lambda_min=found.lambda_min.value,
        norm_V1=found.norm_theta_Sigma.value / root,
        norm_V2=found.norm_theta.value / root,
        max_squared_norm=found.max_squared_norm,
        C_A=found.C_A,
        trace_Sigma_e=found.trace_S.value,
        mixing_time=max(found.mixing_time, 1.0),
        unit=found.width * (1.0 - model.gamma),
    )
    delta, d = totals.discount(model.gamma), totals.n_features
    kept = np.sort(np.argsort(-diagonal(Sigma), kind="stable")[:_MOST])
    moves = dense((Sigma - weighted_cross(totals, delta) / totals.weight)[kept][:, kept])
    twice = model.doubled().predict(rows)
    known = _Known(
        grid=grid,
        setting=setting,
        n_features=d,
        used=int(np.count_nonzero(diagonal(Sigma))),
        quantile=quantile,
        forget=steps_to_forget(
            moves, rows[:, kept], model.Theta_[kept], grid.spacing, mu, _KEPT * error
        ),
        ending=_ending(totals.phi_sum, float(diagonal(Sigma).sum()), delta),
        approximation=4.0 / 3.0 * float(wasserstein(model.predict(rows), twice, weights=mu)),
        where="of the grid; what features miss, lincat evaluate and its validation show",
        notes=_cautions(model, found.count),
    )
    return _plan(known, error, confidence)


@reachable
def plan_setting(setting: Setting, *, error: float, confidence: float = 0.95) -> SamplePlan:
    """Return what the paper's theorems say where nothing is known but their constants.

    Examples
    --------
    >>> import lincat
    >>> from lincat.inference.planning import plan_setting
    >>> setting = lincat.Setting(0.9, 40, lambda_min=0.1, norm_V1=5.0, norm_V2=10.0)
    >>> plan_setting(setting, error=0.5).needs[0].way
    'Thm whp_error_linear_ctd'
    """
    error, confidence = _checked(error, confidence)
    step, bound = _theorem(setting, error, confidence)
    root = replace(bound, terms=(bound.terms[0],))
    notes = (
        "Only constants are given: this is the theorem's worst case, with the constant that "
        "measurement asks for. A sample of transitions gives a number that is usually far smaller.",
    )
    return SamplePlan(
        gamma=setting.gamma,
        error=error,
        confidence=confidence,
        grid=None,
        intervals=setting.intervals,
        step_size=step,
        last_step=step,
        transitions=math.ceil(bound.value),
        least=math.ceil(root.value),
        approximation=None,
        needs=(_theorem_need(setting, bound, step),),
        notes=notes,
    )


# ---------------------------------------------------------------------------------- the numbers


def _plan(known: _Known, error: float, confidence: float) -> SamplePlan:
    R, setting = known.setting.max_squared_norm, known.setting
    least = max((known.quantile / error) ** 2, 1.0)

    def step(t: int) -> float:
        return auto_step(t, largest=R, ending=known.ending, n_features=known.n_features)

    constant = 0.5 * step(0)  # what variance reduction takes, and keeps
    tail = max(_TAIL * least, 2.0 * updates_with_sum(step, known.forget))
    reduced = max(_REDUCED * least, 2.0 * known.forget / constant, _EPOCHS)
    batch = max(_BATCH * least, _PER_FEATURE * known.used)
    alpha, bound = _theorem(setting, error, confidence)
    N = math.ceil(tail)
    noise = f"{_TAIL:g} x the least: an average of the second half"
    start = f"until the start is forgotten: steps must add up to {known.forget:.3g}"
    needs = (
        Need(
            "LinearCTD, step_size='auto'",
            f"{step(0):.3g}, falling to {step(N):.3g}",
            N,
            noise if _TAIL * least >= tail else start,
        ),
        Need(
            "VarianceReducedCTD",
            f"{constant:.3g}",
            math.ceil(reduced),
            _reason(
                reduced,
                {_REDUCED * least: f"{_REDUCED:g} x the least", _EPOCHS: "its first epochs"},
                start,
            ),
        ),
        Need(
            "CategoricalLSTD (lincat evaluate)",
            "",
            math.ceil(batch),
            f"{_BATCH:g} x the least"
            if _BATCH * least >= batch
            else f"{_PER_FEATURE:g} for each of {known.used:,} features",
        ),
        Need(
            "least possible (asymptotic)",
            "",
            math.ceil(least),
            f"the {confidence:.0%} quantile of √N x error is {known.quantile:.3g}",
        ),
        _theorem_need(setting, bound, alpha),
    )
    notes = list(known.notes)
    fewest = min(needs[:3], key=lambda need: need.transitions)
    if fewest.transitions * 3 < N:
        notes.append(
            f"Step by step is slow with these features: {fewest.way} needs the fewest transitions."
        )
    if known.approximation > error:
        notes.append(
            f"The approximation error {known.approximation:.3g} ({known.where}) is above the "
            "target: more transitions will not help, better features or a finer grid may."
        )
    limit = stable_step(R, 1.0)
    notes.append(f"Steps up to 1/R = {limit:.3g} are stable, R = {R:.3g} the largest ‖phi‖².")
    return SamplePlan(
        gamma=setting.gamma,
        error=error,
        confidence=confidence,
        grid=known.grid,
        intervals=known.grid.intervals,
        step_size=step(0),
        last_step=step(N),
        transitions=N,
        least=math.ceil(least),
        approximation=known.approximation,
        needs=needs,
        notes=tuple(notes),
    )


def _reason(number: float, reasons: dict[float, str], otherwise: str) -> str:
    """What decided a number: the one that it is."""
    return reasons.get(number, otherwise)


def _theorem(setting: Setting, error: float, confidence: float) -> tuple[float, Bound]:
    """The step of the user's features and the T of Thm whp_error_linear_ctd, along a walk.

    The step that balances its terms; its own range shrinks with log T, and so does the step.
    """
    unit, delta, limit = setting.unit_norm(), 1.0 - confidence, 1.0
    alpha = bounds.instance_step(unit)
    for _ in range(20):
        bound = bounds.whp_sample_size(unit, error=error, delta=delta, step=alpha)
        limit = unit.contraction / (38.0 * math.log(max(bound.total, 2.0) / delta**2))
        if alpha < limit:
            break
        alpha = 0.9 * limit
    if unit.mixing_time > 1.0:
        bound = bounds.markov_sample_size(unit, error=error, delta=delta, step=alpha)
    return alpha / setting.max_squared_norm, bound


def _theorem_need(setting: Setting, bound: Bound, step: float) -> Need:
    walk = f", mixing time {setting.mixing_time:.3g}" if setting.mixing_time > 1.0 else ""
    why = f"worst case, its constant {bound.constant:g}; largest term: {bound.dominant.name}{walk}"
    if bound.violations:
        why = f"{why}; not promised, as {', '.join(bound.violations)}"
    return Need("Thm whp_error_linear_ctd", f"{step:.3g}", math.ceil(bound.value), why)


# -------------------------------------------------------------------------------------- pieces


def _checked(error: float, confidence: float) -> tuple[float, float]:
    share = check_number(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
    return check_number(error, "error", low=0.0, low_open=True), share


def _intervals(problem: Problem, error: float, given: int | None) -> tuple[int, float]:
    """K and the approximation error: the first K with a quarter of the target, or no better one."""
    least = math.ceil(1.0 / (1.0 - problem.gamma) - 1e-9)
    tried = [K for K in _INTERVALS if K >= least] or [least]
    before = math.inf
    for K in tried if given is None else [given]:
        place = (problem.process, problem.Phi, problem.grid(K), problem.gamma)
        gap = approximation_error(*place, refinement=4).wasserstein
        if gap <= _KEPT * error or gap > 0.9 * before:
            break
        before = gap
    return K, gap


def _independent(problem: Problem) -> Problem:
    """The problem with dense features of the states that are visited; a table has one for each."""
    Phi = problem.Phi.toarray() if scipy.sparse.issparse(problem.Phi) else problem.Phi
    used = problem.process.stationary @ Phi**2 > 0.0
    return replace(problem, Phi=np.ascontiguousarray(Phi[:, used]))


def _quantile(
    draws: Iterable[FloatArray], Phi: FloatArray, spacing: float, mu: FloatArray, share: float
) -> float:
    """A quantile of W1,mu over draws of errors of Theta, (d, K) each."""
    return float(np.quantile([mean_w1(Phi @ one, spacing, mu) for one in draws], share))


def _states(model: CategoricalLSTD, Sigma: Any) -> tuple[FloatArray, FloatArray]:
    """Features of states seen and their shares: of a table the most frequent, or a sample."""
    if is_diagonal(Sigma):
        shares = diagonal(Sigma)
        used = np.argsort(-shares, kind="stable")[:_ROWS]
        used = used[shares[used] > 0.0]
        rows = np.zeros((len(used), len(shares)))
        rows[np.arange(len(used)), used] = 1.0
        return rows, shares[used] / shares[used].sum()
    sample = model.sampled_features()
    rows = dense(sample[:: max(sample.shape[0] // _ROWS, 1)])
    return rows, np.full(len(rows), 1.0 / len(rows))


def _ending(phi_sum: FloatArray, squared: float, delta: FloatArray) -> float:
    """The mean of ‖phi‖²(1 − δ), with a mean discount by how large features are in each group."""
    size = np.abs(phi_sum).sum(axis=1)
    share = size / max(float(size.sum()), 1e-300)
    return float(squared * (1.0 - share @ delta))


def _cautions(model: CategoricalLSTD, count: int) -> tuple[str, ...]:
    from lincat.solvers.influence import CAUTIONS

    said = [CAUTIONS[word] for word in model.ensemble_.cautions]
    return (f"Estimated from {count:,} transitions.", *said)
