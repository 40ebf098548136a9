"""CSV and JSON lines as chunks of columns.

Texts have no types, and a bad cell should cost one row and be named. So CSV cells are read as text,
and JSON values as they come; they become numbers where they are checked.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from bisect import insort
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lincat._arguments import InvalidInputError, fail
from lincat._json import NOT_JSON
from lincat._typing import IntArray
from lincat.tables.readers import (
    Chunk,
    check_width,
    input_bytes,
    name_of,
    numbers_without,
    reading,
)
from lincat.tables.stores import DISK, Store

_BLOCK = 1 << 20  # bytes read at a time
# Bytes: a number takes two in JSON, and thirty in Python. An array has all rows in a line.
_LONGEST_LINE, _LONGEST_ARRAY = 1 << 23, 1 << 26
_DECIMAL_COMMA = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
# The file that Arrow read last. Its reading thread lets go of a file a moment after the last row is
# out; were nobody else to hold it, that takes the interpreter, and a process that is ending aborts.
_read_last: list[Any] = []


def bad_row(path: str, row: int | str, expected: str, got: str) -> InvalidInputError:
    """Return the error for a row that cannot be used."""
    remedy = "fix it, or leave such rows out (on_bad_rows = skip)"
    if got == "nothing":
        remedy += ", or let observations miss it (missing = indicator)"
    return fail(f"{name_of(path)}, row {row}", expected, got, remedy)


class CsvTable:
    """A CSV file with a header; the separator is a comma, semicolon or tab, as in the header."""

    n_rows = None
    typed = False

    def __init__(self, path: str, *, stop: bool, store: Store = DISK) -> None:
        self._path, self._stop = path, stop
        self._lost: list[int] = []
        self._error: Exception | None = None
        with reading(path, "CSV file"):
            self._input = input_bytes(path, store)
            line, self._rest = _first_line(self._input, path)
        try:
            header = line.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise fail(name_of(path), "text in UTF-8", "other bytes in the header") from None
        if "\r" in header or "\n" in header:
            remedy = "convert it: tr '\\r' '\\n'"
            raise fail(name_of(path), "lines that end with a newline", "carriage returns", remedy)
        self._delimiter = max(",;\t", key=header.count)
        check_width(header.count(self._delimiter) + 1, path)
        with reading(path, "CSV file"):
            cells = next(csv.reader([header], delimiter=self._delimiter), [])
        self.names = [x.strip() for x in cells]
        if not any(self.names):
            raise fail(name_of(path), "a CSV file with a header", "an empty file")

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield chunks of texts."""
        self._rest = self._rest or self._input.read(_BLOCK)
        if not self._rest:
            return  # Arrow calls a table without rows an error
        at = 1
        source = pa.PythonFile(_Rest(self._rest, self._input), mode="r")
        _read_last[:] = [source]
        with reading(self._path, "CSV file"):
            reader = arrow_csv.open_csv(
                source,
                read_options=arrow_csv.ReadOptions(
                    column_names=self.names, use_threads=False, block_size=_BLOCK
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter, invalid_row_handler=self._on_lost
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(needed),
                    column_types=dict.fromkeys(needed, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            for batch in reader:
                for start in range(0, len(batch), rows):
                    piece = batch.slice(start, rows)
                    columns = {name: self._cells(piece.column(name)) for name in needed}
                    chunk = self._numbered(columns, len(piece), at)
                    yield chunk
                    if self._error is not None:
                        raise self._error
                    at = chunk.stop
        if self._error is not None:
            raise self._error
        if self._lost:
            yield self._numbered({}, 0, at)

    def _cells(self, values: Any) -> Any:
        """Decimal commas as points, where no comma separates cells."""
        if self._delimiter == "," or not pc.any(pc.match_substring(values, ",")).as_py():
            return values
        return pc.replace_substring_regex(values, _DECIMAL_COMMA, r"\1.\2")

    def _on_lost(self, row: Any) -> str:
        if self._stop:
            got = f"{row.actual_columns}: {row.text[:60]!r}"
            error = bad_row(self._path, row.number, f"{row.expected_columns} cells", got)
            self._error = self._error or error
        insort(self._lost, row.number)
        return "skip"

    def _numbered(self, columns: dict[str, Any], n: int, at: int) -> Chunk:
        """Give rows their numbers: Arrow's batches do not show where it left rows out."""
        if not self._lost:
            return Chunk(columns, n, at, at + n)
        if self._error is not None:  # what comes before that row can be used
            good = min(max(self._lost[0] - at, 0), n)
            return Chunk({x: v.slice(0, good) for x, v in columns.items()}, good, at, at + good)
        numbers = numbers_without(at, n, self._lost)
        stop = int(numbers[-1]) + 1 if n else self._lost[-1] + 1
        self._lost = [row for row in self._lost if row >= stop]
        return Chunk(columns, n, at, stop, numbers)

    def misses(self, names: Sequence[str]) -> bool:
        """Texts do not tell beforehand."""
        return False

    def close(self) -> None:
        """Close the file."""
        self._input.close()


class JsonTable:
    """JSON lines: an object in each line, with the same keys. Empty lines are passed over.

    An array of objects, as pandas writes it, will do too; it is read as a whole.
    """

    n_rows = None
    typed = False

    def __init__(self, path: str, *, stop: bool, store: Store = DISK) -> None:
        self._path, self._stop = path, stop
        self._error: Exception | None = None
        with reading(path, "file of JSON lines"):
            self._input = input_bytes(path, store)
            self._blocks = _objects(_blocks(self._input, path))
            self._begun: list[list[bytes]] = []  # read while looking for the names of columns
            self.names = list(self._first_object())
        check_width(len(self.names), path)

    def _first_object(self) -> dict[str, Any]:
        """Return the first line that can be used."""
        for lines in self._blocks:
            self._begun.append(lines)
            for line in lines:
                try:
                    first = msgspec.json.decode(line)
                except NOT_JSON:
                    first = None
                if isinstance(first, dict):
                    return first
                if self._stop:
                    shown = repr(line.strip()[:60].decode(errors="replace"))
                    raise bad_row(self._path, 1, "a JSON object that names the columns", shown)
            if sum(len(line) for block in self._begun for line in block) > _LONGEST_LINE:
                break
        got = "no object" if self._begun else "an empty file"
        raise fail(name_of(self._path), "JSON lines", got)

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield chunks of lists of Python values; None where a line has no such key."""
        fields = [(f"c{i}", Any, None) for i in range(len(needed))]
        names = {f"c{i}": name for i, name in enumerate(needed)}
        row_type = msgspec.defstruct("Row", fields, rename=names, gc=False)
        decoder = msgspec.json.Decoder(row_type)
        at = 1
        with reading(self._path, "file of JSON lines"):
            for lines in itertools.chain(self._begun, self._blocks):
                for start in range(0, len(lines), rows):
                    chunk = self._decode(lines[start : start + rows], decoder, needed, at)
                    yield chunk
                    if self._error is not None:
                        raise self._error
                    at = chunk.stop

    def _decode(self, lines: list[bytes], decoder: Any, needed: Sequence[str], at: int) -> Chunk:
        numbers: IntArray | None = None
        try:
            values = [decoder.decode(line) for line in lines]
        except NOT_JSON:
            values, numbers = self._decode_one_by_one(lines, decoder, at)
        cells = zip(*map(msgspec.structs.astuple, values), strict=True)
        columns = dict(zip(needed, map(list, cells), strict=True)) if values else {}
        return Chunk(columns, len(values), at, at + len(lines), numbers)

    def _decode_one_by_one(
        self, lines: list[bytes], decoder: Any, at: int
    ) -> tuple[list[Any], IntArray]:
        values, numbers = [], []
        for row, line in enumerate(lines, at):
            try:
                values.append(decoder.decode(line))
                numbers.append(row)
            except NOT_JSON as error:
                if self._stop:  # what comes before that row can be used
                    shown = f"{line[:60].decode(errors='replace')!r} ({error})"
                    self._error = bad_row(self._path, row, "a JSON object", shown)
                    break
        return values, np.array(numbers, dtype=np.int64)

    def misses(self, names: Sequence[str]) -> bool:
        """Texts do not tell beforehand."""
        return False

    def close(self) -> None:
        """Close the file."""
        self._input.close()


class _Rest:
    """What is left of a stream after its beginning was read, for Arrow to read on.

    Bytes that are no UTF-8 become U+FFFD, which no number has and no text may have: so they are bad
    cells, and not an error without a row.
    """

    closed = False

    def __init__(self, rest: bytes, stream: Any) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest, self._stream = self._decoder.decode(rest).encode(), stream

    def read(self, n: int = -1) -> bytes:
        more = True
        while not self._rest and more:
            piece = self._stream.read(_BLOCK if n < 0 else n)
            more = bool(piece)
            self._rest = self._decoder.decode(piece, not more).encode()
        n = len(self._rest) if n < 0 else n
        piece, self._rest = self._rest[:n], self._rest[n:]
        return piece

    def close(self) -> None:
        self.closed = True


def _first_line(stream: Any, path: str) -> tuple[bytes, bytes]:
    """Return the first line of a stream and what was read beyond it."""
    rest = b""
    while b"\n" not in rest:
        more = stream.read(_BLOCK)
        if not more:
            return rest, b""
        rest += more
        _check_length(rest, path)
    end = rest.index(b"\n") + 1
    return rest[:end], rest[end:]


def _blocks(stream: Any, path: str) -> Iterator[list[bytes]]:
    """Yield the lines of a stream, a block of them at a time, without their ends."""
    pending, limit = b"", 0
    while more := stream.read(_BLOCK):
        pending += more
        limit = limit or (_LONGEST_ARRAY if pending.lstrip().startswith(b"[") else _LONGEST_LINE)
        end = pending.rfind(b"\n") + 1
        if end:
            yield _lines(pending[:end])
            pending = pending[end:]
        _check_length(pending, path, limit)
    if pending:
        yield _lines(pending)


def _objects(blocks: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    """Yield blocks as they are, or the objects of an array, if it is one."""
    first = next(blocks, None)
    if first is None:
        return
    if first and first[0].lstrip().startswith(b"["):
        try:
            content = b"\n".join([*first, *itertools.chain.from_iterable(blocks)])
            yield [bytes(one) for one in msgspec.json.decode(content, type=list[msgspec.Raw])]
            return
        except NOT_JSON as error:
            raise ValueError(f"an array that is no JSON ({error})") from None
    yield first
    yield from blocks


def _lines(block: bytes) -> list[bytes]:
    return [line for line in block.split(b"\n") if line and not line.isspace()]


def _check_length(line: bytes, path: str, limit: int = _LONGEST_LINE) -> None:
    if len(line) > limit:
        raise fail(name_of(path), f"lines of less than {limit:,} bytes", "a longer one")
