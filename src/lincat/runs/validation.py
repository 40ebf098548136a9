"""Checking what was learned: against rollouts, against what was held out, or exactly."""

from __future__ import annotations

import math

import numpy as np

from lincat._arguments import fail
from lincat.data.steps import Steps
from lincat.environments.rollouts import rollouts
from lincat.inference.validate import validate
from lincat.inference.validation import Validation
from lincat.processes.problem import Problem
from lincat.runs.config import EvaluationConfig
from lincat.runs.holding_out import REST
from lincat.runs.known_returns import return_weights, said_of_weights
from lincat.runs.model import Model
from lincat.runs.realised import realised_returns
from lincat.runs.shown import ShownStates
from lincat.runs.site import stretches
from lincat.runs.sources import Opened
from lincat.solvers.returns import true_returns

# Of what is missing of a return where no record is long enough: it is then drawn from the model.
_DRAWN = 0.5
_NEARLY_ALL = 0.95  # of the returns must be known, where episodes end, to leave the others out
_MOST_SCORED = 4_000  # of these, without being asked for
_ROLLOUTS = 4_000  # without being asked for
_MOST_STEPS = 1_500_000  # of rollouts one by one, without being asked for
# Rollouts from one state: enough to see its own distribution.
_PER_STATE = 200


def check_model(
    model: Model, shown: ShownStates, opened: Opened, config: EvaluationConfig, held: Steps | None
) -> Validation | None:
    """Return how the model compares with returns that it did not learn from."""
    if config.validate == 0:
        return None
    if opened.problem is not None:
        return _exactly(model, opened.problem, config)
    if opened.environment is not None:
        return _by_rollouts(model, shown, opened, config)
    return None if held is None else _by_held_out(model, shown, held, opened.gamma, config)


def _exactly(model: Model, problem: Problem, config: EvaluationConfig) -> Validation:
    states = np.arange(problem.process.n_states)
    distribution = model.predict(states)
    truth = true_returns(problem.process, problem.gamma, distribution.grid)
    # States count as often as they are visited; those that never are say nothing.
    visits = problem.process.stationary_distribution(allow_periodic=True)
    seen = visits > 0.0
    return validate(
        distribution[seen],
        distribution.grid.atoms,
        weights=visits[seen, None] * np.maximum(truth.pmf[seen], 0.0),
        groups=[problem.state_names[s] for s in states[seen]] if seen.sum() <= 24 else None,
        tail=config.level,
    )


def _by_rollouts(
    model: Model, shown: ShownStates, opened: Opened, config: EvaluationConfig
) -> Validation:
    wanted = _ROLLOUTS if config.validate is None else config.validate
    per_state = min(_PER_STATE, max(1, math.isqrt(wanted)))
    found = rollouts(
        opened.environment,
        opened.policy,
        gamma=opened.gamma,
        n_states=max(1, wanted // per_state),
        per_state=per_state,
        most_steps=_MOST_STEPS if config.validate is None else None,
        seed=config.seed,
        env_options=config.env_options,
        trust_pickle=config.trust_pickle,
    )
    return validate(
        model.predict(found.observation),
        found.returns,
        groups=shown.nearest(found.observation),
        tail=config.level,
        method="rollouts",
        description=found.method,
    )


def _by_held_out(
    model: Model, shown: ShownStates, held: Steps, gamma: float, config: EvaluationConfig
) -> Validation:
    weights = return_weights(held)
    returns, usable = realised_returns(held, model, REST)
    drawn = not usable.any()
    if drawn:
        returns, usable = realised_returns(held, model, _DRAWN, drawn=True)
    elif held.terminated.any() and usable.mean() < _NEARLY_ALL:
        # Of what was cut off, only what had ended soon is known: no fair sample. All of it is one.
        drawn = True
        returns, usable = realised_returns(held, model, 1.0, drawn=True)
    if weights is not None:
        usable &= weights > 0.0
    chosen = np.flatnonzero(usable)[: config.validate]
    if config.validate is None:  # neighbours share most of their returns
        chosen = chosen[:: -(-max(len(chosen), 1) // _MOST_SCORED)]
    known = model.features.knows(held.observation[chosen])
    new, chosen = int((~known).sum()), chosen[known]
    if len(chosen) == 0:
        reason = "all of states never seen before" if new else "their record breaks off too early"
        raise fail(
            "validate",
            "held-out steps whose returns are known",
            f"none among {len(held):,}, {reason}",
            "hold out more, or leave validation out",
        )
    stretch = stretches(held, gamma)
    observations = held.observation[chosen]
    left_out = f" ({new:,} more, of states never seen before, were left out)" if new else ""
    completed = ", completed by the model where records break off" if drawn else ""
    own = None if weights is None else weights[chosen]
    return validate(
        model.predict(observations),
        returns[chosen],
        weights=own,
        groups=shown.nearest(observations),
        blocks=stretch[chosen].tolist(),
        tail=config.level,
        method="held_out",
        description=f"{len(chosen):,} held-out returns{said_of_weights(own)}{left_out}{completed}",
    )
