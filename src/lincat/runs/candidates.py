"""Plans that may be tried for numbers: about a potential or not, of which sizes, with which steps.

Numbers, with or without texts among them, get smooth features, and returns are learned about a
potential V, a richer function of the same numbers: the distributions of G − V(s) are alike, so that
few features say how they differ. Where returns jump from one state to the next (an episode about to
end), the jumps of G − V(s) are as hard as V itself; then features of G alone, and rewards of
several steps, do better. Where V varies sharply, it needs many narrow bumps, and so does the scale
(see ``features/nearby.py``); elsewhere these only add noise, and there are no more than V's own
errors speak for. About such a V, rewards may be summed over most of the horizon: within a sum its
errors telescope, where from one step to the next they would be taken for chance. In any case some
features are levels of V (see ``features/levels.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from lincat._typing import FloatArray
from lincat.data.mixed import is_mixed
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.features._base import Features
from lincat.features.levels import Levels
from lincat.features.mixed import Mixed
from lincat.features.nearby import Nearby
from lincat.features.smooth import Smooth
from lincat.runs.plan import PSEUDO_ROWS, Plan
from lincat.runs.potential import Potential
from lincat.runs.relevance import importance_of
from lincat.runs.scale import Scale

_MOST_NARROW = 2500  # bumps
_MOST_ALONG = 1000  # of a potential that is there for its levels alone
_FEW_ROWS = 50_000  # up to which such a potential is a wide one
_FEW_NUMBERS = 8  # of which narrow bumps are made; among more, hardly anything is near
_MOST_WIDE = 500  # bumps that all reach everywhere, instead
_NARROW_PSEUDO = 1.0  # rows that a ridge of narrow bumps weighs as much as
_STEPS = 0.2  # of the horizon: rewards of so many steps are summed, where steps are long
_FAR = 0.8  # likewise about a potential with narrow bumps
_BEGINNINGS = 0.1  # of the observations that bumps are spread over, if records begin somewhere
_HALVINGS = 2  # of the number of narrow bumps of a potential
_BY_CHANCE = 3.0  # times the noise that half the bumps save: V may move as far by chance
_COMPARED = 2000  # observations where that is looked at
_FEWEST_RECORDS = 20  # of which one says where they begin: others may have been cut


class Sizes(NamedTuple):
    """How many bumps, for at most so many rows; pairs: those, and levels of V."""

    rows: float
    potential: int
    scale: int
    rest: tuple[int, int]  # what is learned about the potential, in units of the scale
    sharp: tuple[int, int]  # that, where potential and scale vary sharply
    plain: tuple[int, int]  # not about a potential


SIZES = (
    Sizes(5_000, 64, 32, (16, 8), (16, 8), (64, 16)),
    Sizes(50_000, 100, 64, (20, 16), (20, 16), (250, 30)),
    Sizes(math.inf, 250, 100, (32, 20), (80, 24), (400, 30)),
)


def sizes_for(rows: int) -> Sizes:
    """Return how many bumps suit so many rows."""
    return next(sizes for sizes in SIZES if rows <= sizes.rows)


class Narrow(NamedTuple):
    """How many narrow bumps, where returns vary sharply."""

    potential: int
    scale: int

    @classmethod
    def of(cls, rows: int) -> Narrow:
        """As many as suit so many rows."""
        return cls(*(min(round(a * math.sqrt(rows)), _MOST_NARROW) for a in (5.5, 3.0)))


class Lengths(NamedTuple):
    """How many steps are summed: the fewest, and more without and about a potential."""

    short: int
    long: int
    far: int


_Key = TypeVar("_Key")
_Made = TypeVar("_Made")


class _Once(Generic[_Key, _Made]):
    """What is made once for each key, though plans that need it are fitted side by side."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: dict[_Key, Lock] = {}
        self._made: dict[_Key, _Made] = {}

    def made(self, key: _Key, make: Callable[[], _Made]) -> _Made:
        """Return what was made for the key, now or before."""
        with self._lock:
            own = self._locks.setdefault(key, Lock())
        with own:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]


