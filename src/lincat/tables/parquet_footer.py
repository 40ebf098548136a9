"""What a Parquet file says of its columns, read without running into what a damaged one holds.

Arrow's own view of a column's metadata ends the process (C++ ``terminate``) where it does not add
up. The footer is Thrift's compact protocol: numbered fields, of which these few are needed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_LARGEST = 1 << 20  # bytes: larger ones take long, and are of files that are no small bombs


@dataclass(frozen=True)
class ColumnFacts:
    """A column of a row group.

    Attributes
    ----------
    name : str
        Of the column that it is, or is a part of.
    rows : int
        Of the row group.
    numbers : int
        Values, those within lists too.
    size : int
        Bytes when unpacked; runs of equal values take next to none.
    nulls : int
        Cells that are known to be missing.
    """

    name: str
    rows: int
    numbers: int
    size: int
    nulls: int


def column_facts(file: Any, size: int) -> list[ColumnFacts] | None:
    """Return the columns of all row groups; None where the footer is too large, or is none.

    Parameters
    ----------
    file : binary file
    size : int
        Its bytes.

    Examples
    --------
    >>> import io
    >>> import pyarrow, pyarrow.parquet
    >>> from lincat.tables.parquet_footer import column_facts
    >>> file = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"x": [1, None]}), file)
    >>> [(x.name, x.rows, x.numbers, x.nulls) for x in column_facts(file, file.tell())]
    [('x', 2, 2, 1)]
    """
    content = _footer(file, size)
    return None if content is None else _facts_in(content)


@lru_cache(maxsize=8)  # a file is opened for each of its parts, and some footers take 10 ms
def _facts_in(content: bytes) -> list[ColumnFacts] | None:
    try:
        groups = _Thrift(content).struct().get(4, [])
        return [
            ColumnFacts(
                name=chunk[3][3][0].decode(),
                rows=group[3],
                numbers=chunk[3][5],
                size=chunk[3][6],
                nulls=chunk[3].get(12, {}).get(3, 0),
            )
            for group in groups
            for chunk in group[1]
        ]
    except (LookupError, TypeError, ValueError, AttributeError, struct.error, RecursionError):
        return None  # Arrow, which reads it next, says what is wrong


def _footer(file: Any, whole: int) -> bytes | None:
    file.seek(max(0, whole - 8))
    end = file.read(8)
    size = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or size > min(_LARGEST, whole - 8):
        return None
    file.seek(whole - 8 - size)
    content: bytes = file.read(size)
    return content


class _Thrift:
    """A reader of the compact protocol; structs are dictionaries by the numbers of their fields."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            # A flag is its own type.
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return struct.unpack("<d", self._take(8))[0]
        if kind == 8:
            return self._take(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(n)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"a type {kind} that Parquet does not have")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, n: int) -> bytes:
        piece = self._content[self._at : self._at + n]
        if len(piece) < n:
            raise ValueError("an end too early")
        self._at += n
        return piece

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _signed(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
