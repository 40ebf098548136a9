"""What `make tuning` runs, and what counts as good."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KINDS", "PILOT", "STEPS", "Bars", "Length", "Settings"]

#: Constant steps, times the largest ‖phi‖².
STEPS = tuple(2.0**-j for j in range(9))
#: How data come, and what a process calls it.
KINDS = {"independent": "generative", "walk": "markov"}

#: Transitions whose batch solution a warm start begins at.
PILOT = 1000


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

    #: Draws the processes. The rule was chosen on those of 0; docs/learners.md is of 1.
    seed: int = 1
    processes: int = 40
    #: With few runs, the best of nine steps is the best by luck.
    lengths: tuple[Length, ...] = (Length(2_000, 12), Length(20_000, 6), Length(200_000, 3))