class Pilot:
    """The first steps, of ``rows`` in all, that plans are fitted to; what they share, once."""

    def __init__(self, steps: Steps, gamma: float, rows: int) -> None:
        self.steps, self.gamma = steps, gamma
        self._mixed = is_mixed(steps.observation)
        self._near = not self._mixed and np.prod(steps.observation.shape[1:]) <= _FEW_NUMBERS
        self.ridge = PSEUDO_ROWS / rows
        self._narrow_ridge = _NARROW_PSEUDO / rows if self._near else self.ridge
        self._features = _Once[tuple[int, int, bool], Features]()
        self._potentials = _Once[tuple[int, bool, bool], Potential]()

    @cached_property
    def importance(self) -> FloatArray | None:
        """How much each number counts."""
        return None if self._mixed else importance_of(self.steps, self.gamma)

    @cached_property
    def observations(self) -> Any:
        """The observations, at least a tenth of them such that a record begins with.

        From there figures are asked for. In long records they are rare, and no bump would be near,
        so they are repeated.
        """
        seen, first = self.steps.observation, self.steps.begins()
        more = math.ceil((_BEGINNINGS * len(seen) - len(first)) / (1.0 - _BEGINNINGS))
        if more <= 0 or len(first) < _FEWEST_RECORDS:
            return seen
        return np.concatenate([seen, seen[np.resize(first, more)]])

    def summed(self, n: int) -> Steps:
        """Return the steps, n as one each time."""
        return self.steps if n == 1 else joined(list(n_step([self.steps], n, self.gamma)))

    def ridge_of(self, narrow: bool) -> float:
        """The ridge of a function with narrow bumps, or with wide ones."""
        return self._narrow_ridge if narrow else self.ridge

    def smooth(self, bumps: int, seed: int = 0, *, narrow: bool = False) -> Features:
        """Fit features with so many bumps."""
        key = bumps, seed, narrow
        return self._features.made(key, lambda: self._smooth(*key))

    def _smooth(self, bumps: int, seed: int, narrow: bool) -> Features:
        if narrow and not self._near:
            bumps = min(bumps // 2, _MOST_WIDE)
        features: Features
        if self._mixed:
            features = Mixed(bumps=bumps, seed=seed)
        else:
            form = Nearby if narrow and self._near else Smooth
            features = form(bumps=bumps, importance=self.importance, seed=seed)
        return features.fit(self.observations)

    def potential(self, bumps: int, *, narrow: bool = False, fewer: bool = False) -> Potential:
        """Fit a potential with so many bumps; of narrow ones with ``fewer``, where they will do."""
        key = bumps, narrow, fewer
        return self._potentials.made(key, lambda: self._potential(*key))

    def _potential(self, bumps: int, narrow: bool, fewer: bool) -> Potential:
        if narrow and fewer and self._near:
            return self._as_fine_as_needed(bumps)
        about = self.smooth(bumps, seed=1, narrow=narrow)
        return Potential.fit(about, [self.steps], self.gamma, ridge=self.ridge_of(narrow))

    def _as_fine_as_needed(self, bumps: int) -> Potential:
        """A potential with so many narrow bumps, or half as many, while that changes nothing.

        V of few bumps is biased, V of many is noisy (Lepski 1991). Where the coarser one has no
        bias, the mean square of their difference is that of the noise that it does not have; where
        it is several times that, the finer one sees something.
        """
        seen = self.steps.observation
        sample = seen[:: -(-len(seen) // _COMPARED)]
        fine = self._narrow(bumps)
        for _ in range(_HALVINGS):
            bumps //= 2
            coarse = self._narrow(bumps)
            apart = float(np.mean((fine.values(sample) - coarse.values(sample)) ** 2))
            if not apart <= _BY_CHANCE * (fine.mean_square(sample) - coarse.mean_square(sample)):
                break
            fine = coarse
        return fine

    def _narrow(self, bumps: int) -> Potential:
        about = self.smooth(bumps, seed=1, narrow=True)
        return Potential.fit_with_errors(about, self.steps, self.gamma, ridge=self.ridge_of(True))


class Candidate(NamedTuple):
    """A plan before it is fitted: bumps of potential, scale and features, and levels.

    Without a scale returns are not learned about the potential: it is there for its levels alone.
    """

    narrow: bool  # the bumps of potential and scale
    potential: int
    scale: int
    bumps: int
    levels: int
    n_step: int

    def plan(self, pilot: Pilot) -> Plan:
        """Fit it."""
        steps = pilot.steps
        # Levels are no worse for some noise in V.
        potential = pilot.potential(self.potential, narrow=self.narrow, fewer=self.scale > 0)
        features = Levels(
            pilot.smooth(self.bumps),
            potential.features,
            potential.weights,
            potential.offset,
            levels=self.levels,
        ).fit(pilot.observations)
        width = features.n_features_
        summed = "" if self.n_step == 1 else f", and rewards of {self.n_step} steps"
        if not self.scale:
            reason = (
                f"{width} smooth features of the numbers{summed}: held-out returns are met better "
                f"than by distributions about a potential.{_said(features.beside)}"
            )
            return Plan(features, None, None, self.n_step, pilot.ridge, reason)
        units = pilot.smooth(self.scale, seed=2, narrow=self.narrow)
        ridge = pilot.ridge_of(self.narrow)
        steps = pilot.summed(self.n_step)
        scale = Scale.fit(units, steps, potential, pilot.gamma, ridge=ridge)
        if scale is not None:
            scale = scale.contracting(features, steps, pilot.gamma, ridge=pilot.ridge)
        units_said, width_said = "", ""
        if scale is not None:
            units_said, width_said = ", in units of a scale", f", the scale {units.n_features_}"
        about = potential.features
        reason = (
            f"Distributions about a potential V{units_said}, so that states share a narrow grid: "
            f"V has {about.n_features_} smooth features{width_said}, what is left {width}{summed}."
            f"{_said(about)}"
        )
        return Plan(features, potential, scale, self.n_step, pilot.ridge, reason)


def _said(features: Features) -> str:
    """What was done about texts and missing numbers."""
    return f" {features.describe()}" if isinstance(features, Mixed) else ""


def candidates_for(rows: int, lengths: Lengths) -> list[Candidate]:
    """What may be tried with so many rows, the first by default."""
    sizes = sizes_for(rows)
    narrow = Narrow.of(rows)
    centred = [
        Candidate(False, sizes.potential, sizes.scale, *sizes.rest, lengths.short),
        *(Candidate(True, *narrow, *sizes.sharp, n) for n in sorted({lengths.short, lengths.far})),
    ]
    # Levels of a V that follows the chance of few rows repeat it.
    along = (True, min(narrow.potential, _MOST_ALONG))
    if rows <= _FEW_ROWS:
        along = (False, sizes.potential)
    plain = [Candidate(*along, 0, *sizes.plain, n) for n in sorted({lengths.short, lengths.long})]
    return [*centred, *plain]


def lengths_for(pilot: Steps, gamma: float, given: int | None = None) -> Lengths:
    """Return how many steps are summed, by how long rewards count.

    That is until the discount or the episode ends. A number that is given is the only one. Rows
    with weights are taken one at a time: what several count together depends on what weights are.
    """
    if given is not None:
        return Lengths(given, given, given)
    if pilot.weighted:
        return Lengths(1, 1, 1)
    ends = int(pilot.terminated.sum())
    horizon = min(
        1.0 / (1.0 - gamma) if gamma < 1.0 else math.inf, len(pilot) / ends if ends else math.inf
    )
    breaks = int((pilot.terminated | pilot.truncated).sum()) + 1
    if not 10.0 <= horizon < math.inf or len(pilot) / breaks < 2.0:
        return Lengths(1, 1, 1)
    return Lengths(1, max(2, round(_STEPS * horizon)), round(_FAR * horizon))
