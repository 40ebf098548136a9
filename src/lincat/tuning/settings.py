"""What `make tuning` runs, and what counts as good."""

from __future__ import annotations

from dataclasses import dataclass

from lincat.processes.finite import Sampling

#: Constant steps, times the largest ‖phi‖².
STEPS = tuple(2.0**-j for j in range(9))
#: How data come, and what a process calls it.
KINDS: dict[str, Sampling] = {"independent": "generative", "walk": "markov"}

#: Transitions whose batch solution a warm start begins at, and its ridge: fifteen rows, as plans of
#: `lincat evaluate` have. Without, the solution of independent rows can be anywhere.
PILOT = 1000
PILOT_RIDGE = 15.0 / PILOT


@dataclass(frozen=True)
class Length:
    """How many transitions, and in how many runs, whose errors are averaged."""

    transitions: int
    runs: int


@dataclass(frozen=True)
class Bars:
    """What is asked of the automatic step: its error over that of the best constant one."""

    near: float = 2.0
    share: float = 0.95  # of the cells are as near as that
    worst: float = 4.0


@dataclass(frozen=True)
class Settings:
    """One run of the study."""

    #: Draws the processes. Steps were chosen on those of 0, the ridge on those of 1, for how long
    #: a near start keeps them on 1 and 2, what slow directions of independent rows ask for on 0, 1
    #: and 3, and nothing on those of 4, which docs/learners.md shows.
    seed: int = 4
    processes: int = 40
    #: With few runs, the best of nine steps is the best by luck.
    lengths: tuple[Length, ...] = (Length(2_000, 12), Length(20_000, 6), Length(200_000, 3))
