"""What `make coverage` runs, and what counts as holding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lincat.coverage.cases import CASES
from lincat.processes.finite import Sampling

CONFIDENCE = 0.95
#: Where rows are kept. A folder "coverage" would be the package of that name to Numba.
OUT = Path("coverage-rows")
#: Logs have seeds from here on; those before were looked at while methods were chosen.
FIRST_SEED = 10_000
SIZES = (5_000, 20_000, 100_000)
#: How data come, and what the process calls it.
KINDS: dict[str, Sampling] = {"walk": "markov", "independent": "generative"}


@dataclass(frozen=True)
class Bars:
    """What is asked of intervals of 95 %, with enough data."""

    low: float = 0.92
    high: float = 0.97
    simultaneous: float = 0.91  # at least, of whole CDFs
    width: float = 1.15  # times that of an interval that knows the standard error
    rows: int = 20_000  # from so many transitions on
    cost: float = 2.5  # times the answer without intervals
    #: What they are asked of; the rest is counted beside it.
    figures: tuple[str, ...] = ("CDF values", "mean", "quantile", "cvar", "probability_below")


@dataclass(frozen=True)
class Settings:
    """One run of the study."""

    cases: tuple[str, ...] = CASES
    kinds: tuple[str, ...] = tuple(KINDS)
    sizes: tuple[int, ...] = SIZES
    runs: int = 500  # logs for each case, kind and size
