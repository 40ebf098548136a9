"""The model that a run begins with: features, a potential and a learner, by config or by plan."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.sparse

from lincat._arguments import fail
from lincat.core.grid import Grid, reach
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.features._base import Features
from lincat.features.auto import choose_features, features_from_name
from lincat.features.lookup import Lookup
from lincat.features.tabular import Tabular
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.divergence import DivergenceError
from lincat.learners.registry import LEARNERS
from lincat.learners.schedules import PolynomialDecay, StepSize
from lincat.runs.choosing import choose_plan
from lincat.runs.config import EvaluationConfig
from lincat.runs.model import Model
from lincat.runs.pilot import PILOT, STEPWISE_PILOT
from lincat.runs.plan import Plan
from lincat.runs.sources import Opened
from lincat.runs.warm_start import warm_start
from lincat.statistics.block_statistics import Statistics

_INTERVALS = 50  # where learning goes step by step
_MOST_DENSE = 1024  # features whose sums are taken without being asked for
_MOST_ROWS = 5000  # of a table, likewise
_BESIDE = 2**28  # bytes of sums beside what goes step by step: every checkpoint writes them


def pilot_rows(config: EvaluationConfig) -> int:
    """Return how many transitions a run looks at before it begins."""
    if config.warm_up is not None:
        return config.warm_up
    return PILOT if config.from_sums else STEPWISE_PILOT


def begin_model(
    sample: Steps, config: EvaluationConfig, opened: Opened
) -> tuple[Model, int, list[str]]:
    """Return a model that has learned nothing, how many steps to sum, and what was chosen."""
    if config.from_sums:
        plan = _plan(sample, config, opened)
        if config.learner == "lstd" or sums_fit(plan.features):
            sort = CategoricalLSTD(
                gamma=opened.gamma,
                grid=_given_grid(config) or "auto",
                intervals=config.intervals or "auto",
                keep_last=config.window,
            )
            last = "" if config.window is None else f" of the last {config.window:,} transitions"
            said = [plan.reason, f"Learner: the batch solution (CategoricalLSTD), from sums{last}."]
            return plan.model(sort), plan.n_step, said
        known = f"{_expected(plan.features):,}"
        said = [f"Learner: Linear-CTD, step by step, as sums of {known} features are too many."]
        features = (
            plan.features if plan.potential is None else features_for(sample, config, opened)[0]
        )
    else:
        features, said = features_for(sample, config, opened)
    steps = config.n_step or 1
    stepwise, begins = _stepwise(features, sample[:STEPWISE_PILOT], config, opened, steps)
    return Model(features, stepwise), steps, [*said, features.describe(), *begins]


def check_sums_fit(features: Features, config: EvaluationConfig) -> None:
    """Refuse to sum by parts what is too many features for sums, unless it was asked for."""
    if config.learner == "auto" and not sums_fit(features):
        most = _MOST_ROWS if features.table else _MOST_DENSE
        remedy = "use fewer features, --learner lstd, or neither --workers nor --scheduler"
        raise fail(
            "features", f"at most {most:,}, to be summed", f"{_expected(features):,}", remedy
        )


def check_rows_suffice(features: Features, rows: int, place: str) -> None:
    """Refuse fewer rows than features, which sums of them cannot tell apart."""
    if not features.table and rows < features.n_features_:
        expected = f"at least {features.n_features_:,} rows, for as many features"
        raise fail(place, expected, f"{rows:,}", "use fewer features, or give more rows")


def sums_fit(features: Features) -> bool:
    """Return whether sums over so many features are kept without being asked for."""
    return _expected(features) <= (_MOST_ROWS if features.table else _MOST_DENSE)


def _expected(features: Features) -> int:
    """Features that will be used; a capacity that was asked for is meant to be needed."""
    capacity = features.capacity if isinstance(features, Tabular) else None
    return max(features.n_known_, capacity or 0)


def _sums_beside(features: Features, intervals: int) -> bool:
    """Whether sums cost no more than the steps beside which they are kept, for intervals."""
    if features.table:
        return sums_fit(features)
    small = Statistics.nbytes_for(features.n_features_) <= _BESIDE
    return small and features.n_features_ <= intervals


def _plan(sample: Steps, config: EvaluationConfig, opened: Opened) -> Plan:
    if config.features == "auto" and opened.problem is None and opened.features is None:
        space = opened.source.space
        return choose_plan(sample, opened.gamma, space, rows=opened.rows, n_step=config.n_step)
    features, said = features_for(sample, config, opened)
    reason = " ".join([*said, features.describe()])
    return Plan(features, None, None, config.n_step or 1, 0.0, reason)


def features_for(
    sample: Steps, config: EvaluationConfig, opened: Opened
) -> tuple[Features, list[str]]:
    """Return the features that config asks for, fitted on a sample, and why they were chosen."""
    space, problem = opened.source.space, opened.problem
    if opened.features is not None:
        return opened.features.clone().fit(sample.observation), []
    if config.features == "auto" and problem is not None and not problem.is_tabular:
        return Lookup(problem.Phi).fit(sample.observation), []
    chosen = features_from_name(config.features, config.feature_options, n_states=space.n_states)
    if chosen is not None:
        return chosen.fit(sample.observation), []
    features, reason = choose_features(
        sample.observation, n_states=space.n_states, low=space.low, high=space.high
    )
    return features, [f"Features chosen: {reason}"]


def _given_grid(config: EvaluationConfig) -> Grid | None:
    if config.low is None or config.high is None:
        return None
    return Grid(config.low, config.high, config.intervals or _INTERVALS)


def _stepwise(
    features: Features, sample: Steps, config: EvaluationConfig, opened: Opened, steps: int
) -> tuple[CategoricalLearner, list[str]]:
    """A learner that goes step by step, and where it begins."""
    if steps > 1:
        sample = joined(list(n_step([sample], steps, opened.gamma)))
    given, intervals = _given_grid(config), config.intervals
    start = warm_start(features, sample, opened.gamma, grid=given, intervals=intervals)
    word = "linear_ctd" if config.learner == "auto" else config.learner
    made = LEARNERS[word]
    if start is None:
        intervals = intervals or _INTERVALS
        grid: Grid | str = given or _grid_for(sample, opened.gamma, intervals)
    else:
        intervals = start.grid.intervals
        # An automatic one may grow.
        grid = given or ("auto" if made.settles_at_solution else start.grid)
    forgets = config.window is not None
    learner: CategoricalLearner = made(
        grid=grid,
        gamma=opened.gamma,
        step_size=_constant(features, sample, config, opened.gamma),
        averaging="none" if forgets else config.averaging,
        intervals=intervals,
        n_features=features.n_features_,
        dtype=config.dtype,
        statistics=made.settles_at_solution and not forgets and _sums_beside(features, intervals),
    )
    if start is None:
        return learner, []
    if made.settles_at_solution:
        learner.start_at(start.grid, start.Theta, after=len(sample))
        return learner, [start.reason]
    return learner, []


def _constant(
    features: Features, sample: Steps, config: EvaluationConfig, gamma: float
) -> StepSize:
    """The step; with a window one that forgets: what was learned so long ago counts e^-2.

    A feature that comes up N/d times in N transitions is moved by step R (1 − gamma) each time, as
    it follows itself, R = ‖phi‖².
    """
    if config.step_power is not None:
        return PolynomialDecay(float(config.step_size), config.step_power)
    if config.step_size != "auto" or config.window is None:
        return config.step_size
    phi = features.lookup(sample.observation[:_INTERVALS])
    if phi.ndim == 1:
        longest = 1.0
    else:
        squares = phi.multiply(phi) if scipy.sparse.issparse(phi) else phi * phi
        longest = max(float(np.max(squares.sum(axis=1))), 1e-12)
    used = _expected(features) if features.table else features.n_features_
    rate = 2.0 * used / config.window
    return min(0.75, rate / max(1.0 - gamma, 1e-12)) / longest


def _grid_for(steps: Steps, gamma: float, intervals: int) -> Grid:
    """A grid that all rewards of the warm-up fit on, where it has no solution."""
    discount = np.where(steps.terminated, 0.0, steps.discounts(gamma))
    if not np.isfinite(reach(steps.reward, discount)).all():
        return Grid.for_episodes(steps.reward, discount, intervals=intervals)
    return Grid.for_transitions(steps.reward, discount, intervals=intervals)


def rehearse(model: Model, sample: Steps, batch_size: int) -> None:
    """Have kernels compiled, or read from disk, before the clock starts."""
    stand_in = model.learner.clone()
    if isinstance(stand_in, CategoricalLearner):
        stand_in.warn = False
    # If it diverges, so will the learner, which then says after how many transitions.
    with suppress(DivergenceError):
        rows = model.transitions(sample)
        stand_in.partial_fit(rows, batch_size=min(batch_size, len(rows)))
