"""``lincat.plan``: how many transitions a target error takes, from anything that evaluate reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

from lincat._arguments import check_integer, check_number, fail
from lincat.core.grid import Grid
from lincat.data.steps import Steps, joined
from lincat.features._base import Features
from lincat.inference.planning import SamplePlan, plan_model, plan_problem, plan_setting
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.beginning import features_for
from lincat.runs.choosing import choose_plan
from lincat.runs.config import EvaluationConfig, config_from_dict
from lincat.runs.given import Given, mark_of, words_of
from lincat.runs.model import Model
from lincat.runs.sources import Opened, open_source
from lincat.theory.reachable import reachable
from lincat.theory.setting import Setting

_SAMPLE = 200_000  # transitions that are read
_WARM_UP = 10_000  # that features are fitted on
_LEAST = 200  # below which there are no blocks to estimate errors from
_INTERVALS = 32


def plan(
    source: object,
    *,
    error: float,
    gamma: float | None = None,
    confidence: float = 0.95,
    steps: int | None = None,
    intervals: int | None = None,
    features: str = "auto",
    sampling: Literal["markov", "generative"] = "markov",
    seed: int = 0,
    **options: Any,
) -> SamplePlan:
    """Return step size, number of transitions and K for a target error.

    Parameters
    ----------
    source : path, str, Problem, process, Transitions, frame, environment, or Setting
        A finite process is planned for exactly; of anything else that :func:`evaluate` takes, a
        sample is read and estimated from. A :class:`Setting` gives the constants themselves.
    error : float
        W1,mu to the fixed point that is aimed at, in units of returns.
    gamma : float, optional
        The discount factor; by default 0.99, or that of the process.
    confidence : float
        Share of runs whose error is to be below the target.
    steps : int, optional
        Transitions to read; by default up to 200,000.
    intervals : int, optional
        K; by default as many as keep the grid's own error below a quarter of the target.
    features : str
        As for :func:`evaluate`.
    sampling : "markov" or "generative"
        Whether transitions of a process will come along a walk or independently.
    seed : int
    **options
        Further settings of :func:`evaluate` that say how a source is read: ``columns``, ``format``,
        ``policy``, ``feature_options``, ``on_bad_rows`` and so on.

    Returns
    -------
    SamplePlan
        Its ``needs`` are the rows that ``lincat plan`` prints.

    Examples
    --------
    >>> import lincat
    >>> plan = lincat.plan("paper", error=0.05)
    >>> plan.step_size < 1.0, plan.intervals, plan.least < plan.transitions < 10 * plan.least
    (True, 128, True)
    """
    if isinstance(source, Setting):
        return plan_setting(source, error=error, confidence=confidence)
    words = words_of(source)
    values = {
        "source": [mark_of(source)] if words is None else words,
        "gamma": gamma,
        "steps": steps,
        "features": features,
        "sampling": sampling,
        "seed": seed,
        **options,
    }
    config = config_from_dict({k: v for k, v in values.items() if v is not None}, "plan")
    return plan_config(
        config,
        error=error,
        confidence=confidence,
        intervals=intervals,
        given=Given(source if words is None else None, options.get("policy")),
    )


@reachable
def plan_config(
    config: EvaluationConfig,
    *,
    error: float,
    confidence: float,
    intervals: int | None = None,
    given: Given | None = None,
) -> SamplePlan:
    """Return the plan for what a configuration names."""
    check_number(error, "error", low=0.0, low_open=True)
    if intervals is not None:
        check_integer(intervals, "intervals", low=1)
    opened = open_source(config, given)
    if opened.gamma >= 1.0:
        raise fail("gamma", "a discount factor below 1", opened.gamma, "bounds need one")
    if opened.problem is not None and config.features == "auto":
        return plan_problem(
            opened.problem,
            error=error,
            confidence=confidence,
            intervals=intervals,
            walk=config.sampling == "markov",
        )
    learner = _fitted(config, opened)
    grid, least = learner.grid_, math.ceil(1.0 / (1.0 - opened.gamma))
    if intervals is None:
        asked = max(math.ceil((grid.high - grid.low) / error), least, _INTERVALS)
        intervals = min(asked, max(grid.intervals, least))
    if intervals != grid.intervals:
        learner = learner.solve(grid=Grid(grid.low, grid.high, intervals))
    return plan_model(learner, error=error, confidence=confidence)


def _fitted(config: EvaluationConfig, opened: Opened) -> CategoricalLSTD:
    """The batch solution of a sample of the source."""
    batches = _limited(opened.source.batches(), config.steps or _SAMPLE)
    first: list[Steps] = []
    for steps in batches:
        first.append(steps)
        if sum(map(len, first)) >= _WARM_UP:
            break
    if sum(map(len, first)) < _LEAST:
        got = f"{sum(map(len, first))}"
        raise fail(opened.source.description, f"at least {_LEAST} transitions", got, "record more")
    sample = joined(first)
    features = _features(sample, config, opened)
    learner = CategoricalLSTD(
        gamma=opened.gamma, n_features=features.n_features_ if features.table else None
    )
    model = Model(features, learner)
    for steps in (sample, *batches):
        learner.partial_fit(model.transitions(steps))
    return learner


def _features(sample: Steps, config: EvaluationConfig, opened: Opened) -> Features:
    """The features that evaluate would take for sums."""
    if config.features == "auto" and opened.features is None and opened.problem is None:
        return choose_plan(sample, opened.gamma, opened.source.space, rows=opened.rows).features
    return features_for(sample, config, opened)[0]


def _limited(batches: Iterator[Steps], most: int) -> Iterator[Steps]:
    left = most
    for steps in batches:
        yield steps[:left]
        left -= len(steps)
        if left <= 0:
            return
