"""Whether what is learned step by step has come to rest, and how far it is from where it heads."""

from __future__ import annotations

import numpy as np

from lincat._arguments import InvalidInputError
from lincat.core.distribution import ReturnDistribution
from lincat.core.metrics import wasserstein
from lincat.learners._categorical import CategoricalLearner
from lincat.runs.model import Model
from lincat.runs.shown import ShownStates

#: Standard deviations that an estimate that has settled may still move.
SETTLED = 0.02

_SMALLEST_SD = 0.1  # of the pooled one
_SMALLEST_CELL = 1e-3  # intervals: a spread below that is none


def in_deviations(estimate: ReturnDistribution, other: ReturnDistribution) -> float:
    """Return the largest distance (W1) of a state, in its standard deviations.

    These count as at least a tenth of the pooled one.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.runs.passes import in_deviations
    >>> grid = Grid(0.0, 2.0, intervals=2)
    >>> in_deviations(ReturnDistribution([0.5, 0.5], grid), ReturnDistribution([0.4, 0.5], grid))
    0.10...
    """
    std, mean = other.proper().std(), other.mean()
    pooled = float(np.sqrt((std**2).mean() + mean.var()))
    least = max(_SMALLEST_SD * pooled, _SMALLEST_CELL * other.grid.spacing)
    return float((wasserstein(estimate, other) / np.maximum(std, least)).max())


def moved(model: Model, shown: ShownStates) -> float | None:
    """Return how far the tail average lies from that of all iterates, in standard deviations.

    As far as half of what the first part of learning said differs from the rest. It does not depend
    on how the stream was cut. None for what does not average.
    """
    learner = model.learner
    if not isinstance(learner, CategoricalLearner) or not learner.linear:
        return None
    probe = model.mean_features(shown)
    try:
        overall, begin = learner.predict_overall(probe)
    except InvalidInputError:
        return None
    return in_deviations(overall, learner.predict(probe)) if begin else None


def said_of_passes(model: Model, shown: ShownStates, before: int, in_pass: int) -> list[str]:
    """Say how often a log was read, if more than once, and how far it still moved."""
    if not before:
        return []
    distance = moved(model, shown)
    far = f"; the last half of learning is {distance or 0.0:.2g} standard deviations from all of it"
    return [f"{before + 1} passes over {in_pass:,} transitions{'' if distance is None else far}."]
