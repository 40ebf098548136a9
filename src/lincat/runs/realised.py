"""Returns that a record realised, with the model's own word for what lies after its end."""

from __future__ import annotations

import numpy as np

from lincat._typing import BoolArray, FloatArray
from lincat.data.steps import Steps
from lincat.inference.returns_to_go import returns_to_go
from lincat.runs.model import Model

_FAIR = 0.5  # share of the returns of complete records that must be known


def realised_returns(
    steps: Steps, model: Model, tolerance: float, *, drawn: bool = False
) -> tuple[FloatArray, BoolArray]:
    """Return what came back from each step on, and whether it is known well enough, (n,) each.

    Where the record breaks off, what follows is worth what the model says on average; a return
    counts as known if that has a weight of at most ``tolerance``. (Without it, rewards far from
    zero would bias every return, however small the weight.) With ``drawn`` it is one draw from what
    the model says: if the model is right, such returns are distributed as whole ones, whatever the
    weight; if it is not, the rewards that were seen tell.
    """
    gamma = model.learner.gamma
    breaks = steps.truncated & ~steps.terminated
    breaks[-1:] = ~steps.terminated[-1:]
    rows = np.flatnonzero(breaks)
    following = steps.next_observation[rows]
    known = model.features.knows(following)
    rest = np.zeros(len(rows))
    if known.any():
        after = model.predict(following[known])
        rest[known] = after.proper().sample(1)[:, 0] if drawn else after.mean()
        rest[~known] = rest[known].mean()
    reward = steps.reward.copy()
    reward[rows] += steps.discounts(gamma)[rows] * rest
    returns, usable = returns_to_go(
        reward,
        steps.terminated,
        steps.truncated,
        gamma,
        discount=steps.discount,
        tolerance=tolerance,
    )
    # Where records break off early, mostly what ended soon is known: no fair sample, if anything
    # ends. The last record breaks off wherever the steps end, and says nothing of that.
    ends = np.flatnonzero(steps.terminated | steps.truncated)
    complete = usable[: ends[-1] + 1] if len(ends) else usable[:0]
    if len(complete) and steps.terminated.any() and complete.mean() < _FAIR:
        usable = np.zeros(len(steps), dtype=bool)
    return returns, usable
