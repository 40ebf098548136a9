"""``lincat.compare``: two runs, or two models, held against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from lincat._arguments import InvalidInputError, check_number, fail
from lincat.core.distribution import ReturnDistribution
from lincat.inference.comparison import Comparison, compare_distributions
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.report.answer_page import incomparable
from lincat.runs.model import DistributionLearner, Model
from lincat.runs.run import Run
from lincat.runs.shown import ShownStates
from lincat.statistics.trace import Trace

#: What can be compared.
Comparable: TypeAlias = Run | Model | CategoricalLSTD | CategoricalLearner | ReturnDistribution


def compare(
    a: Comparable,
    b: Comparable,
    *,
    states: Any = None,
    confidence: float = 0.95,
    level: float = 0.05,
    threshold: float | None = None,
    paired: bool | None = None,
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Return how the return distributions of A and B differ, and how certain that is.

    Intervals hold what ever more data like these lead to, for one state and figure at a time.
    Learned from the same rows, A and B share much of their error, which then cancels; else their
    variances add.

    Parameters
    ----------
    a, b : Run, learner, Model or ReturnDistribution
        With the same gamma, and runs with the same columns of observations.
    states : optional
        Which states to compare in: observations for runs, features for learners (as their
        ``predict`` takes them), or a tuple with what A and B take. By default those that the
        report of run A shows, as far as both know them.
    confidence : float
        In (0, 1).
    level : float
        Of quantile and CVaR.
    threshold : float, optional
        Compare the chances to end below it, too.
    paired : bool, optional
        Whether both learned from the same rows; by default found out from rewards and ends of
        episodes.
    names : tuple of two str

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> walk = lincat.catalog.paper()
    >>> seen = walk.process.sample(20_000, seed=0)
    >>> def learned(cost):
    ...     model = lincat.CategoricalLSTD(gamma=0.75, n_features=3)
    ...     return model.fit(seen.state, seen.reward - cost, seen.next_state)
    >>> found = lincat.compare(learned(0.0), learned(0.1), states=[0], paired=True)
    >>> mean = found["0"]["mean"]
    >>> bool(abs(mean.difference - 0.4) < 1e-6), mean.clear  # 0.1/(1 - gamma), in every run
    (True, True)
    >>> found["0"].first_order.verdict
    'A dominates'
    """
    confidence = check_number(
        confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True
    )
    shown, label = _states_of(a, b, states)
    sides = [
        _side(one, given, confidence, name)
        for one, given, name in zip((a, b), shown, names, strict=True)
    ]
    first, second = sides
    if None not in (first.gamma, second.gamma) and first.gamma != second.gamma:
        raise fail("b", f"gamma {first.gamma:g}, as A has", f"{second.gamma:g}")
    if isinstance(a, Run) and isinstance(b, Run):
        reason = incomparable([a.answer, b.answer], names)
        if reason:
            raise fail("b", "what can be compared with A", reason)
    same = first.trace is not None and first.trace == second.trace
    return compare_distributions(
        first.returns,
        second.returns,
        label or [str(i) for i in range(len(first.returns))],
        paired=same if paired is None else paired,
        confidence=confidence,
        level=level,
        threshold=threshold,
        names=names,
        failed=[side.name for side in sides if side.failed],
    )


def known_states(run: Run, shown: ShownStates) -> ShownStates:
    """Return the states that a run knows, of those that the report of another one shows."""
    names, members = [], []
    for name, member in zip(shown.names, shown.members, strict=True):
        known = run.model.features.knows(member)
        if known.any():
            names.append(name)
            members.append(member[known])
    if not names:
        raise fail("states", "some that both have seen", "none in common")
    return ShownStates(names, members)


@dataclass(frozen=True)
class _Side:
    """What is compared: distributions, and what they belong to."""

    name: str
    returns: ReturnDistribution
    gamma: float | None = None
    failed: bool = False
    trace: Trace | None = None


def _states_of(a: Comparable, b: Comparable, states: Any) -> tuple[tuple[Any, Any], list[str]]:
    """What A and B are asked about, and what these states are called, if they have names."""
    if states is None and isinstance(a, Run) and isinstance(b, Run):
        states = known_states(b, a.shown)
    if isinstance(states, ShownStates):
        return (states, states), states.names
    if isinstance(states, tuple):
        if len(states) != 2:
            raise fail("states", "those of A and those of B", f"a tuple of {len(states)}")
        return (states[0], states[1]), []
    return (states, states), []


def _side(one: Comparable, states: Any, confidence: float, name: str) -> _Side:
    if isinstance(one, ReturnDistribution):
        return _Side(name, one)
    if states is None:
        raise fail("states", "features or observations to compare in", "none")
    if isinstance(one, Run):
        inner = _side(one.model, states, confidence, name)
        returns = inner.returns.proper()  # as everywhere that a run answers
        return _Side(name, returns, inner.gamma, one.trusted is False, inner.trace)
    learner: DistributionLearner
    ask: Any
    if isinstance(one, Model):
        learner = one.learner
        ask = one.predict_shown if isinstance(states, ShownStates) else one.predict
    elif isinstance(one, CategoricalLSTD | CategoricalLearner):
        learner, ask = one, one.predict
    else:
        kinds = "a run, a learner of distributions or distributions"
        raise fail(name, kinds, type(one).__name__)
    trace = None if learner.statistics_ is None else learner.statistics_.trace
    return _Side(name, _with_errors(ask, states, confidence), learner.gamma, False, trace)


def _with_errors(ask: Any, states: Any, confidence: float) -> ReturnDistribution:
    """Distributions with their sampling error, or without where it is not known."""
    try:
        found: ReturnDistribution = ask(states, confidence=confidence)
    except InvalidInputError:
        found = ask(states)
    return found
