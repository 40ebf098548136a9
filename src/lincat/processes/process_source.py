"""A finite process as a source: a walk through its states, the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np

from lincat._arguments import check_choice, check_integer, fail
from lincat.data.starts import Starts
from lincat.data.steps import ObservationSpace, Steps
from lincat.processes.finite import MarkovRewardProcess, Sampling

_BATCH = 8192


class ProcessSource:
    """Steps of a finite process, between the numbers of its states.

    Beginning anywhere costs a walk to that place (some 10 ns for each step), and gives the same
    steps as the whole walk does.

    Parameters
    ----------
    process : MarkovRewardProcess
    steps : int
    seed : int
    kind : "markov" or "generative"
        One walk, or independent transitions from the stationary distribution.
    state_names : sequence of str, optional
        For the report; the observations are numbers all the same.
    name : str
        For the report.

    Examples
    --------
    >>> from lincat import catalog
    >>> from lincat.processes.process_source import ProcessSource
    >>> source = ProcessSource(catalog.frozen_lake().process, steps=10_000, name="frozen_lake")
    >>> source.description, source.space.n_states
    ('frozen_lake, 16 states', 16)
    >>> sum(len(batch) for batch in source.batches(skip=1_000))
    9000
    """

    skipped_rows = 0

    def __init__(
        self,
        process: MarkovRewardProcess,
        *,
        steps: int,
        seed: int = 0,
        kind: Sampling = "markov",
        state_names: Sequence[str] = (),
        name: str = "finite process",
    ) -> None:
        self.process = process
        self.length: int = check_integer(steps, "steps", low=1)
        self.seed = check_integer(seed, "seed", low=0)
        check_choice(kind, "kind", get_args(Sampling))
        self.kind = kind
        S = int(process.n_states)
        if len(state_names) not in (0, S):
            raise fail("state_names", f"{S}, one per state", len(state_names))
        self.state_names = tuple(state_names) or tuple(str(s) for s in range(S))
        self.description = f"{name}, {S} states"
        self.space = ObservationSpace(names=("state",), n_states=S)
        self._starts = Starts()

    @property
    def starts(self) -> Any:
        """Where episodes began, as far as they were seen: at most 256 of them."""
        return self._starts.sample()

    def batches(self, *, skip: int = 0) -> Iterator[Steps]:
        """Yield the steps after the first ``skip``; always the same ones."""
        skip = check_integer(skip, "skip", low=0)
        walk = self.process.stream(self.length, seed=self.seed, kind=self.kind, chunk=_BATCH)
        place, begins = 0, True
        for part in walk:
            n = len(part.state)
            first = min(max(skip - place, 0), n)
            place += n
            if first < n:
                if self.kind == "markov":
                    self._see(part, first, begins)
                yield self._steps(part, first)
            begins = bool(part.terminated[-1])

    def _see(self, part: Any, first: int, begins: bool) -> None:
        begun = np.concatenate([[begins], part.terminated[:-1]])
        self._starts.add_many(part.state[first:][begun[first:]])

    def _steps(self, part: Any, first: int) -> Steps:
        terminated = np.asarray(part.terminated[first:], bool)
        # Independent transitions: the next one never follows.
        breaks_off = ~terminated if self.kind == "generative" else np.zeros(len(terminated), bool)
        return Steps(
            observation=part.state[first:],
            reward=part.reward[first:],
            next_observation=part.next_state[first:],
            terminated=terminated,
            truncated=breaks_off,
        )
