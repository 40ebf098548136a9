"""Tables in numbered pieces that are made when they are read: Dask's frames, datasets of Arrow.

A piece is in memory while its rows are looked at, and whoever sums a part makes its pieces again:
nothing but how to make them is sent to other processes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa

from lincat._arguments import fail, reason
from lincat.tables.fingerprints import Fingerprint, digest_of
from lincat.tables.readers import Chunk, Table, arrow_chunk
from lincat.tables.times import WithTimes


class Pieces(Protocol):
    """What makes the pieces."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def lengths(self) -> Sequence[int]:
        """The rows of each piece."""

    @property
    def digest(self) -> str:
        """What tells it from others, beside the number of rows."""

    def make(self, number: int, columns: Sequence[str]) -> Any:
        """Return a piece: a frame of pandas, or a table of Arrow."""


@dataclass(frozen=True, eq=False)
class DaskPieces:
    """The partitions of a frame of Dask, made by one thread where they are read."""

    frame: Any
    lengths: Sequence[int]

    @classmethod
    def of(cls, frame: Any) -> DaskPieces:
        """Count the rows of each partition, by the current client of Dask if there is one."""
        futures_of = getattr(sys.modules.get("distributed"), "futures_of", None)
        if futures_of is not None and futures_of(frame):
            got = "one that is persisted: its rows are with the workers"
            remedy = "give it as it was before persist(), or write it as Parquet"
            raise fail("source", "a Dask frame that can be made anywhere", got, remedy)
        counts = frame.map_partitions(len, meta=("rows", "int64")).compute()
        return cls(frame, [int(n) for n in counts])

    @property
    def names(self) -> Sequence[str]:
        """The columns."""
        return [str(name) for name in self.frame.columns]

    @property
    def digest(self) -> str:
        """What Dask calls the frame: a checksum of how it is made."""
        return str(self.frame._name)

    def make(self, number: int, columns: Sequence[str]) -> Any:
        """Return a partition, as a frame of pandas."""
        chosen = self.frame[list(columns)].partitions[number]
        return chosen.compute(scheduler="synchronous")


@dataclass(frozen=True, eq=False)
class DatasetPieces:
    """The row groups of a dataset's Parquet files, or its other files."""

    dataset: Any
    fragments: Sequence[Any]
    lengths: Sequence[int]

    @classmethod
    def of(cls, dataset: Any) -> DatasetPieces | None:
        """Look into its files; None where it is filtered, and has none that can be told apart."""
        try:
            fragments = list(dataset.get_fragments())
        except ValueError:
            return None
        if all(hasattr(fragment, "split_by_row_group") for fragment in fragments):
            groups = [group for x in fragments for group in x.split_by_row_group()]
            return cls(dataset, groups, [sum(g.num_rows for g in x.row_groups) for x in groups])
        return cls(dataset, fragments, [fragment.count_rows() for fragment in fragments])

    @property
    def names(self) -> Sequence[str]:
        """The columns, those of its partitioning too."""
        return list(self.dataset.schema.names)

    @property
    def digest(self) -> str:
        """Of its schema, its files and its first rows."""
        files = [getattr(fragment, "path", "") for fragment in self.fragments]
        return digest_of([str(self.dataset.schema), files, self.dataset.head(100).to_pydict()])

    def make(self, number: int, columns: Sequence[str]) -> Any:
        """Return a row group, or a file."""
        schema = self.dataset.schema
        return self.fragments[number].to_table(schema=schema, columns=list(columns))


@dataclass(frozen=True)
class PiecesPlace:
    """A table in pieces, which can be read from any of them on."""

    name: str
    pieces: Pieces = field(repr=False)
    format: str = field(default="frame", init=False)
    once: bool = field(default=False, init=False)
    exact: bool = field(default=True, init=False)
    near: bool = field(default=True, init=False)

    def open(self, *, stop: bool) -> Table:
        """Return a reader of it."""
        return WithTimes(_PiecesTable(self.name, self.pieces))

    def count(self) -> int:
        """Return the number of rows."""
        return sum(self.pieces.lengths)

    def groups(self) -> list[int]:
        """Return the rows of each piece."""
        return list(self.pieces.lengths)

    def fingerprint(self, columns: Sequence[str], upto: Fingerprint | None = None) -> Fingerprint:
        """Return that of how it is made."""
        return Fingerprint(self.name, self.count(), self.pieces.digest)


