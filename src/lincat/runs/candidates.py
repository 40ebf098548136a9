"""Plans that may be tried for numbers: about a potential or not, of which sizes, with which steps.

Numbers, with or without texts among them, get smooth features, and returns are learned about a
potential V, a richer function of the same numbers: the distributions of G − V(s) are alike, so that
few features say how they differ. Where returns jump from one state to the next (an episode about to
end), the jumps of G − V(s) are as hard as V itself; then features of G alone, and rewards of
several steps, do better. Where V varies sharply, it needs many bumps, which elsewhere only add
noise. In any case some features are levels of V (see ``features/levels.py``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lincat.data.mixed import is_mixed
from lincat.data.steps import Steps
from lincat.features._base import Features
from lincat.features.levels import Levels
from lincat.features.mixed import Mixed
from lincat.features.smooth import Smooth
from lincat.runs.plan import Plan
from lincat.runs.potential import Potential
from lincat.runs.scale import Scale

_STEPS = 0.2  # of the horizon: rewards of so many steps are summed, where steps are long


class Sizes(NamedTuple):
    """How many bumps, for at most so many rows; pairs: those, and levels of V."""

    rows: float
    potential: int
    scale: int
    rest: tuple[int, int]  # what is learned about the potential, in units of the scale
    rich: int  # a potential for returns that vary sharply
    plain: tuple[int, int]  # not about a potential


SIZES = (
    Sizes(5_000, 64, 32, (16, 8), 128, (64, 16)),
    Sizes(50_000, 100, 64, (20, 16), 500, (250, 30)),
    Sizes(math.inf, 250, 100, (32, 20), 600, (400, 30)),
)


def sizes_for(rows: int) -> Sizes:
    """Return how many bumps suit so many rows."""
    return next(sizes for sizes in SIZES if rows <= sizes.rows)


class Pilot:
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


class Candidate(NamedTuple):
    """A plan before it is fitted: bumps of potential, scale and features, and levels.

    Without a scale returns are not learned about the potential: it is there for its levels alone.
    """

    potential: int
    scale: int
    bumps: int
    levels: int
    n_step: int

    def plan(self, pilot: Pilot) -> Plan:
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
        if scale is not None:
            scale = scale.contracting(features, steps, pilot.gamma, ridge=pilot.ridge)
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


def candidates_for(rows: int, long: int) -> list[Candidate]:
    """What may be tried with so many rows, the first by default."""
    sizes = sizes_for(rows)
    centred = [
        Candidate(bumps, sizes.scale, *sizes.rest, 1) for bumps in (sizes.potential, sizes.rich)
    ]
    plain = [Candidate(sizes.rich, 0, *sizes.plain, n) for n in sorted({1, long})]
    return [*centred, *plain]


def long_steps(pilot: Steps, gamma: float) -> int:
    """A share of how long rewards count: until the discount or the episode ends."""
    ends = int(pilot.terminated.sum())
    horizon = min(
        1.0 / (1.0 - gamma) if gamma < 1.0 else math.inf, len(pilot) / ends if ends else math.inf
    )
    breaks = int((pilot.terminated | pilot.truncated).sum()) + 1
    if not math.isfinite(horizon) or len(pilot) / breaks < 2.0:
        return 1
    return max(2, round(_STEPS * horizon)) if horizon >= 10.0 else 1
