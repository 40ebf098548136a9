"""What a stream of steps passes through on its way to the learner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from lincat.data.steps import Steps, joined


class HoldOut:
    """A delay line: passes steps on, but for the last ``rows`` of them.

    Where a stream will end is not known before it does, so the newest ``rows`` steps always wait.
    What waits at the end was never learned from, and lies after everything that was: the past is
    checked against the future, as a user of the result will do.

    Parameters
    ----------
    rows : int, or a function of steps
        A function is asked once, with the first steps of the stream, how many rows to hold out;
        ``rows`` is a number from then on.
    first : int
        How many steps such a function is to be shown; fewer if the stream ends before.

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

    def __init__(self, rows: int | Callable[[Steps], int], first: int = 0) -> None:
        self.rows = rows if isinstance(rows, int) else None
        self._decide = rows if callable(rows) else None
        self._first = first
        self._waiting: deque[Steps] = deque()
        self._n_waiting = 0

    def passing(self, batches: Iterable[Steps]) -> Iterator[Steps]:
        """Yield the steps that may be learned from."""
        for batch in batches:
            self._waiting.append(batch)
            self._n_waiting += len(batch)
            if self.rows is not None or self._n_waiting >= self._first:
                yield from self._surplus()
        yield from self._surplus()

    def _surplus(self) -> Iterator[Steps]:
        """Yield what need not wait any more."""
        if self.rows is None:
            self.rows = 0
            if self._decide is not None and self._n_waiting:
                self.rows = self._decide(joined(list(self._waiting)))
        while self._waiting and self._n_waiting > self.rows:
            first = self._waiting.popleft()
            surplus = self._n_waiting - self.rows
            if surplus < len(first):
                self._waiting.appendleft(first[surplus:])
                first = first[:surplus]
            self._n_waiting -= len(first)
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
