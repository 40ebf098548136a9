"""Recorded steps in tables: Parquet, CSV, JSON lines, Arrow, standard input, and frames."""

from __future__ import annotations

import itertools
import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from lincat._arguments import InvalidInputError, check_choice, check_integer, fail
from lincat._typing import BoolArray, IntArray
from lincat.data.steps import ObservationSpace, Steps
from lincat.tables import cells
from lincat.tables.columns import Columns, find_columns
from lincat.tables.episodes import EpisodeRows, TransitionRows
from lincat.tables.fingerprints import Fingerprint
from lincat.tables.layout import Layout, check_types, find_layout, taken_as
from lincat.tables.places import Place, find_places
from lincat.tables.readers import Chunk, Table
from lincat.tables.rows import MissingPolicy, Rows, checked_rows
from lincat.tables.stores import at_once

# Rows from which it is decided what the columns hold. Typed tables say most of it themselves, and
# may have large observations.
_FIRST_ROWS, _FIRST_TYPED_ROWS = 8192, 64
_FEW_ROWS = 1024  # read at a time where only some are wanted
_AHEAD = 2  # rows after its own that tell what a step is
_LARGEST_BATCH = 1 << 23  # bytes of observations: less rows at a time where these are large


class FileSource:
    r"""Steps from files or a frame, in bounded memory; each call of ``batches`` gives the same.

    A row is either a *transition* (observation, reward, next observation, terminated), or, without
    a column for next observations, a row of an *episode* (episode, step, observation, reward),
    whose next observation is in the next row. The rows of an episode are together and in order of
    their steps. The reward of a row is the one for leaving its observation. Transitions without a
    terminated column never end an episode.

    The last row of an episode needs no next observation if the episode has terminated; otherwise it
    only serves as the next observation of the row before, which is marked truncated, and its reward
    is not used. A terminated column says which it is, and without one ``episode_end``; a truncated
    column may say more. Rows without an episode column are one trajectory, broken where the step
    does not count on and at the end of each file. (After a terminated step ``next_observation`` is
    that of whatever row comes next; no learner looks at it.)

    Parameters
    ----------
    paths : str, Path, a sequence of them, or a frame
        Files, patterns (``"logs/*.csv"``), or folders, whose files, in folders below too, are read
        in order of their names; a folder ``site=a`` is a column of its files; ``"-"`` is standard
        input, which can be read once. A frame is anything with ``__arrow_c_stream__`` (pandas,
        polars, Arrow, DuckDB), or a dict of columns; it is read as it is now.
    columns : Columns, optional
        Which column holds what; by default found by their names.
    format : "parquet", "csv", "jsonl" or "arrow", optional
        By default as the files' names end. Standard input needs it.
    on_bad_rows : "stop" or "skip"
        What to do about rows with missing cells, NaN, infinities, texts for numbers and the like:
        an error that names file, row and column, or leaving them out and counting them. Where a row
        was left out the record breaks off. Rows in the wrong order are always an error.
    missing : "stop", "skip", "indicator" or "auto"
        What to do about cells of observations that are missing (nothing, NaN, NA): take the row
        for a bad one; leave it out, and count it; or keep it, for features that give numbers their
        mean and an indicator, and texts a value of their own. "auto" keeps them if the first rows,
        or what a Parquet file says of itself, show that there are any and bad rows are to stop.
    episode_end : "terminated" or "truncated"
        What the last row of an episode means in a table without a terminated column.
    by_name : bool
        Whether several columns of numbers come by name (mixed), as they do with texts.
    storage_options : mapping, optional
        Of the file system of addresses such as ``"s3://bucket/logs"``, as fsspec and Dask take
        them.
    batch_rows : int
        Rows read at a time.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.file_source import FileSource
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("episode,step,state,reward\n7,0,a,1\n7,1,b,2\n8,0,a,3\n")
    >>> for steps in FileSource(file).batches():
    ...     print(steps.observation, steps.reward, steps.next_observation, steps.terminated)
    ['a' 'b'] [1. 2.] ['b' 'a'] [False  True]
    ['a'] [3.] ['a'] [ True]
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path] | Any,
        *,
        columns: Columns | None = None,
        format: str | None = None,
        on_bad_rows: str = "stop",
        missing: MissingPolicy | Literal["auto"] = "stop",
        episode_end: str = "terminated",
        by_name: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        batch_rows: int = 65536,
    ) -> None:
        self._columns = Columns() if columns is None else columns
        check_choice(missing, "missing", (*get_args(MissingPolicy), "auto"))
        self._stop = check_choice(on_bad_rows, "on_bad_rows", ("stop", "skip")) == "stop"
        self._episode_end = check_choice(episode_end, "episode_end", ("terminated", "truncated"))
        self._places = find_places(paths, format, storage_options)
        self._by_name = by_name
        self._look_for_missing = missing == "auto" and self._stop
        self._missing: MissingPolicy = "stop" if missing == "auto" else missing
        self._skipped = 0
        self._n_missing: Counter[str] = Counter()
        self._row_counts: dict[str, int | None] = {}
        self._input: Iterator[Chunk] | None = None
        self._names: tuple[str, ...] = ()  # all columns of the first table
        self._layout = self._find_layout(check_integer(batch_rows, "batch_rows", low=1))
        # next_observation doubles the room that a row takes
        row_bytes = (
            8 * len(self._layout.names) * (2 if self._layout.columns.next_observation else 1)
        )
        self._rows = max(1, min(batch_rows, _LARGEST_BATCH // row_bytes))

    @property
    def description(self) -> str:
        """The file, or how many of them."""
        first, last = self._places[0], self._places[-1]
        if len(self._places) == 1:
            return first.name
        return f"{len(self._places)} {first.format} files, {first.name} to {last.name}"

    @property
    def places(self) -> list[str]:
        """What the tables are called, in the order in which they are read."""
        return [place.name for place in self._places]

    def fingerprints(self, upto: Mapping[str, Fingerprint] | None = None) -> list[Fingerprint]:
        """Return what tells the tables from others, or as much of them as was known before.

        What comes only once has none.
        """
        needed, known = self._layout.columns.needed, upto or {}

        def of(place: Place) -> Fingerprint | None:
            before = known.get(os.path.abspath(place.name), known.get(place.name))
            return place.fingerprint(needed, before)

        found = at_once(of, self._places, near=self._places[0].near)
        return [print for print in found if print is not None]

    @property
    def space(self) -> ObservationSpace:
        """The names of the observations' columns; files do not tell more."""
        return ObservationSpace(self._layout.names)

    @property
    def n_rows(self) -> int | None:
        """The number of rows in all files, of text about that; None for what comes only once."""
        counts = at_once(self._rows_in, self._places, near=self._places[0].near)
        return None if None in counts else sum(filter(None, counts))

    @property
    def length(self) -> int | None:
        """The number of steps: of transitions in Parquet files and frames, if bad rows stop."""
        exact = self._places[0].exact and self._stop
        return self.n_rows if exact and self._layout.columns.next_observation is not None else None

    @property
    def skipped_rows(self) -> int:
        """How many bad rows the last call of ``batches`` has left out so far."""
        return self._skipped

    @property
    def notes(self) -> list[str]:
        """What was decided about the columns, and what is missing so far."""
        said = [taken_as(self._layout, self._names)]
        if self._n_missing:
            counts = (f"{name} in {n:,} rows" for name, n in self._n_missing.items())
            said.append(f"Missing: {', '.join(counts)}, which were kept (--missing).")
        return said

    @property
    def missing_cells(self) -> dict[str, int]:
        """How many cells of each column were missing in rows that the last pass has kept so far."""
        return dict(self._n_missing)

    def count_elsewhere(self, skipped: int, missing: Mapping[str, int]) -> None:
        """Count what other processes left out of their stretches, and what they missed there."""
        self._skipped += skipped
        self._n_missing.update(missing)

    @property
    def starts(self) -> None:
        """Not known beside the steps."""
        return None

    def batches(self, *, skip: int = 0) -> Iterator[Steps]:
        """Yield the steps after the first ``skip``."""
        skip = left = check_integer(skip, "skip", low=0)
        self._skipped = 0
        self._n_missing.clear()
        seen = 0
        # Every row is a step, and none can be missing: no need to read those that are skipped.
        by_row = self.length is not None
        for steps in self._steps(skip if by_row else 0):
            seen += len(steps)
            left = 0 if by_row else left
            if left < len(steps):
                yield steps[left:]
            left = max(0, left - len(steps))
        if left and not by_row:
            remedy = "give it whole, as it was; resume --append learns from new rows alone"
            expected = f"at least the {skip:,} steps that were seen before"
            raise fail(self.description, expected, f"{skip - left:,}", remedy)
        if not seen and not skip:
            got = f"none ({self._skipped} bad rows)" if self._skipped else "none"
            raise fail(self.description, "rows that make at least one step", got)

    @property
    def row_groups(self) -> list[int] | None:
        """The rows of each group that can be read alone, in order; None where there are none."""
        groups = at_once(lambda place: place.groups(), self._places, near=self._places[0].near)
        return None if None in groups else [n for group in groups for n in group or ()]

    def between(self, first: int, stop: int) -> Iterator[Steps]:
        """Yield the steps that begin in rows first .. stop − 1 of all tables, counted from 0.

        Cut anywhere, the steps of all stretches are those of :meth:`batches`: where a record breaks
        off shows in the two rows after a step's own, which are read, and counted where they belong.
        """
        self._skipped = 0
        self._n_missing.clear()
        behind = sum(map(len, self._steps(stop, stop + _AHEAD)))
        skipped, missing = self._skipped, self._n_missing.copy()
        self._skipped = 0
        self._n_missing.clear()
        late: deque[Steps] = deque()
        waiting = 0
        for steps in self._steps(first, stop + _AHEAD):
            late.append(steps)
            waiting += len(steps)
            while late and waiting - len(late[0]) >= behind:
                done = late.popleft()
                waiting -= len(done)
                yield done
        left = waiting - behind
        for steps in late:
            if left > 0:
                yield steps[:left]
            left -= len(steps)
        self._skipped -= skipped
        self._n_missing -= missing

    def _steps(self, first: int, stop: int | None = None) -> Iterator[Steps]:
        """Yield steps in the order of the rows; before an error all that come before it."""
        form: Any = TransitionRows()
        if self._layout.columns.next_observation is None:
            every = self._layout.every
            form = EpisodeRows(self._episode_end, stop=self._stop, every=every)
        if stop is not None and stop >= (self.n_rows or 0):
            stop = None
        gap = False
        for place in self._places:
            last = read = None
            new_file = True
            if stop is not None and stop <= 0:
                gap = True  # the record goes on, but is not looked at
                break
            chunks = self._stretch(place, first, stop)
            while True:
                try:
                    chunk = next(chunks, None)
                except InvalidInputError:
                    yield from form.finish(gap=True)
                    raise
                if chunk is None:
                    break
                rows, error = self._checked(chunk, place.name)
                read = chunk.stop - 1
                last = chunk.first - 1 if last is None else last
                if rows is not None and len(rows):
                    rows = replace(rows, gap=_gaps(rows.numbers, last, gap))
                    steps = form.add(rows, new_file=new_file)
                    last, gap, new_file = int(rows.numbers[-1]), False, False
                    if steps is not None and len(steps):
                        yield steps
                if error is not None:
                    yield from form.finish(gap=True)
                    raise error
            gap |= read != last
            if first or stop is not None:
                rows_here = self._rows_in(place) or 0
                first = max(0, first - rows_here)
                stop = None if stop is None else stop - rows_here
                gap |= stop is not None and stop < 0  # likewise
        yield from form.finish(gap=gap)

    def _checked(self, chunk: Chunk, name: str) -> tuple[Rows | None, InvalidInputError | None]:
        self._skipped += chunk.stop - chunk.first - chunk.n_rows
        if not chunk.n_rows:
            return None, None
        rows, left_out = checked_rows(
            chunk,
            self._layout,
            name,
            stop=self._stop,
            with_room=self._layout.columns.next_observation is None,
            missing=self._missing,
        )
        self._skipped += left_out.rows
        self._n_missing.update(left_out.missing)
        return rows, left_out.error

    def _stretch(self, place: Place, first: int, stop: int | None) -> Iterator[Chunk]:
        """Rows first .. stop − 1 of a table; the last ones, which may be of the next group, apart.

        So no whole batch of that group is read for two rows.
        """
        if stop is not None and stop - first > _AHEAD:
            yield from self._chunks(place, first, stop - _AHEAD)
            first = stop - _AHEAD
        yield from self._chunks(place, first, stop)

    def _chunks(self, place: Place, skip: int, stop: int | None) -> Iterator[Chunk]:
        if place.once:
            if self._input is None:
                raise fail("standard input", "a single pass", "another one", "save it to a file")
            chunks, self._input = self._input, None
            yield from chunks
            return
        if skip and skip >= (self._rows_in(place) or 0):
            return
        table = place.open(stop=self._stop)
        try:
            self._found_in(table, place.name)
            first = True
            rows = self._rows if stop is None else min(self._rows, max(stop - skip, _FEW_ROWS))
            for chunk in table.chunks(self._layout.columns.needed, rows, skip):
                if first and table.typed and chunk.n_rows:
                    check_types(self._layout, chunk, place.name)
                    first = False
                if chunk.stop > skip + 1:
                    yield _cut(chunk, skip + 1 - chunk.first, stop)
                if stop is not None and chunk.stop > stop:
                    break
        finally:
            table.close()

    def _rows_in(self, place: Place) -> int | None:
        """Return the rows of a table, which are counted once."""
        if place.name not in self._row_counts:
            self._row_counts[place.name] = place.count()
        return self._row_counts[place.name]

    def _found_in(self, table: Table, name: str) -> None:
        """Refuse a table with other columns than the first."""
        found = find_columns(self._columns, table.names, name)
        have = self._layout.columns
        if have.by_default and set(have.needed) <= set(table.names):
            return
        if replace(found, step=None) != replace(have, step=None):
            other = [
                x
                for x in (*found.needed, *have.needed)
                if (x in found.needed) != (x in have.needed)
            ]
            first = self._places[0].name
            raise fail(name, f"the columns of {first}", f"a difference in {other[0]!r}")

    def _find_layout(self, batch_rows: int) -> Layout:
        """Look at the first rows, of the first table that has any."""
        for place in self._places:
            table = place.open(stop=self._stop)
            found = find_columns(self._columns, table.names, place.name)
            self._names = tuple(table.names)
            rows = _FIRST_TYPED_ROWS if table.typed else _FIRST_ROWS
            rows = batch_rows if place.once else rows
            chunks = table.chunks(found.needed, rows)
            for chunk in chunks:
                if chunk.n_rows:
                    layout = find_layout(
                        found,
                        self._columns,
                        chunk,
                        place.name,
                        typed=table.typed,
                        mixed=self._by_name or self._may_miss(table, found.observation, chunk),
                    )
                    if layout.kind == "mixed" and self._look_for_missing:
                        self._missing = "indicator"
                    if table.typed:
                        check_types(layout, chunk, place.name)
                    if place.once:
                        self._input = itertools.chain([chunk], chunks)
                    else:
                        table.close()
                    return layout
        raise fail(self.description, "rows", "none")

    def _may_miss(self, table: Table, names: tuple[str, ...], chunk: Chunk) -> bool:
        """Whether observations may miss something: as told, or as it looks."""
        if not self._look_for_missing:
            return self._missing == "indicator"
        first = chunk.columns[names[0]]
        if len(names) == 1 and cells.kind_of(first, typed=table.typed) == "text":
            return False  # names of states, of which none may be missing
        return table.misses(names) or any(
            cells.missing_numbers(chunk.columns[name]).any() for name in names
        )


def _gaps(numbers: IntArray, last: int, gap: bool) -> BoolArray | None:
    """Return before which rows others are missing; None if there are none."""
    if not gap and numbers[-1] - last == len(numbers):
        return None
    gaps: BoolArray = np.diff(numbers, prepend=last) != 1
    gaps[0] |= gap
    return gaps


def _cut(chunk: Chunk, start: int, stop: int | None) -> Chunk:
    """Leave out rows at the beginning, and from row ``stop`` on; only typed tables are cut."""
    n = chunk.n_rows if stop is None else min(chunk.n_rows, stop + 1 - chunk.first)
    if start <= 0 and n == chunk.n_rows:
        return chunk
    start = max(start, 0)
    columns = {name: values.slice(start, n - start) for name, values in chunk.columns.items()}
    return Chunk(columns, n - start, chunk.first + start, chunk.first + n)
