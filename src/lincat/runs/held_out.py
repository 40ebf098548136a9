"""Steps that are held out: the last ones of a stream, or some of every part of a record.

The last rows of a file need not be like the others: logs are sorted, and worlds change. (A file
that had its longest episodes first ended with those that ruin ended early, and hardly anything
else.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

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
    >>> from lincat.runs.held_out import HoldOut
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

    def skippable(self, steps: int) -> int:
        """Return how many of the first so many steps need not be read again: all of them."""
        return steps

    def afresh(self) -> HoldOut:
        """Return the same for another pass."""
        return HoldOut(self.rows or 0)

    def note(self, total: int | None) -> str:
        """Return what is held out, as a sentence."""
        of = "" if total is None else f" of {total:,}"
        return f"The last {self.rows:,}{of} rows are held out, to check the figures."

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


class SpreadHoldOut:
    """Passes steps on, but for the middle ones of each of so many equal parts.

    Where some are cut out, the record breaks off, on both sides. (The last ones of each part would
    be unlike the others in a log that is sorted: see docs/decisions.md.)

    Parameters
    ----------
    total : int
        Steps in all.
    rows : int
        Steps to hold out, of all parts together.
    parts : int

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.steps import Steps
    >>> from lincat.runs.held_out import SpreadHoldOut
    >>> state, no = np.arange(6), np.zeros(6, dtype=bool)
    >>> held = SpreadHoldOut(total=6, rows=2, parts=2)
    >>> steps = Steps(state, np.ones(6), state + 1, no, no)
    >>> [part.observation.tolist() for part in held.passing([steps])]
    [[0], [2, 3], [5]]
    >>> held.kept.observation, held.kept.truncated
    (array([1, 4]), array([ True,  True]))
    """

    def __init__(self, total: int, rows: int, parts: int) -> None:
        self.rows = rows
        ends = total * np.arange(1, parts + 1) // parts
        sizes = np.diff(rows * np.arange(1, parts + 1) // parts, prepend=0)
        begins = ends - (np.diff(ends, prepend=0) + sizes) // 2
        # Steps from an odd edge on, until the next one, are held out.
        pairs = [(int(b), int(e)) for b, e in zip(begins, begins + sizes, strict=True) if b < e]
        self.edges = [edge for pair in pairs for edge in pair]
        self._kept: list[Steps] = []

    @classmethod
    def at(cls, edges: Sequence[int]) -> SpreadHoldOut:
        """Return one that holds out the steps from each even edge to the next one."""
        held = cls(0, 0, 1)
        held.edges = list(edges)
        held.rows = sum(edges[1::2]) - sum(edges[::2])
        return held

    def passing(self, batches: Iterable[Steps]) -> Iterator[Steps]:
        """Yield the steps that may be learned from."""
        self._kept.clear()
        position, at = 0, 0  # steps read, edges passed
        for batch in batches:
            while len(batch):
                until = self.edges[at] if at < len(self.edges) else position + len(batch)
                piece, batch = batch[: until - position], batch[until - position :]
                position += len(piece)
                inside = at % 2 == 1
                if at < len(self.edges) and position == until:
                    at += 1
                    piece = broken_off(piece)
                if inside:
                    self._kept.append(piece.copy())  # a slice would keep the whole batch
                elif len(piece):
                    yield piece

    @property
    def cuts(self) -> list[int]:
        """The steps, of those passed on, before which some were held out."""
        sizes = np.subtract(self.edges[1::2], self.edges[::2])
        return [int(x) for x in np.array(self.edges[1::2]) - np.cumsum(sizes)]

    def skippable(self, steps: int) -> int:
        """Return how many of the first so many steps need not be read again.

        None: steps that are held out lie between those learned from.
        """
        return 0

    def afresh(self) -> SpreadHoldOut:
        """Return the same for another pass."""
        return self

    def note(self, total: int | None) -> str:
        """Return what is held out, as a sentence."""
        of = "" if total is None else f" of {total:,}"
        return f"{self.rows:,}{of} rows are held out, to check the figures."

    @property
    def kept(self) -> Steps | None:
        """The steps that were not passed on; None if there are none."""
        return joined(self._kept) if self._kept else None


def broken_off(steps: Steps) -> Steps:
    """The same steps; after the last one the record breaks off, unless it ended there."""
    if len(steps) == 0:
        return steps
    truncated = steps.truncated.copy()
    truncated[-1] = not steps.terminated[-1]
    return replace(steps, truncated=truncated)
