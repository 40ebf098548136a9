"""A trial of plans: which one meets returns best that none was fitted to.

There are two scores, on the last part of the pilot (of few rows, on each part in turn), in standard
deviations of each state: the CRPS, of the whole distribution, and the pinball loss of its 5 %
quantile. Most of the CRPS is the chance of the returns themselves, which hides what becomes of a
tail: an atom at the worst return that is smeared, for instance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lincat._typing import FloatArray, IntArray
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.inference import scores
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.candidates import Candidate, Pilot
from lincat.runs.held_out import SpreadHoldOut
from lincat.runs.model import Model
from lincat.runs.plan import Plan, whole_steps
from lincat.runs.realised import realised_returns

_TRAINED = 0.7  # of the pilot
_FOLDS = 3  # of a pilot that is short, each of which is left out in turn
_SHORT = 10_000  # rows
_INTERVALS = 200
_TOLERANCE = 1e-6
_SCORED = 4_000  # returns that are scored, at most
_FEWEST = 100  # returns from which a trial says anything
_REST = 0.05  # weight of what is missing of a return at most
_BETTER = np.array([2.0, 3.0])  # standard errors by which another must win, in either score
_LEVEL = 0.05  # of the quantile
_SMALLEST_SD = 0.1  # of the pooled one; errors are measured in no less


def trial(pilot: Steps, gamma: float, candidates: list[Candidate]) -> int:
    """Return the number of the candidate that meets returns best which it was not fitted to.

    The first one, unless another does better in one of the scores by more than its standard error
    says is chance, in neither worse by as much, and better on the whole.
    """
    found = [_compared(train, held, gamma, candidates) for train, held in _splits(pilot)]
    better = np.concatenate([gains for gains, _ in found], axis=2)
    if better.shape[2] < _FEWEST:
        return 0
    records = np.cumsum([0, *(record.max(initial=-1) + 1 for _, record in found[:-1])])
    record = np.concatenate([own + first for (_, own), first in zip(found, records, strict=True)])
    best, most = 0, 0.0
    for i, gains in enumerate(better, start=1):
        mean = gains.mean(axis=1)
        chance = _BETTER * np.array([_clustered_error(gain, record) for gain in gains])
        if (mean > chance).any() and (mean > -chance).all() and mean.sum() > most:
            best, most = i, float(mean.sum())
    return best


def _splits(pilot: Steps) -> list[tuple[Steps, Steps]]:
    """What is learned from and what is left out: of few rows each part in turn, else the last."""
    n = len(pilot)
    if n > _SHORT:
        begin = int(_TRAINED * n)
        return [(pilot[:begin], pilot[begin:])]
    splits = []
    for i in range(_FOLDS):
        fold = SpreadHoldOut.at([i * n // _FOLDS, (i + 1) * n // _FOLDS])
        train = list(fold.passing([pilot]))
        if train and fold.kept is not None and len(fold.kept):
            splits.append((joined(train), fold.kept))
    return splits


def _compared(
    train: Steps, held: Steps, gamma: float, candidates: list[Candidate]
) -> tuple[FloatArray, IntArray]:
    """How much better than the first the others meet returns, and the record that each is from.

    Shapes (candidates − 1, 2, n), for both scores, and (n,), in standard deviations of each state.
    """
    nothing = np.zeros((len(candidates) - 1, 2, 0)), np.zeros(0, dtype=np.int64)
    pilot = Pilot(train, gamma, len(train))
    models = [_fitted(candidates[0].plan(pilot), train, gamma)]
    returns, usable = realised_returns(held, models[0], _REST)
    rows = np.flatnonzero(usable)
    if len(rows) < _FEWEST // _FOLDS:
        return nothing
    rows = rows[:: -(-len(rows) // _SCORED)]
    models += [_fitted(other.plan(pilot), train, gamma) for other in candidates[1:]]
    found = returns[rows]
    scored, spread = [], []
    for model in models:
        predicted = model.predict(held.observation[rows]).proper()
        whole = scores.crps(predicted.cdf_values, predicted.grid, found[:, None])[:, 0]
        scored.append([whole, scores.pinball(predicted.quantile(_LEVEL), found, _LEVEL)])
        spread.append(predicted.std())
    unit = np.maximum(np.median(spread, axis=0), _SMALLEST_SD * found.std())
    if not (unit > 0.0).all():
        return nothing
    return (scored[0] - np.array(scored[1:])) / unit, _record_of(held)[rows]


def _fitted(plan: Plan, steps: Steps, gamma: float) -> Model:
    model = plan.model(
        CategoricalLSTD(gamma=gamma, intervals=_INTERVALS, max_blocks=1, tolerance=_TOLERANCE)
    )
    for part in n_step(_parts(steps), plan.n_step, gamma):
        whole = part if plan.n_step == 1 else whole_steps(part, plan.n_step, gamma)
        model.learner.partial_fit(model.transitions(whole))
    return model


def _parts(steps: Steps, size: int = 8192) -> Iterator[Steps]:
    for begin in range(0, len(steps), size):
        yield steps[begin : begin + size]


def _record_of(steps: Steps) -> IntArray:
    ends = steps.terminated | steps.truncated
    return np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int64)


def _clustered_error(values: FloatArray, record: IntArray) -> float:
    """The standard error of the mean; at least twenty stretches, of one or several records."""
    pieces = np.minimum(np.arange(len(values)) * 20 // len(values), 19)
    groups = record if len(np.unique(record)) >= 20 else pieces
    sums = np.bincount(groups, values - values.mean())
    return float(np.sqrt((sums**2).sum())) / len(values)
