"""What to learn from, and how: features, a potential, and the number of steps, by a rule.

Ids, and numbers that take few values, get a table. Other numbers, with or without texts among
them, get smooth features, and returns are learned about a potential V, a richer function of the
same numbers: the distributions of G − V(s) are alike, so that few features say how they differ.
Where returns jump from one state to the next (an episode about to end), the jumps of G − V(s) are
as hard as V itself; then features of G alone, and rewards of several steps, do better. Where V
varies sharply, it needs many bumps, which elsewhere only add noise. Which it is, returns that none
was fitted to decide: the CRPS on the last part of the pilot (of few rows, on each part in turn), in
standard deviations of each state.
In any case some features are levels of V (see ``features/levels.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lincat._typing import FloatArray, IntArray
from lincat.data.mixed import is_mixed, rows_of
from lincat.data.n_step import n_step
from lincat.data.steps import ObservationSpace, Steps, joined
from lincat.features._base import Features
from lincat.features.auto import are_ids
from lincat.features.levels import Levels
from lincat.features.mixed import Mixed
from lincat.features.points import Points
from lincat.features.smooth import Smooth
from lincat.features.tabular import Tabular
from lincat.inference import scores
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.held_out import SpreadHoldOut
from lincat.runs.model import Model
from lincat.runs.potential import Potential
from lincat.runs.realised import realised_returns
from lincat.runs.scale import REWARD_NODES, Scale
from lincat.statistics.block_statistics import Statistics

#: Transitions from which a plan is made.
PILOT = 200_000
#: Rows that a ridge weighs as much as.
PSEUDO_ROWS = 15.0

_MOST_POINTS = 1024  # different points that are still a table
_VISITS = 20  # of each of them, on average, at least
_STEPS = 0.2  # of the horizon: rewards of so many steps are summed, where steps are long
_TRAINED = 0.7  # of the pilot, in a trial
_FOLDS = 3  # of a pilot that is short, each of which is left out in turn
_SHORT = 10_000  # rows
_TRIAL_ROWS = 25_000  # of the pilot, at most
_TRIAL_INTERVALS = 200
_TRIAL_TOLERANCE = 1e-6
_SCORED = 1_000  # returns that a trial is scored on, at most
_FEWEST = 100  # returns from which a trial says anything
_REST = 0.05  # weight of what is missing of a return at most
_BETTER = 2.0  # standard errors by which another candidate must win
_SMALLEST_SD = 0.1  # of the pooled one; errors are measured in no less
_BLOCKS = 32  # of time, of sums in units of a scale
_ENOUGH = 16  # blocks, for errors of figures
_MEMORY = 2**28  # bytes of sums, which every checkpoint writes: wide ones have fewer blocks


class _Sizes(NamedTuple):
    """How many bumps, for at most so many rows; pairs: those, and levels of V."""

    rows: float
    potential: int
    scale: int
    rest: tuple[int, int]  # what is learned about the potential, in units of the scale
    rich: int  # a potential for returns that vary sharply
    plain: tuple[int, int]  # not about a potential


_SIZES = (
    _Sizes(5_000, 64, 32, (16, 8), 128, (64, 16)),
    _Sizes(50_000, 100, 64, (20, 16), 500, (250, 30)),
    _Sizes(math.inf, 250, 100, (32, 20), 600, (400, 30)),
)


@dataclass(frozen=True)
class Plan:
    """How return distributions are going to be learned from a source.

    Attributes
    ----------
    features : Features
        Fitted.
    potential : Potential or None
    scale : Scale or None
        Only with a potential.
    n_step : int
    ridge : float
        Of the learner.
    reason : str
        What was chosen, and why.
    """

    features: Features
    potential: Potential | None
    scale: Scale | None
    n_step: int
    ridge: float
    reason: str

    def model(self, learner: CategoricalLSTD) -> Model:
        """Return a model that has learned nothing, with a learner of that sort."""
        fewer: dict[str, int] = {}
        d = self.features.n_features_
        if self.scale is not None:  # there are sums for each discount, too
            fewer = {"nodes": REWARD_NODES, "max_blocks": min(learner.max_blocks, _BLOCKS)}
        elif not self.features.table and Statistics.nbytes_for(d, n_blocks=_ENOUGH) > _MEMORY:
            fewer = {"nodes": REWARD_NODES}  # of too few blocks no error can be told
        learner = learner.clone().set_params(
            ridge=self.ridge,
            n_features=d,
            memory_limit=_MEMORY,
            **fewer,
        )
        return Model(self.features, learner, self.potential, self.scale)


class _Pilot:
    """Steps that plans are fitted to; a potential is fitted once, for all of them."""

    def __init__(self, steps: Steps, gamma: float, ridge: float) -> None:
        self.steps, self.gamma, self.ridge = steps, gamma, ridge
        self._form = Mixed if is_mixed(steps.observation) else Smooth
        self._potentials: dict[int, Potential] = {}

    def smooth(self, bumps: int, seed: int = 0) -> Features:
        """Fit features with so many bumps."""
        return self._form(bumps=bumps, seed=seed).fit(self.steps.observation)

    def potential(self, bumps: int) -> Potential:
        """Fit a potential with so many bumps."""
        if bumps not in self._potentials:
            about = self.smooth(bumps, seed=1)
            self._potentials[bumps] = Potential.fit(
                about, [self.steps], self.gamma, ridge=self.ridge
            )
        return self._potentials[bumps]


class _Candidate(NamedTuple):
    """A plan before it is fitted: bumps of potential, scale and features, and levels.

    Without a scale returns are not learned about the potential: it is there for its levels alone.
    """

    potential: int
    scale: int
    bumps: int
    levels: int
    n_step: int

    def plan(self, pilot: _Pilot) -> Plan:
        """Fit it."""
        steps, potential = pilot.steps, pilot.potential(self.potential)
        features = Levels(
            pilot.smooth(self.bumps),
            potential.features,
            potential.weights,
            potential.offset,
            levels=self.levels,
        ).fit(steps.observation)
        width = features.n_features_
        if not self.scale:
            summed = "" if self.n_step == 1 else f", and rewards of {self.n_step} steps"
            reason = (
                f"{width} smooth features of the numbers{summed}: held-out returns are met better "
                f"than by distributions about a potential.{_said(features.beside)}"
            )
            return Plan(features, None, None, self.n_step, pilot.ridge, reason)
        units = pilot.smooth(self.scale, seed=2)
        scale = Scale.fit(units, steps, potential, pilot.gamma, ridge=pilot.ridge)
        if scale is not None and not scale.contracts(
            features, steps, pilot.gamma, ridge=pilot.ridge
        ):
            scale = None
        units_said, width_said = "", ""
        if scale is not None:
            units_said, width_said = ", in units of a scale", f", the scale {units.n_features_}"
        about = potential.features
        reason = (
            f"Distributions about a potential V{units_said}, so that states share a narrow grid: "
            f"V has {about.n_features_} smooth features{width_said}, what is left {width}."
            f"{_said(about)}"
        )
        return Plan(features, potential, scale, self.n_step, pilot.ridge, reason)


def _said(features: Features) -> str:
    """What was done about texts and missing numbers."""
    return f" {features.describe()}" if isinstance(features, Mixed) else ""


def choose_plan(
    pilot: Steps, gamma: float, space: ObservationSpace, *, rows: int | None = None
) -> Plan:
    """Return a plan for a source that begins with these steps.

    Parameters
    ----------
    pilot : Steps
        The first steps, or all of them.
    gamma : float
    space : ObservationSpace
    rows : int, optional
        How many there will be in all, if that is known.
    """
    table = table_for(pilot, space)
    if table is not None:
        return Plan(table, None, None, 1, 0.0, f"{table.describe()[:-1]}, nothing to approximate.")
    expected = max(rows or 0, len(pilot))
    long, some = _long_steps(pilot, gamma), pilot[-_TRIAL_ROWS:]
    # Tried at sizes that suit the rows of a trial.
    best = _trial(some, gamma, _candidates(len(some), long))
    chosen = _candidates(expected, long)[best]
    return chosen.plan(_Pilot(pilot, gamma, PSEUDO_ROWS / expected))


def whole_steps(made: Steps, n: int, gamma: float) -> Steps:
    """Give no weight to sums over fewer than n steps, whose record breaks off before.

    So there are two discounts, gamma**n and that of an end, and few sums to keep.
    """
    whole = made.terminated | (made.discounts(gamma) <= gamma**n * (1.0 + 1e-9))
    weight = np.ones(len(made)) if made.weight is None else made.weight
    return replace(
        made,
        weight=np.where(whole, weight, 0.0),
        discount=np.where(whole, made.discounts(gamma), gamma**n),
        record=None,
    )


def table_for(pilot: Steps, space: ObservationSpace) -> Features | None:
    """Return a table, fitted, where observations are ids or take few values; else None."""
    if space.n_states is not None:
        return Tabular(n_states=space.n_states).fit(pilot.observation)
    if are_ids(pilot.observation):
        return Tabular().fit(pilot.observation)
    most = min(_MOST_POINTS, max(len(pilot) // _VISITS, 8))
    if is_mixed(pilot.observation):
        few = len(set(rows_of(pilot.observation))) <= most
        return Tabular().fit(pilot.observation) if few else None
    points = np.asarray(pilot.observation, dtype=np.float64).reshape(len(pilot), -1)
    if len(np.unique(points, axis=0)) <= most:
        return Points(most=_MOST_POINTS).fit(points)
    return None


def _candidates(rows: int, long: int) -> list[_Candidate]:
    """What may be tried with so many rows, the first by default."""
    sizes = next(sizes for sizes in _SIZES if rows <= sizes.rows)
    centred = [
        _Candidate(bumps, sizes.scale, *sizes.rest, 1) for bumps in (sizes.potential, sizes.rich)
    ]
    plain = [_Candidate(sizes.rich, 0, *sizes.plain, n) for n in sorted({1, long})]
    return [*centred, *plain]


def _long_steps(pilot: Steps, gamma: float) -> int:
    """A share of how long rewards count: until the discount or the episode ends."""
    ends = int(pilot.terminated.sum())
    horizon = min(
        1.0 / (1.0 - gamma) if gamma < 1.0 else math.inf, len(pilot) / ends if ends else math.inf
    )
    breaks = int((pilot.terminated | pilot.truncated).sum()) + 1
    if not math.isfinite(horizon) or len(pilot) / breaks < 2.0:
        return 1
    return max(2, round(_STEPS * horizon)) if horizon >= 10.0 else 1


def _trial(pilot: Steps, gamma: float, candidates: list[_Candidate]) -> int:
    """Return the number of the candidate that meets returns best which it was not fitted to.

    The first one, unless another does better by more than its standard error says is chance.
    """
    found = [_compared(train, held, gamma, candidates) for train, held in _splits(pilot)]
    better = np.concatenate([gains for gains, _ in found], axis=1)
    if better.shape[1] < _FEWEST:
        return 0
    records = np.cumsum([0, *(record.max(initial=-1) + 1 for _, record in found[:-1])])
    record = np.concatenate([own + first for (_, own), first in zip(found, records, strict=True)])
    best, most = 0, 0.0
    for i, gain in enumerate(better, start=1):
        if gain.mean() > max(most, _BETTER * _clustered_error(gain, record)):
            best, most = i, float(gain.mean())
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
    train: Steps, held: Steps, gamma: float, candidates: list[_Candidate]
) -> tuple[FloatArray, IntArray]:
    """How much better than the first the others meet returns, and the record that each is from.

    Shapes (candidates − 1, n) and (n,), in standard deviations of each state.
    """
    nothing = np.zeros((len(candidates) - 1, 0)), np.zeros(0, dtype=np.int64)
    pilot = _Pilot(train, gamma, PSEUDO_ROWS / len(train))
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
        scored.append(scores.crps(predicted.cdf_values, predicted.grid, found[:, None])[:, 0])
        spread.append(predicted.std())
    unit = np.maximum(np.median(spread, axis=0), _SMALLEST_SD * found.std())
    if not (unit > 0.0).all():
        return nothing
    return (scored[0] - np.array(scored[1:])) / unit, _record_of(held)[rows]


def _fitted(plan: Plan, steps: Steps, gamma: float) -> Model:
    model = plan.model(
        CategoricalLSTD(
            gamma=gamma, intervals=_TRIAL_INTERVALS, max_blocks=1, tolerance=_TRIAL_TOLERANCE
        )
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
