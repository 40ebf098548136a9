"""What tells one source from another: where it is, how much of it there is, and what is in it.

Files are compared byte by byte; of one above 4 MB, a thousand blocks all over it are (eight larger
ones where it is fetched from a store). Files that are written again to add rows (Parquet, Arrow)
are known by their first rows too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from lincat._reach import Words
from lincat.tables.readers import Table, reading
from lincat.tables.stores import DISK, Store

_WHOLE: Final = 1 << 22  # bytes that are all looked at
_BLOCKS: Final = 1024
_BLOCK: Final = 4096
_FAR_BLOCKS: Final = 8  # of a file in a store, where each is a request
_FAR_BLOCK: Final = 1 << 16
_ROWS: Final = 1000


class Fingerprint(msgspec.Struct, frozen=True):
    """A part of a source.

    Attributes
    ----------
    name : str
        Where it is: an absolute path, or what it is called.
    extent : int
        Bytes, or rows.
    digest : str
        Of what is in them.
    first_rows : int
        How many are behind ``first``; 0 where more is added at the end.
    first : str
    """

    name: Words
    extent: int
    digest: Words
    first_rows: int = 0
    first: Words = ""

    def with_more(self, now: Fingerprint, upto: Fingerprint) -> bool:
        """Return whether ``now`` is this with more at its end; ``upto`` is now as far as this."""
        if self.first_rows:
            return (self.first_rows, self.first) == (upto.first_rows, upto.first)
        return now.extent >= self.extent and upto.digest == self.digest


def of_file(path: str, upto: Fingerprint | None = None, store: Store = DISK) -> Fingerprint:
    r"""Return that of a file, or of as much of it as another one knew.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.fingerprints import of_file
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("state,reward\na,1\n")
    >>> before = of_file(str(file))
    >>> _ = file.write_text("state,reward\na,1\nb,2\n")
    >>> now = of_file(str(file))
    >>> now == before, before.with_more(now, of_file(str(file), upto=before))
    (False, True)
    """
    with reading(path, "file"):
        extent = store.size(path) if upto is None else upto.extent
        blocks, block = (_BLOCKS, _BLOCK) if store.near else (_FAR_BLOCKS, _FAR_BLOCK)
        digest = hashlib.sha256()
        with store.open(path) as file:
            if extent <= _WHOLE:
                digest.update(file.read(extent))
            else:
                for i in range(blocks):
                    file.seek((extent - block) * i // (blocks - 1))
                    digest.update(file.read(block))
    return Fingerprint(store.place(path), extent, digest.hexdigest())


def first_of(
    table: Table, columns: Sequence[str], upto: Fingerprint | None = None
) -> tuple[int, str]:
    """Return how many first rows of a table were looked at, and a checksum of them."""
    wanted = _ROWS if upto is None else upto.first_rows
    for chunk in table.chunks(columns, wanted):
        values = {name: _cells(chunk.columns[name], wanted) for name in columns}
        return min(chunk.n_rows, wanted), digest_of([values])
    return 0, ""


def of_rows(name: str, table: pa.Table, upto: Fingerprint | None = None) -> Fingerprint:
    """Return that of a table in memory: all of a small one, both ends of another."""
    extent = table.num_rows if upto is None else upto.extent
    known = table.slice(0, extent)
    ends = [known.slice(0, 10 * _ROWS), known.slice(max(extent - 10 * _ROWS, 0))]
    return Fingerprint(name, extent, digest_of([str(table.schema), *(x.to_pydict() for x in ends)]))


def digest_of(values: Iterable[Any]) -> str:
    """Return a checksum of how values are written; of arrays, of their bytes."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
    return digest.hexdigest()


def _cells(column: Any, n: int) -> list[Any]:
    return column.slice(0, n).to_pylist() if hasattr(column, "to_pylist") else list(column[:n])
