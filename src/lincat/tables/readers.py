"""Tables in files as chunks of columns with row numbers, whatever their format.

A reader knows the names of a table's columns, and yields :class:`Chunk` after chunk of those asked
for, as they are in the file: what they mean is decided elsewhere. This file holds the binary
formats, Parquet and Arrow; ``text.py`` holds CSV and JSON lines.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lincat._arguments import InvalidInputError, fail, reason
from lincat._text import one_line
from lincat._typing import IntArray
from lincat.tables.formats import FORMATS
from lincat.tables.parquet_footer import ColumnFacts, column_facts
from lincat.tables.stores import DISK, Store, is_address

STDIN = "-"
# Bytes of a column of a row group read ahead. Without a limit the reader loads the whole column of
# a row group, and a file may be a single row group.
_READ_AHEAD = 1 << 16
_FAR_AHEAD = 1 << 22  # where each read is a request
_MOST_COLUMNS = 1 << 16
_LARGEST_CELL = 1 << 20  # numbers of an observation, or bytes of a text


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows of a table.

    Attributes
    ----------
    columns : dict
        An Arrow array, or a list of Python values, for each column asked for (and maybe others).
    n_rows : int
    first : int
        Number of the first row, counted from 1 without a header.
    stop : int
        Number of the row after the last one that was read, usable or not.
    numbers : array of shape (n_rows,), or None
        The rows' numbers where some that could not be parsed are missing.
    """

    columns: dict[str, Any]
    n_rows: int
    first: int
    stop: int
    numbers: IntArray | None = None


class Table(Protocol):
    """A table that is open for reading."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def typed(self) -> bool:
        """Whether the file says of what type a column is."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where the file tells."""

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield chunks of about ``rows`` rows after the first ``skip``. Some go through only once.

        A reader may pass over less than ``skip`` rows: the chunks say where they are.
        """

    def misses(self, names: Sequence[str]) -> bool:
        """Whether the file says beforehand that cells of these columns are missing."""

    def close(self) -> None:
        """Close the file."""


def format_of(path: str, given: str | None) -> str:
    """Return the format of a file: as given, by its name, or (standard input) by how it begins."""
    if given is not None:
        if given not in FORMATS:
            raise fail("format", f"one of {', '.join(FORMATS)}", repr(given))
        return given
    for name, endings in FORMATS.items():
        if path.lower().endswith(endings):
            return name
    if path.lower().endswith(".json"):
        return "jsonl"  # an array of objects
    if path == STDIN and (begins := _format_of_stream()) is not None:
        return begins
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    got = "no format" if path == STDIN else "a name that does not tell"
    raise fail(name_of(path), f"a file {known}", got, f"name the format: {', '.join(FORMATS)}")


def open_table(path: str, kind: str, *, stop: bool, store: Store = DISK) -> Table:
    """Open a file of a known format; with ``stop`` a row that cannot be parsed is an error."""
    if kind == "parquet":
        return _ParquetTable(path, store)
    if kind == "arrow":
        return _ArrowTable(path, store)
    from lincat.tables.text import CsvTable, JsonTable

    return (CsvTable if kind == "csv" else JsonTable)(path, stop=stop, store=store)


def row_groups(path: str, store: Store = DISK) -> list[int]:
    """Return the rows of each row group of a Parquet file."""
    table = _ParquetTable(path, store)
    try:
        metadata = table.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    finally:
        table.close()


def name_of(path: str) -> str:
    """Return how a path is called in messages."""
    return "standard input" if path == STDIN else path


@contextmanager
def reading(path: str, what: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one line."""
    try:
        yield
    except InvalidInputError:
        raise
    except OSError as error:
        got = error.strerror or one_line(error)[:200]
        expected = "a readable file" if error.strerror else f"a readable {what}"
        raise fail(name_of(path), expected, got) from None
    except (pa.ArrowException, csv.Error, ValueError, UnicodeError) as error:
        raise fail(name_of(path), f"a readable {what}", one_line(error)[:200]) from None
    except Exception as error:
        if not is_address(path):
            raise
        # Stores have errors of their own: no credentials, no network.
        raise fail(path, f"a readable {what}", reason(error)[:200]) from None


# Who reads standard input, and has not seen its end: Python cannot exit while such a read waits.
standard_input: set[Any] = set()


def _format_of_stream() -> str | None:
    """What standard input looks like, without taking anything from it; None if nothing tells."""
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    if peek is None or sys.stdin.isatty():
        return None
    head: bytes = peek(8)[:8]
    for magic, name in (
        (b"{", "jsonl"),
        (b"[", "jsonl"),
        (b"\xff\xff\xff\xff", "arrow"),
        (b"PAR1", "parquet"),
    ):
        if head.lstrip().startswith(magic):
            return name
    is_text = bool(head) and not any(byte < 32 and byte not in b"\t\r\n" for byte in head)
    return "csv" if is_text else None


def input_bytes(path: str, store: Store = DISK) -> Any:
    """Open a file, or standard input, as a stream of bytes; .gz is unpacked."""
    return _Live() if path == STDIN else store.stream(path)


class _Live:
    """Standard input as it comes: a read gives what is there, and waits for no more."""

    def __init__(self) -> None:
        standard_input.add(self)

    def read(self, n: int = -1) -> bytes:
        stream: Any = sys.stdin.buffer  # buffered, so that it has read1
        content: bytes = stream.read() if n < 0 else stream.read1(n)
        if not content or n < 0:
            standard_input.discard(self)
        return content


