"""Rows that wait until there are as many as are summed at once.

So how a stream was cut into calls does not matter: what is summed at once depends on rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from lincat.statistics.rows import Rows, joined


class Waiting:
    """Rows of one kind, fewer than a chunk."""

    def __init__(self, parts: list[Rows] | None = None) -> None:
        self.parts = [] if parts is None else parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(rows.nbytes for rows in self.parts)

    @property
    def kind(self) -> str | None:
        """The kind of the rows; None if there are none."""
        return self.parts[0].kind if self.parts else None

    def copy(self) -> Waiting:
        """Return what can be added to without changing this."""
        return Waiting(list(self.parts))  # rows are replaced, never written to

    def chunks(self, rows: Rows, size: int) -> Iterator[Rows]:
        """Add rows of the same kind, yield chunks of this size, and keep what is left."""
        first, held = 0, len(self)
        if held:
            first = min(size - held, len(rows))
            self._keep(rows[:first])
            if held + first == size:
                yield self.taken()
        while len(rows) - first >= size:
            yield rows[first : first + size]
            first += size
        if first < len(rows):
            self._keep(rows[first:])

    def taken(self) -> Rows:
        """Return all rows, of which there must be some, and keep none."""
        rows, self.parts = joined(self.parts), []
        return rows

    def _keep(self, rows: Rows) -> None:
        """Keep a copy of rows, as they are not ours."""
        first, size = len(self.parts), len(rows)
        while first and len(self.parts[first - 1]) <= 2 * size:
            first -= 1
            size += len(self.parts[first])
        # With the last ones if they are small: nothing is copied more often than log n times.
        last = [*self.parts[first:], rows]
        self.parts[first:] = [joined(last) if len(last) > 1 else rows.copy()]
