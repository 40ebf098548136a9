"""Where tables are: in a file, on standard input, or in memory as a frame of some library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec
import pyarrow as pa

from lincat.tables.counting import count_rows
from lincat.tables.finding import stored_files
from lincat.tables.fingerprints import Fingerprint, first_of, of_file, of_rows
from lincat.tables.pieces import (
    PiecesPlace,
    arrow_table,
    is_dask_frame,
    is_dataset,
    pieces_of,
)
from lincat.tables.readers import (
    STDIN,
    Chunk,
    Table,
    arrow_chunk,
    format_of,
    name_of,
    open_table,
    row_groups,
)
from lincat.tables.stores import DISK, Store
from lincat.tables.times import WithTimes


class Place(Protocol):
    """A table that can be opened."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def format(self) -> str:
        """What it is: the format of a file, or "frame"."""

    @property
    def once(self) -> bool:
        """Whether it can be read only once."""

    @property
    def exact(self) -> bool:
        """Whether :meth:`count` tells exactly how many rows there are."""

    @property
    def near(self) -> bool:
        """Whether to look at it costs next to nothing."""

    def open(self, *, stop: bool) -> Table:
        """Open it; with ``stop`` a row that cannot be parsed is an error."""

    def count(self) -> int | None:
        """Return the number of rows, or about that; None for what comes only once."""

    def groups(self) -> list[int] | None:
        """Return the rows of each group that can be read alone; None where there are none."""

    def fingerprint(
        self, columns: Sequence[str], upto: Fingerprint | None = None
    ) -> Fingerprint | None:
        """Return what tells it from another, or as much of it; None for what comes only once."""


@dataclass(frozen=True)
class FilePlace:
    """A file, or standard input."""

    path: str
    format: str
    store: Store = DISK

    @property
    def near(self) -> bool:
        """Whether it is on this machine's disk."""
        return self.store.near

    @property
    def name(self) -> str:
        """The path."""
        return name_of(self.path)

    @property
    def once(self) -> bool:
        """Whether it is standard input."""
        return self.path == STDIN

    @property
    def exact(self) -> bool:
        """Whether the file itself says how many rows it has."""
        return self.format == "parquet"

    def open(self, *, stop: bool) -> Table:
        """Open the file; folders ``key=value`` above it are columns, as Hive and Spark write."""
        table = open_table(self.path, self.format, stop=stop, store=self.store)
        parts = (part.partition("=") for part in PurePath(self.path).parts[:-1])
        keys = {key: unquote(value) for key, sign, value in parts if key and sign}
        keys = {key: value for key, value in keys.items() if key not in table.names}
        return WithTimes(_Partition(table, keys) if keys else table)

    def count(self) -> int | None:
        """Return the number of rows; of text the number of lines."""
        return count_rows(self.path, self.format, self.store)

    def groups(self) -> list[int] | None:
        """Return the rows of each row group of a Parquet file; None for other formats."""
        return row_groups(self.path, self.store) if self.format == "parquet" else None

    def fingerprint(
        self, columns: Sequence[str], upto: Fingerprint | None = None
    ) -> Fingerprint | None:
        """Return that of the file; Parquet and Arrow files are written again to add rows."""
        if self.once:
            return None
        found = of_file(self.path, upto, self.store)
        if self.format not in ("parquet", "arrow"):
            return found
        table = self.open(stop=False)
        try:
            rows, first = first_of(table, columns, upto)
        finally:
            table.close()
        return msgspec.structs.replace(found, first_rows=rows, first=first)


@dataclass(frozen=True)
class FramePlace:
    """A table in memory, whose rows are read as those of a Parquet file are.

    Examples
    --------
    >>> from lincat.tables.places import FramePlace
    >>> place = FramePlace.of({"state": ["a", "b"], "reward": [1.0, 0.0]})
    >>> place.name, place.count(), place.open(stop=True).names
    ('dict', 2, ['state', 'reward'])
    """

    name: str
    table: Any = field(repr=False)
    format: str = field(default="frame", init=False)
    once: bool = field(default=False, init=False)
    exact: bool = field(default=True, init=False)
    near: bool = field(default=True, init=False)

    @classmethod
    def of(cls, frame: Any) -> FramePlace:
        """Take a frame as it is now: anything with ``__arrow_c_stream__``, or a dict of columns."""
        name = frame_name(frame)
        return cls(name, arrow_table(frame, name))

    def open(self, *, stop: bool) -> Table:
        """Return a reader of it."""
        return WithTimes(_FrameTable(self.table))

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.table.num_rows)

    def groups(self) -> None:
        """Return nothing: other processes have no such memory."""
        return None

    def fingerprint(self, columns: Sequence[str], upto: Fingerprint | None = None) -> Fingerprint:
        """Return that of the columns in use."""
        named = [name for name in self.table.column_names if name in columns]
        return of_rows(self.name, self.table.select(named), upto)