def pieces_of(source: Any) -> Pieces | None:
    """Return the pieces of a Dask frame or a dataset of Arrow; None for anything else.

    Examples
    --------
    >>> import pyarrow, pyarrow.dataset
    >>> from lincat.tables.pieces import pieces_of
    >>> table = pyarrow.table({"state": [0, 1], "reward": [1.0, 0.0]})
    >>> pieces_of(pyarrow.dataset.dataset(table)).lengths, pieces_of(table)
    ([2], None)
    """
    if is_dask_frame(source):
        return DaskPieces.of(source)
    return DatasetPieces.of(source) if is_dataset(source) else None


def is_dask_frame(source: Any) -> bool:
    """Return whether something is a frame of Dask, which is not imported for it."""
    is_dask = type(source).__module__.partition(".")[0] == "dask"
    return is_dask and all(hasattr(source, x) for x in ("partitions", "map_partitions", "columns"))


def is_dataset(source: Any) -> bool:
    """Return whether something is a dataset of Arrow."""
    kind = getattr(sys.modules.get("pyarrow.dataset"), "Dataset", None)
    return kind is not None and isinstance(source, kind)


def arrow_table(frame: Any, name: str) -> Any:
    """Return a frame, which messages call so, as a table of Arrow."""
    try:
        frame = frame.to_table() if is_dataset(frame) else frame
        table = pa.table(dict(frame) if isinstance(frame, Mapping) else frame)
    except Exception as error:  # other people's code: anything can come
        remedy = "leave such columns out, if they are not needed"
        raise fail(name, "columns that Arrow can hold", reason(error), remedy) from error
    # What pandas calls an index without a name: the rows that a selection has left, say.
    named = [x for x in table.schema.names if not re.fullmatch(r"__index_level_\d+__", x)]
    return _plain(table.select(named))


def _plain(table: Any) -> Any:
    """Texts as files have them: other libraries keep them as views, or numbered."""
    for i, column in enumerate(table.schema):
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if getattr(pa.types, "is_string_view", lambda _: False)(kind):
            kind = pa.large_string()
        if kind != column.type:
            table = table.set_column(i, column.name, table.column(i).cast(kind))
    return table


class _PiecesTable:
    typed = True

    def __init__(self, name: str, pieces: Pieces) -> None:
        self._name = name
        self._pieces: Any = pieces
        self.names: Sequence[str] = pieces.names
        self.n_rows = sum(pieces.lengths)

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        at = 0
        for number, n in enumerate(self._pieces.lengths):
            if skip >= at + n:
                at += n
                continue
            for batch in self._made(number, needed).to_batches(max_chunksize=rows):
                yield arrow_chunk(batch, at)
                at += len(batch)

    def _made(self, number: int, needed: Sequence[str]) -> Any:
        wanted = tuple(name for name in self.names if name in needed)
        where = f"{self._name}, piece {number}"
        try:
            piece = _kept(self._pieces, number, wanted)
        except Exception as error:  # other people's code: anything can come
            raise fail(where, "one that can be made here", reason(error)) from None
        table = arrow_table(piece, self._name)
        if table.num_rows != self._pieces.lengths[number]:
            expected = f"the {self._pieces.lengths[number]:,} rows that it had"
            raise fail(where, expected, f"{table.num_rows:,}")
        return table.select(wanted)

    def misses(self, names: Sequence[str]) -> bool:
        return False

    def close(self) -> None:
        pass


# The rows after a stretch tell where its last steps end: a piece is looked into twice.
@lru_cache(maxsize=2)
def _kept(pieces: Any, number: int, columns: tuple[str, ...]) -> Any:
    return pieces.make(number, columns)
