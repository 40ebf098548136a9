"""A trial of plans: which one meets returns best that none was fitted to.

There are two scores, on the middle of every part of the pilot (of few rows, on each part in turn),
in standard deviations of each state: the CRPS, of the whole distribution, and the pinball loss of
its 5 % quantile. Most of the CRPS is the chance of the returns themselves, which hides what becomes
of a tail: an atom at the worst return that is smeared, for instance. Both are taken twice: of all
states, and of those that records begin with, from which figures are asked for, and which may be
few.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError
from lincat._threads import one_blas_thread
from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.data.steps import Steps, joined
from lincat.inference import scores
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.candidates import Candidate, Pilot
from lincat.runs.held_out import SpreadHoldOut, broken_off
from lincat.runs.horizon import parts_of, steps_until_known
from lincat.runs.known_returns import return_weights
from lincat.runs.model import Model
from lincat.runs.plan import Plan
from lincat.runs.realised import realised_returns

_TRAINED = 0.7  # of what is tried
_LEFT_OUT = 10.0  # times what is left of it, at most: returns cost nothing beside what is learned
_FOLDS = 3  # of a pilot that is tried whole, each of which is left out in turn
_SHORT = 10_000  # rows of which every part is needed to tell plans apart
_INTERVALS = 200
_TOLERANCE = 1e-6
_SCORED = 4_000  # returns that are scored, at most
_BEGINNINGS = 1_000  # likewise of those from where a record begins
_FEWEST_BEGINNINGS = 20  # from which these say anything
_FEWEST = 100  # returns from which a trial says anything
_REST = 0.05  # weight of what is missing of a return at most
_LOST = 0.1  # of the rows left out, for the sake of returns from others
_BETTER = np.array([2.0, 3.0])  # standard errors by which another must win, in either score
_OUT = 3.0  # standard errors by which one must be behind the best to be out of question
_LEVEL = 0.05  # of the quantile
_SMALLEST_SD = 0.1  # of the pooled one; errors are measured in no less


@dataclass(frozen=True)
class Compared:
    """How n returns are met by several plans.

    Attributes
    ----------
    plans : tuple of int
        The numbers of the plans among the candidates.
    gains : array of shape (plans, 2, n)
        How much better than by the first plan, in both scores, in standard deviations of each
        state.
    record : int array of shape (n,)
        The record that each is from.
    begins : array of bool, shape (n,)
        Whether it is the return from where a record begins.
    weight : array of shape (n,), or None
        How much each counts; None where all count alike.
    """

    plans: tuple[int, ...]
    gains: FloatArray
    record: IntArray
    begins: BoolArray
    weight: FloatArray | None = None

    @classmethod
    def joined(cls, parts: list[Compared]) -> Compared:
        """Return several one behind the other, with records of their own, of the last's plans."""
        before = np.cumsum([0, *(part.record.max(initial=-1) + 1 for part in parts[:-1])])
        plans = parts[-1].plans
        return cls(
            plans,
            np.concatenate([part.only(plans).gains for part in parts], axis=2),
            np.concatenate([part.record + n for part, n in zip(parts, before, strict=True)]),
            np.concatenate([part.begins for part in parts]),
            # Of parts of one log, all have weights or none; those without returns have none.
            _together([part.weight for part in parts]),
        )

    def only(self, plans: tuple[int, ...]) -> Compared:
        """Return the same of some of the plans."""
        rows = [self.plans.index(i) for i in plans]
        return Compared(plans, self.gains[rows], self.record, self.begins, self.weight)

    def best(self) -> int:
        """Return the number of the plan that meets returns best.

        The first one, unless a later one does better in one of the scores by more than its standard
        error says is chance, in none worse by as much, and better on the whole: and so on from that
        one. (Held against the first alone, two that are both far better would be told apart by how
        bad the first one is in a few states.)
        """
        best = 0
        for i in range(1, len(self.gains)):
            mean, error = self._than(i, best)
            chance = np.resize(_BETTER, len(mean)) * error
            if (mean > chance).any() and (mean > -chance).all() and mean.sum() > 0.0:
                best = i
        return self.plans[best]

    def in_question(self) -> tuple[int, ...]:
        """Return the numbers of plans of which more returns might say that they are the best."""
        if self._says_nothing():
            return self.plans
        ahead = max(range(len(self.gains)), key=lambda i: float(self._than(i, 0)[0].sum()))
        kept = []
        for i in range(len(self.gains)):
            mean, error = self._than(i, ahead)
            if not (mean < -_OUT * error).any() or (mean > error).any():
                kept.append(self.plans[i])
        return tuple(kept)

    def _says_nothing(self) -> bool:
        return int((~self.begins).sum()) < _FEWEST

    def _than(self, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """How much better plan i is than plan j, and the standard errors of that, (2 or 4,)."""
        if self._says_nothing():
            return np.zeros(2), np.ones(2)
        of = [~self.begins]
        if self.begins.sum() >= _FEWEST_BEGINNINGS:
            of.append(self.begins)
        gains = self.gains[i] - self.gains[j]
        found = [self._mean(gain, rows) for rows in of for gain in gains]
        mean, error = np.array(found).T
        return mean, error

    def _mean(self, gain: FloatArray, rows: BoolArray) -> tuple[float, float]:
        """The mean over some returns, and its standard error."""
        own, weight = gain[rows], None if self.weight is None else self.weight[rows]
        mean = float(own.mean() if weight is None else np.average(own, weights=weight))
        return mean, _clustered_error(own - mean, self.record[rows], weight)


def compare(
    pilot: Steps, gamma: float, candidates: list[Candidate], *, rows: int | None = None
) -> Compared:
    """Return how candidates meet returns that they were not fitted to.

    ``rows`` of the pilot are tried, from every part of it, and returns of the others are met; a
    pilot without others is tried whole, each third of it left out in turn. Of many rows, the last
    thirds are for plans that the first ones have left in question.
    """
    rows = len(pilot) if rows is None else min(rows, len(pilot))
    if rows < len(pilot):
        return _compared(_spread(pilot, gamma, rows), gamma, dict(enumerate(candidates)))
    left, parts = dict(enumerate(candidates)), list[Compared]()
    for split in _in_turn(pilot):
        if parts and len(left) == 1:  # nothing to tell apart any more
            return Compared.joined(parts).only(tuple(left))
        parts.append(_compared(split, gamma, left))
        if rows > _SHORT:
            left = {i: candidates[i] for i in Compared.joined(parts).in_question()}
    return Compared.joined(parts)


@dataclass(frozen=True)
class _Split:
    """What is learned from, and stretches that are left out, which begin amid a record."""

    train: Steps
    held: list[Steps]


def _in_turn(pilot: Steps) -> list[_Split]:
    """Each part of the pilot left out in turn."""
    n, splits = len(pilot), []
    for i in range(_FOLDS):
        fold = SpreadHoldOut.at([i * n // _FOLDS, (i + 1) * n // _FOLDS])
        train = list(fold.passing([pilot]))
        if train and fold.kept is not None and len(fold.kept):
            splits.append(_Split(joined(train), [fold.kept]))
    return splits


def _spread(pilot: Steps, gamma: float, rows: int) -> _Split:
    """So many rows of the pilot: a stretch of every part, with others in its middle left out.

    (The last rows would be unlike the others in a log that is sorted, as in what is held out.)
    """
    trained = int(_TRAINED * rows)
    left_out = min(len(pilot) - trained, int(_LEFT_OUT * (rows - trained)))
    known = steps_until_known(gamma, _REST, pilot, left_out)
    parts = parts_of(left_out, known, lost=_LOST)
    train, held = [], []
    for i in range(parts):
        middle = (2 * i + 1) * len(pilot) // (2 * parts)
        first, last = middle - left_out // (2 * parts), middle + left_out // (2 * parts)
        begin, stop = first - trained // (2 * parts), last + trained // (2 * parts)
        train += [broken_off(pilot[begin:first]), broken_off(pilot[last:stop])]
        held.append(broken_off(pilot[first:last]))
    return _Split(joined(train), held)


def _compared(split: _Split, gamma: float, candidates: dict[int, Candidate]) -> Compared:
    """How returns of what is held are met by candidates, by number, that are fitted to the rest."""
    train, held = split.train, joined(split.held)
    plans, pilot = tuple(candidates), Pilot(train, gamma, len(train))
    no, none = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
    nothing = Compared(plans, np.zeros((len(plans), 2, 0)), none, no)

    try:
        weight = return_weights(held)
    except InvalidInputError:  # how much returns count is not known: they say nothing
        return nothing

    def model_of(number: int) -> Model:
        return _fitted(candidates[number].plan(pilot), train, gamma)

    # Side by side, each on one core, so that the number of cores changes no bit.
    with one_blas_thread, ThreadPoolExecutor(os.cpu_count()) as pool:
        first = model_of(plans[0])
        returns, usable = realised_returns(held, first, _REST)
        if weight is not None:
            usable &= weight > 0.0
        amid = np.cumsum([0, *map(len, split.held)])
        rows, begins = _scored_rows(usable, np.setdiff1d(held.begins(), amid))
        if (~begins).sum() < _FEWEST // _FOLDS:
            return nothing
        observation, found = held.observation[rows], returns[rows]
        # Not in their order, in which one would wait for the potential that another is fitting.
        others = sorted(plans[1:], key=lambda i: candidates[i].n_step)
        met = pool.map(lambda i: _losses(model_of(i), observation, found), others)
        scored = {plans[0]: _losses(first, observation, found)} | dict(
            zip(others, met, strict=True)
        )
    losses, spread = zip(*(scored[i] for i in plans), strict=True)
    unit = np.maximum(np.median(spread, axis=0), _SMALLEST_SD * found.std())
    if not (unit > 0.0).all():
        return nothing
    gains = (losses[0] - np.array(losses)) / unit
    counts = None if weight is None else weight[rows]
    return Compared(plans, gains, _record_of(held)[rows], begins, counts)


def _losses(model: Model, observation: Any, returns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both scores of what a model says of returns, (2, n), and its standard deviations, (n,)."""
    predicted = model.predict(observation).proper()
    whole = scores.crps(predicted.cdf_values, predicted.grid, returns[:, None])[:, 0]
    tail = scores.pinball(predicted.quantile(_LEVEL), returns, _LEVEL)
    return np.stack([whole, tail]), predicted.std()


def _scored_rows(usable: BoolArray, first: IntArray) -> tuple[IntArray, BoolArray]:
    """Rows whose returns are scored: some of all, and then some where a record begins."""
    rows = _some(np.flatnonzero(usable), _SCORED)
    first = _some(first, _BEGINNINGS)
    first = first[usable[first]]
    begins = np.repeat([False, True], [len(rows), len(first)])
    return np.concatenate([rows, first]), begins


def _some(rows: IntArray, most: int) -> IntArray:
    return rows[:: -(-max(len(rows), 1) // most)]


def _fitted(plan: Plan, steps: Steps, gamma: float) -> Model:
    model = plan.model(
        CategoricalLSTD(gamma=gamma, intervals=_INTERVALS, max_blocks=1, tolerance=_TOLERANCE)
    )
    for part in model.sums_of(_parts(steps), plan.n_step):
        model.learner.partial_fit(model.transitions(part))
    return model


def _parts(steps: Steps, size: int = 8192) -> Iterator[Steps]:
    for begin in range(0, len(steps), size):
        yield steps[begin : begin + size]


def _record_of(steps: Steps) -> IntArray:
    ends = steps.terminated | steps.truncated
    return np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int64)


def _clustered_error(
    deviation: FloatArray, record: IntArray, weight: FloatArray | None = None
) -> float:
    """The standard error of the mean; at least twenty stretches, of one or several records."""
    n = len(deviation)
    pieces = np.minimum(np.arange(n) * 20 // n, 19)
    groups = record if len(np.unique(record)) >= 20 else pieces
    sums = np.bincount(groups, deviation if weight is None else weight * deviation)
    return float(np.sqrt((sums**2).sum())) / (n if weight is None else float(weight.sum()))


def _together(weights: list[FloatArray | None]) -> FloatArray | None:
    known = [x for x in weights if x is not None]
    return np.concatenate(known) if known else None
