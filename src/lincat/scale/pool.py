"""Who does numbered pieces of work: this process, others of this machine, or a cluster.

A :class:`Job` says for each number what its bytes are, and nothing else decides what they are: not
who does it, nor when, nor how often it was begun before. So whatever dies can be done again.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class Job(Protocol):
    """Work in numbered pieces, which can be pickled."""

    def __call__(self, number: int, /) -> bytes:
        """Do a piece."""


class Pool(Protocol):
    """Who does the work."""

    @property
    def description(self) -> str:
        """Who that is, for notes: "2 processes"."""

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know of it, as sentences."""

    def results(self, job: Job, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield each piece with its number, in the order in which they are done.

        An error of the job is raised as it is. Closing the iterator drops what is under way.
        """

    def close(self) -> None:
        """Let go of whatever belongs to it."""


class Here:
    r"""One piece after the other, in this process.

    Examples
    --------
    >>> from lincat.scale.pool import Here
    >>> list(Here().results(bytes, [3, 1]))
    [(3, b'\x00\x00\x00'), (1, b'\x00')]
    """

    description = "one process"
    notes = ()

    def results(self, job: Job, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces in order."""
        content = pickled(job)
        for number in numbers:
            yield number, run_piece(content, number)

    def close(self) -> None:
        """Do nothing."""


def pickled(job: Job) -> bytes:
    """Return the bytes of a job; features of a user's own may need Dask's way to pickle."""
    try:
        return pickle.dumps(job, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle

        content: bytes = cloudpickle.dumps(job)
        return content


def run_piece(content: bytes, number: int) -> bytes:
    """Do a piece of a pickled job: each on a copy of its own, as it may note things down."""
    job: Any = pickle.loads(content)
    done: bytes = job(number)
    return done
