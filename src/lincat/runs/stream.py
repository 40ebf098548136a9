"""What a stream of steps passes through on its way to the learner."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from lincat.data.steps import Steps, joined

__all__ = ["HoldOut", "in_multiples", "limited"]


class HoldOut:
    """A delay line: passes steps on, but for the last ``rows`` of them.

    Where a stream will end is not known before it does, so the newest ``rows`` steps always wait.
    What waits at the end was never learned from, and lies after everything that was: the past is
    checked against the future, as a user of the result will do.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.steps import Steps
    >>> from lincat.runs.stream import HoldOut
    >>> state, no = np.arange(5), np.zeros(5, dtype=bool)
    >>> steps = Steps(state, np.ones(5), state + 1, no, no)
    >>> held = HoldOut(rows=2)
    >>> [part.observation.tolist() for part in held.passing([steps[:3], steps[3:]])]
    [[0], [1, 2]]
    >>> held.kept.observation
    array([3, 4])
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._waiting: deque[Steps] = deque()

    def passing(self, batches: Iterable[Steps]) -> Iterator[Steps]:
        """Yield the steps that may be learned from."""
        waiting = 0
        for batch in batches:
            self._waiting.append(batch)
            waiting += len(batch)
            while self._waiting and waiting > self.rows:
                first = self._waiting.popleft()
                surplus = waiting - self.rows
                if surplus < len(first):
                    self._waiting.appendleft(first[surplus:])
                    first = first[:surplus]
                waiting -= len(first)
                yield first

    @property
    def kept(self) -> Steps | None:
        """The steps that were not passed on; None if there are none."""
        return joined(list(self._waiting)) if self._waiting else None


def limited(batches: Iterable[Steps], steps: int | None) -> Iterator[Steps]:
    """Yield at most so many steps, and read no further; all of them for None."""
    left = steps
    source = iter(batches)  # not "yield from", which would close the source with this generator
    while (left is None or left > 0) and (batch := next(source, None)) is not None:
        yield batch[:left]
        left = None if left is None else left - len(batch)


def in_multiples(batches: Iterable[Steps], size: int) -> Iterator[Steps]:
    """Cut batches so that each but the last is a multiple of ``size``.

    An update of so many transitions must not end where a batch of the source happens to.
    """
    rest: list[Steps] = []
    for batch in batches:
        whole = joined([*rest, batch])
        full = len(whole) // size * size
        if full:
            yield whole[:full]
        rest = [whole[full:]] if full < len(whole) else []
    yield from rest
