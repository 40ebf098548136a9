"""How much to measure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The same for every section."""

    rounds: int = 15  # turns of each contender; ratios are medians over them
    quick: bool = False  # tiny sizes, to see that everything runs: numbers mean nothing
    seed: int = 0  # of the transitions
    log_rows: int = 1_000_000  # of the log that is learned from
