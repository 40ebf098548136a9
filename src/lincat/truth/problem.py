"""What a problem of known truth is, and how its logs lie on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow
import pyarrow.parquet

from lincat._typing import FloatArray
from lincat.truth.simulation import Log, Restart, Step, simulate

_ROWS_A_WALKER = 500  # records of many walkers must be long enough to say something


@dataclass(frozen=True)
class Layout:
    """The columns of a log, by names that lincat finds by itself (docs/logs.md)."""

    #: One record without an end; records of an episode column; or rows that hold their next state.
    kind: Literal["record", "episodes", "transitions"]
    observation: str = "obs"
    next_observation: str = "next_obs"
    reward: str = "reward"
    terminated: str = "terminated"
    episode: str = "episode"
    step: str = "step"
    #: Several numbers in one column of lists, instead of a column for each.
    lists: bool = False


@dataclass(frozen=True)
class Environment:
    """A Gymnasium environment, whose rows lincat makes itself."""

    name: str  # as lincat takes it, "gym:CartPole-v1"
    policy: str


@dataclass(frozen=True)
class Problem:
    """A Markov reward process that can be simulated, hence known; observations are its states."""

    name: str
    gamma: float
    #: One sentence: what it is, and what makes it hard.
    note: str
    start: Restart
    step: Step
    layout: Layout
    #: Observations are ids, states counted from 0; else they are numbers.
    ids: bool = False
    #: What ids are called in the log, where they are texts.
    labels: tuple[str, ...] = ()
    #: Records in the log are made by at most so many walkers at a time.
    walkers: int = 200
    #: After so many steps a record breaks off.
    limit: int | None = None
    #: The longest record stands first, so that early rows do not show what ends a record.
    longest_first: bool = False
    environment: Environment | None = None
    #: True returns that are simulated from each probe.
    samples: int = 20_000

    def log(self, n_rows: int, seed: int) -> Log:
        """Return a log of ``n_rows`` transitions."""
        walkers = 1
        if self.layout.kind != "record":
            walkers = max(1, min(self.walkers, n_rows // _ROWS_A_WALKER))
        rng = np.random.default_rng([seed, n_rows])
        log = simulate(self.start, self.step, n_rows, rng, walkers=walkers, limit=self.limit)
        return log.longest_first() if self.longest_first else log

    def write_log(self, path: Path, n_rows: int, seed: int) -> None:
        """Write a log of ``n_rows`` transitions as Parquet."""
        self.write(self.log(n_rows, seed), path)

    def write(self, log: Log, path: Path) -> None:
        """Write a log as Parquet."""
        pyarrow.parquet.write_table(self.table(log), path)

    def table(self, log: Log) -> pyarrow.Table:
        """Return a log in this problem's layout."""
        layout = self.layout
        columns: dict[str, Any] = {}
        if layout.kind == "episodes":
            columns[layout.episode] = log.record
        if layout.kind != "transitions":
            columns[layout.step] = log.step
        columns |= self._cells(layout.observation, log.observation)
        columns[layout.reward] = log.reward
        if layout.kind == "transitions":
            columns |= self._cells(layout.next_observation, log.following)
        if layout.kind != "record":
            columns[layout.terminated] = log.terminated
        return pyarrow.table(columns)

    def observations(self, states: FloatArray) -> Any:
        """Return states (n, m) as ``run.predict`` takes them: ids (n,), or numbers (n, m)."""
        if self.labels:
            return [self.labels[i] for i in states[:, 0].astype(np.int64)]
        return states[:, 0].astype(np.int64) if self.ids else states

    def _cells(self, name: str, states: FloatArray) -> dict[str, Any]:
        if self.ids:
            return {name: self.observations(states)}
        if self.layout.lists:
            return {name: pyarrow.array(list(states))}
        if states.shape[1] == 1:
            return {name: states[:, 0]}
        return {f"{name}_{i}": states[:, i] for i in range(states.shape[1])}
