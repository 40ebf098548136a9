"""Returns that a record realised, with the model's own word for what lies after its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lincat._typing import BoolArray, FloatArray
from lincat.data.steps import Steps
from lincat.runs.known_returns import known_returns
from lincat.runs.model import Model


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
    returns, _, usable = known_returns(replace(steps, reward=reward), gamma, tolerance)
    return returns, usable
