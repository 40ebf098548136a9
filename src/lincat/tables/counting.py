"""How many rows a file has, before it is read: to hold some of them out, and for progress."""

from __future__ import annotations

import msgspec
import pyarrow as pa

from lincat._json import NOT_JSON
from lincat.tables.readers import STDIN, input_bytes, open_table
from lincat.tables.stores import DISK, Store

_BLOCK = 1 << 20


def count_rows(path: str, kind: str, store: Store = DISK) -> int | None:
    r"""Return the number of rows; of text the number of lines, which is about that.

    None where that cannot be told without reading what comes only once: standard input, pipes. A
    file that is damaged gives None too: whoever reads it says what is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.counting import count_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "log.csv"
    ...     _ = file.write_text("state,reward\na,1\nb,0")
    ...     count_rows(str(file), "csv")
    2
    """
    if path == STDIN or not store.is_file(path):
        return None
    if kind == "parquet":
        table = open_table(path, kind, stop=True, store=store)
        rows = table.n_rows
        table.close()
        return rows
    try:
        if kind == "arrow":
            return _arrow_rows(path, store)
        if path.lower().endswith(".json"):
            return _elements(path, store)
        return _lines(path, store) - (kind == "csv")
    except OSError:  # Arrow's errors are of this kind
        return None


def _lines(path: str, store: Store) -> int:
    """Lines, the last one with or without its end."""
    count, last = 0, b"\n"
    with input_bytes(path, store) as file:
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
            last = block
    return count + (not last.endswith(b"\n"))


def _elements(path: str, store: Store) -> int | None:
    """Elements of an array in JSON."""
    with input_bytes(path, store) as file:
        try:
            return len(msgspec.json.decode(file.read(), type=list[msgspec.Raw]))
        except NOT_JSON:
            return None


def _arrow_rows(path: str, store: Store) -> int:
    try:
        with pa.memory_map(path) if store.near else store.open(path) as file:
            if file.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(file)
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
                return sum(len(batch) for batch in batches)
            file.seek(0)
            return sum(len(batch) for batch in pa.ipc.open_stream(file))
    except pa.ArrowException as error:
        raise OSError(str(error)) from None
