"""Rows of a record that are held out: some of every part of it, so that they are like the others.

The last rows of a file need not be: logs are sorted, and worlds change. (A file that had its
longest episodes first ended with those that ruin ended early, and hardly anything else.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from lincat.data.steps import Steps, joined


class SpreadHoldOut:
    """Passes steps on, but for the last ones of each of so many equal parts.

    Where a part is cut out, the record breaks off, on both sides.

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
    [[0, 1], [3, 4]]
    >>> held.kept.observation, held.kept.truncated
    (array([2, 5]), array([ True,  True]))
    """

    def __init__(self, total: int, rows: int, parts: int) -> None:
        self.rows = rows
        ends = total * np.arange(1, parts + 1) // parts
        sizes = rows * np.arange(1, parts + 1) // parts
        begins = ends - np.diff(sizes, prepend=0)
        # Steps from an odd edge on, until the next one, are held out.
        pairs = [(int(b), int(e)) for b, e in zip(begins, ends, strict=True) if b < e]
        self._edges = [edge for pair in pairs for edge in pair]
        self._kept: list[Steps] = []

    def passing(self, batches: Iterable[Steps], skip: int = 0) -> Iterator[Steps]:
        """Yield the steps that may be learned from, but for the first ``skip`` of these."""
        self._kept.clear()
        position, at = 0, 0  # steps read, edges passed
        for batch in batches:
            while len(batch):
                until = self._edges[at] if at < len(self._edges) else position + len(batch)
                piece, batch = batch[: until - position], batch[until - position :]
                position += len(piece)
                inside = at % 2 == 1
                if at < len(self._edges) and position == until:
                    at += 1
                    piece = _broken_off(piece)
                if inside:
                    self._kept.append(piece)
                    continue
                skipped = min(skip, len(piece))
                skip -= skipped
                if len(piece) > skipped:
                    yield piece[skipped:]

    @property
    def kept(self) -> Steps | None:
        """The steps that were not passed on; None if there are none."""
        return joined(self._kept) if self._kept else None


def _broken_off(steps: Steps) -> Steps:
    """The same steps; after the last one the record breaks off, unless it ended there."""
    if len(steps) == 0:
        return steps
    truncated = steps.truncated.copy()
    truncated[-1] = not steps.terminated[-1]
    return replace(steps, truncated=truncated)
