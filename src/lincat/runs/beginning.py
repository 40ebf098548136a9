"""The model that a run begins with: features, a potential and a learner, by config or by plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lincat.core.grid import Grid
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.features._base import Features
from lincat.features.auto import choose_features, features_from_name
from lincat.features.lookup import Lookup
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.registry import LEARNERS
from lincat.runs.config import EvaluationConfig
from lincat.runs.model import Model
from lincat.runs.plan import PILOT, Plan, choose_plan
from lincat.runs.sources import Opened

__all__ = ["begin_model", "pilot_rows"]

_WARM_UP = 10_000  # where learning goes step by step
_INTERVALS = 50  # likewise
_MOST_DENSE = 1024  # features whose sums are taken without being asked for
_MOST_ROWS = 5000  # of a table, likewise


def pilot_rows(config: EvaluationConfig) -> int:
    """Return how many transitions a run looks at before it begins."""
    if config.warm_up is not None:
        return config.warm_up
    return PILOT if _from_sums(config) else _WARM_UP


def begin_model(
    sample: Steps, config: EvaluationConfig, opened: Opened
) -> tuple[Model, int, list[str]]:
    """Return a model that has learned nothing, how many steps to sum, and what was chosen."""
    if _from_sums(config):
        plan = _plan(sample, config, opened)
        if config.learner == "lstd" or _sums_fit(plan.features):
            learner = CategoricalLSTD(
                gamma=opened.gamma,
                grid=_given_grid(config) or "auto",
                intervals=config.intervals or "auto",
                ridge=plan.ridge,
                n_features=plan.features.n_features_,
            )
            said = [plan.reason, "Learner: the batch solution (CategoricalLSTD), from sums."]
            return Model(plan.features, learner, plan.potential), plan.n_step, said
        known = f"{plan.features.n_known_:,}"
        said = [f"Learner: Linear-CTD, step by step, as sums of {known} features are too many."]
        features = plan.features if plan.potential is None else _features(sample, config, opened)[0]
    else:
        features, said = _features(sample, config, opened)
    steps = config.n_step or 1
    stepwise = _stepwise(features, sample, config, opened, steps)
    return Model(features, stepwise), steps, [*said, features.describe()]


def _from_sums(config: EvaluationConfig) -> bool:
    """Whether sums are added up, rather than parameters learned step by step, if they fit."""
    return config.learner in ("auto", "lstd")


def _sums_fit(features: Features) -> bool:
    return features.n_known_ <= (_MOST_ROWS if features.table else _MOST_DENSE)


def _plan(sample: Steps, config: EvaluationConfig, opened: Opened) -> Plan:
    by_rule = config.features == "auto" and opened.problem is None
    if not by_rule:
        features, said = _features(sample, config, opened)
        reason = " ".join([*said, features.describe()])
        plan = Plan(features, None, config.n_step or 1, 0.0, reason)
    else:
        plan = choose_plan(sample, opened.gamma, opened.source.space, rows=opened.rows)
        if config.n_step is not None:
            plan = replace(plan, n_step=config.n_step)
    return plan


def _features(
    sample: Steps, config: EvaluationConfig, opened: Opened
) -> tuple[Features, list[str]]:
    space, problem = opened.source.space, opened.problem
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
) -> CategoricalLearner:
    intervals = config.intervals or _INTERVALS
    grid = _given_grid(config)
    if grid is None and opened.problem is not None:
        grid = opened.problem.grid(intervals)
    if grid is None:
        grid = _grid_for(sample, steps, opened.gamma, intervals)
    word = "linear_ctd" if config.learner == "auto" else config.learner
    learner: CategoricalLearner = LEARNERS[word](
        grid=grid,
        gamma=opened.gamma,
        step_size=config.step_size,
        averaging=config.averaging,
        intervals=intervals,
        n_features=features.n_features_,
        dtype=config.dtype,
    )
    return learner


def _grid_for(sample: Steps, n: int, gamma: float, intervals: int) -> Grid:
    """A grid from the whole warm-up, as the learner sees it."""
    steps = sample if n == 1 else joined(list(n_step([sample], n, gamma)))
    discount = np.where(steps.terminated, 0.0, steps.discounts(gamma))
    return Grid.for_transitions(steps.reward, discount, intervals=intervals)
