"""What `make truth` runs, and what counts as right."""

from __future__ import annotations

from dataclasses import dataclass, fields

SIZES = (2_000, 20_000, 200_000)
#: Fast ones of three sorts, for the tests and ``--quick``.
QUICK_PROBLEMS = ("chain", "short episodes", "heteroscedastic")
LEVEL = 0.05  # of the quantile and of CVaR


@dataclass(frozen=True)
class Bars:
    """How far a figure may be from the truth at the worst probe, in true standard deviations.

    Each is raised by twice the sampling error of what can be achieved with as many rows.
    """

    std: float = 0.1  # |std - true std|: 10 % of it
    quantile: float = 0.2
    cvar: float = 0.2
    w1: float = 0.1

    @property
    def names(self) -> tuple[str, ...]:
        """The measures, in order."""
        return tuple(field.name for field in fields(self))


BARS = Bars()


@dataclass(frozen=True)
class Settings:
    """Which cells to run: every problem at every size with every seed."""

    problems: tuple[str, ...]
    sizes: tuple[int, ...] = SIZES
    seeds: tuple[int, ...] = (0,)
