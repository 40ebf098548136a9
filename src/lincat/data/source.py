"""What every source of transitions offers, whatever it reads from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from lincat.data.steps import ObservationSpace, Steps


class Source(Protocol):
    """A stream of :class:`Steps` in bounded memory, that can be begun again anywhere."""

    @property
    def description(self) -> str:
        """What is read, in a few words: for progress and the report."""

    @property
    def space(self) -> ObservationSpace:
        """What is known of the observations."""

    @property
    def length(self) -> int | None:
        """The number of steps; None for a stream whose end is not known, or that has none."""

    @property
    def skipped_rows(self) -> int:
        """How many bad rows were left out so far."""

    @property
    def starts(self) -> Any:
        """A sample of the observations that episodes began with, once there are batches.

        None where the steps themselves have to tell.
        """

    def batches(self, *, skip: int = 0) -> Iterator[Steps]:
        """Yield the steps after the first ``skip``, in batches of some thousands.

        Recorded sources give the same steps each time. Live ones cannot: they continue in a new
        episode, with random numbers of their own for each ``skip``.
        """