class _ParquetTable:
    n_rows: int
    typed = True

    def __init__(self, path: str, store: Store) -> None:
        if path == STDIN:
            raise fail(
                name_of(path), "a stream", "Parquet, which is read from its end", "save it first"
            )
        self._path = path
        with reading(path, "Parquet file"):
            self._input = store.open(path)
            size = self._input.size()
            if size == 0:
                raise fail(path, "a Parquet file", "an empty file")
            self._facts = column_facts(self._input, size)
            ahead = _READ_AHEAD if store.near else _FAR_AHEAD
            self._file = pq.ParquetFile(self._input, pre_buffer=False, buffer_size=ahead)
            self.names = list(self._file.schema_arrow.names)
            self.metadata = self._file.metadata
            self.n_rows = self.metadata.num_rows
        check_width(len(self.names), path)

    def misses(self, names: Sequence[str]) -> bool:
        """Whether the file says that cells of these columns are missing."""
        if self._facts is not None:
            return any(column.nulls for column in self._facts if column.name in names)
        metadata = self.metadata
        places = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path in names]
        for group in range(metadata.num_row_groups):
            for i in places:
                known = metadata.row_group(group).column(i).statistics
                if known is not None and known.has_null_count and known.null_count:
                    return True
        return False

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        metadata = self.metadata
        at, group = 0, 0
        while group < metadata.num_row_groups and skip >= at + metadata.row_group(group).num_rows:
            at += metadata.row_group(group).num_rows
            group += 1
        groups = list(range(group, metadata.num_row_groups))
        with reading(self._path, "Parquet file"):
            _check_cells(self._facts or [], needed, self._path)
            # Threads of Arrow's own would take the core on which the learner runs.
            for batch in self._file.iter_batches(rows, groups, list(needed), use_threads=False):
                batch.validate(full=True)  # that texts are texts
                _check_lengths(batch, self._path)
                yield arrow_chunk(batch, at)
                at += len(batch)

    def close(self) -> None:
        self._file.close()
        self._input.close()


class _ArrowTable:
    n_rows = None
    typed = True

    def __init__(self, path: str, store: Store) -> None:
        self._path = path
        with reading(path, "Arrow file or stream"):
            self._input = _open_arrow(path, store)
            self._reader = self._open(None)
            self.names = list(self._reader.schema.names)
        check_width(len(self.names), path)

    def _open(self, fields: list[int] | None) -> Any:
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=fields)
        if self._path != STDIN:
            self._input.seek(0)
            if self._input.read(6) == b"ARROW1":
                return pa.ipc.open_file(self._input, options=options)
            self._input.seek(0)
        return pa.ipc.open_stream(self._input, options=options)

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        at = 0
        with reading(self._path, "Arrow file or stream"):
            reader = self._reader
            if self._path != STDIN:
                reader = self._open([self.names.index(name) for name in needed])
            for batch in _arrow_batches(reader):
                batch.validate(full=True)  # before it is cut: a damaged one would end the process
                _check_lengths(batch, self._path)
                for start in range(0, len(batch), rows):
                    piece = batch.slice(start, rows)
                    yield arrow_chunk(piece, at)
                    at += len(piece)

    def misses(self, names: Sequence[str]) -> bool:
        return False

    def close(self) -> None:
        self._input.close()


def _open_arrow(path: str, store: Store) -> Any:
    if path == STDIN:
        peek = getattr(sys.stdin.buffer, "peek", None)
        if peek is not None and peek(6).startswith(b"ARROW1"):
            got = "an Arrow file, which is read from its end"
            raise fail(name_of(path), "an Arrow stream", got, "save it first")
        stream = pa.PythonFile(sys.stdin.buffer, mode="r")
        standard_input.add(stream)
        return stream
    file = store.open(path)
    if file.size() == 0:
        raise fail(path, "an Arrow file or stream", "an empty file")
    return file


def _arrow_batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
    else:
        yield from reader


def check_width(columns: int, path: str) -> None:
    """Refuse tables of very many columns, which take long to look through."""
    if columns > _MOST_COLUMNS:
        raise fail(name_of(path), f"at most {_MOST_COLUMNS:,} columns", f"{columns:,}")


def _check_cells(columns: Sequence[ColumnFacts], needed: Sequence[str], path: str) -> None:
    """Refuse what a few rows would unpack to, before it is unpacked: a kB can hold 10⁸ numbers."""
    for column in columns:
        size = max(column.numbers, column.size // 8)
        if column.name in needed and size > _LARGEST_CELL * max(column.rows, 1):
            raise _too_large(column.name, path)


def _check_lengths(batch: Any, path: str) -> None:
    """Refuse cells that are longer than any observation, or name of a state."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        kind = column.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            lengths = pc.list_value_length(column)
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            lengths = pc.binary_length(column)
        else:
            continue
        if (pc.max(lengths).as_py() or 0) > _LARGEST_CELL:
            raise _too_large(name, path)


def _too_large(column: str, path: str) -> InvalidInputError:
    expected = f"cells of at most {_LARGEST_CELL:,} numbers or bytes"
    return fail(f"{name_of(path)}, {column}", expected, "larger ones", "leave the column out")


def arrow_chunk(batch: Any, at: int) -> Chunk:
    """Return a record batch as the rows after the first ``at``."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return Chunk(columns, len(batch), at + 1, at + len(batch) + 1)


def numbers_without(first: int, n: int, lost: list[int]) -> IntArray:
    """Return the numbers of n rows from ``first`` on, when the numbers in ``lost`` are missing."""
    candidates = np.arange(first, first + n + len(lost))
    return candidates[~np.isin(candidates, lost)][:n]