def find_places(
    source: Any, format: str | None, options: Mapping[str, Any] | None
) -> Sequence[Place]:
    """Return the tables of paths, or the one of a frame."""
    if is_frame(source):
        pieces = pieces_of(source)
        return [
            FramePlace.of(source) if pieces is None else PiecesPlace(frame_name(source), pieces)
        ]
    files = stored_files(source, format, options)
    kind = format_of(next(iter(files)), format)
    return [FilePlace(file, kind, store) for file, store in files.items()]


class _Partition:
    """A table with columns that are the same in all of its rows."""

    def __init__(self, table: Table, keys: dict[str, str]) -> None:
        self._table, self._keys = table, keys
        self.names, self.typed, self.n_rows = [*table.names, *keys], table.typed, table.n_rows

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        own = [name for name in needed if name not in self._keys]
        for chunk in self._table.chunks(own, rows, skip):
            columns = dict(chunk.columns)
            for name in needed:
                if name in self._keys and chunk.n_rows:
                    columns[name] = self._constant(self._keys[name], chunk.n_rows)
            yield replace(chunk, columns=columns)

    def _constant(self, text: str, n: int) -> Any:
        """Numbers where the file has types, and texts look like numbers."""
        value: Any = text
        for form in (int, float) if self.typed else ():
            try:
                value = form(text)
                break
            except ValueError:
                continue
        return pa.array([value] * n)

    def misses(self, names: Sequence[str]) -> bool:
        return self._table.misses([name for name in names if name not in self._keys])

    def close(self) -> None:
        self._table.close()


def is_frame(value: Any) -> bool:
    """Return whether something is a table: frames of any library, datasets, a dict of columns.

    Examples
    --------
    >>> import pyarrow
    >>> from lincat.tables.places import is_frame
    >>> is_frame(pyarrow.table({"state": [1]})), is_frame("log.csv")
    (True, False)
    """
    streams = hasattr(value, "__arrow_c_stream__") and not is_column(value)
    in_memory = isinstance(value, Mapping) or streams
    return in_memory or is_dask_frame(value) or is_dataset(value)


def is_column(value: Any) -> bool:
    """Return whether something is a column of a table: of pandas, polars or Arrow.

    Examples
    --------
    >>> import pyarrow
    >>> from lincat.tables.places import is_column
    >>> is_column(pyarrow.array([1, 2])), is_column(pyarrow.table({"state": [1]}))
    (True, False)
    """
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return True
    # Asked of the class: a frame may have a column "dtype".
    kind = type(value)
    return hasattr(kind, "dtype") and hasattr(kind, "to_list")


def values_of(column: Any) -> list[Any]:
    """Return what is in a column, as plain values of Python.

    Examples
    --------
    >>> import pyarrow
    >>> from lincat.tables.places import values_of
    >>> values_of(pyarrow.array(["a", "b"]))
    ['a', 'b']
    """
    values: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return values


def frame_name(frame: Any) -> str:
    """Return what a frame is called: "pandas.DataFrame", "polars.DataFrame", ..."""
    kind = type(frame)
    library = kind.__module__.partition(".")[0].lstrip("_")
    return kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"


class _FrameTable:
    typed = True

    def __init__(self, table: Any) -> None:
        self._table = table
        self.names: list[str] = table.schema.names
        self.n_rows: int = table.num_rows

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        at = skip
        for batch in self._table.select(list(needed)).slice(skip).to_batches(max_chunksize=rows):
            yield arrow_chunk(batch, at)
            at += len(batch)

    def misses(self, names: Sequence[str]) -> bool:
        return any(self._table.column(name).null_count for name in names)

    def close(self) -> None:
        pass
