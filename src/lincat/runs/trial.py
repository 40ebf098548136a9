"""A trial of plans: which one meets returns best that none was fitted to.

There are two scores, on the middle of every part of the pilot (of few rows, on each part in turn),
in standard deviations of each state: the CRPS, of the whole distribution, and the pinball loss of
its 5 % quantile. Most of the CRPS is the chance of the returns themselves, which hides what becomes
of a tail: an atom at the worst return that is smeared, for instance. Both are taken twice: of all
states, and of those that records begin with, from which figures are asked for, and which may be
few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.inference import scores
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.candidates import Candidate, Pilot
from lincat.runs.held_out import SpreadHoldOut, broken_off
from lincat.runs.horizon import parts_of, steps_until_known
from lincat.runs.model import Model
from lincat.runs.plan import Plan, whole_steps
from lincat.runs.realised import realised_returns

_TRAINED = 0.7  # of the pilot
_FOLDS = 3  # of a pilot that is short, each of which is left out in turn
_SHORT = 10_000  # rows
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
    gains : array of shape (plans, 2, n)
        How much better than by the first plan, in both scores, in standard deviations of each
        state.
    record : int array of shape (n,)
        The record that each is from.
    begins : array of bool, shape (n,)
        Whether it is the return from where a record begins.
    """

    gains: FloatArray
    record: IntArray
    begins: BoolArray

    @classmethod
    def joined(cls, parts: list[Compared]) -> Compared:
        """Return several one behind the other, with records of their own."""
        before = np.cumsum([0, *(part.record.max(initial=-1) + 1 for part in parts[:-1])])
        return cls(
            np.concatenate([part.gains for part in parts], axis=2),
            np.concatenate([part.record + n for part, n in zip(parts, before, strict=True)]),
            np.concatenate([part.begins for part in parts]),
        )

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
        return best

    def in_question(self) -> list[int]:
        """Return the plans of which more returns might say that they are the best."""
        if self._says_nothing():
            return list(range(len(self.gains)))
        ahead = max(range(len(self.gains)), key=lambda i: float(self._than(i, 0)[0].sum()))
        kept = []
        for i in range(len(self.gains)):
            mean, error = self._than(i, ahead)
            if not (mean < -_OUT * error).any() or (mean > error).any():
                kept.append(i)
        return kept

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
        found = [(gain[rows], self.record[rows]) for rows in of for gain in gains]
        mean = np.array([gain.mean() for gain, _ in found])
        return mean, np.array([_clustered_error(*one) for one in found])


def compare(
    pilot: Steps, gamma: float, candidates: list[Candidate], *, rows: int | None = None
) -> Compared:
    """Return how candidates meet returns that they were not fitted to.

    ``rows`` of the pilot are tried, from every part of it; all of them where there are few.
    """
    rows = len(pilot) if rows is None else min(rows, len(pilot))
    splits = _in_turn(pilot) if rows <= _SHORT else [_spread(pilot, gamma, rows)]
    return Compared.joined([_compared(split, gamma, candidates) for split in splits])


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
    """So many rows of the pilot: a stretch of every part, whose middle is left out.

    (The last rows would be unlike the others in a log that is sorted, as in what is held out.)
    """
    left_out = rows - int(_TRAINED * rows)
    known = steps_until_known(gamma, _REST, pilot, left_out)
    parts = parts_of(left_out, known, lost=_LOST)
    train, held = [], []
    for i in range(parts):
        middle = (2 * i + 1) * len(pilot) // (2 * parts)
        begin, stop = middle - rows // (2 * parts), middle + rows // (2 * parts)
        first, last = middle - left_out // (2 * parts), middle + left_out // (2 * parts)
        train += [broken_off(pilot[begin:first]), broken_off(pilot[last:stop])]
        held.append(broken_off(pilot[first:last]))
    return _Split(joined(train), held)


def _compared(split: _Split, gamma: float, candidates: list[Candidate]) -> Compared:
    """How returns of what is held are met by candidates that are fitted to the rest."""
    train, held = split.train, joined(split.held)
    no, none = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
    nothing = Compared(np.zeros((len(candidates), 2, 0)), none, no)
    pilot = Pilot(train, gamma, len(train))
    models = [_fitted(candidates[0].plan(pilot), train, gamma)]
    returns, usable = realised_returns(held, models[0], _REST)
    amid = np.cumsum([0, *map(len, split.held)])
    rows, begins = _scored_rows(usable, np.setdiff1d(held.begins(), amid))
    if (~begins).sum() < _FEWEST // _FOLDS:
        return nothing
    models += [_fitted(other.plan(pilot), train, gamma) for other in candidates[1:]]
    found = returns[rows]
    losses, spread = [], []
    for model in models:
        predicted = model.predict(held.observation[rows]).proper()
        whole = scores.crps(predicted.cdf_values, predicted.grid, found[:, None])[:, 0]
        losses.append([whole, scores.pinball(predicted.quantile(_LEVEL), found, _LEVEL)])
        spread.append(predicted.std())
    unit = np.maximum(np.median(spread, axis=0), _SMALLEST_SD * found.std())
    if not (unit > 0.0).all():
        return nothing
    return Compared((losses[0] - np.array(losses)) / unit, _record_of(held)[rows], begins)


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
