"""Observations alone, as asked about: from a table, or a JSON list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat.tables.asked import json_values
from lincat.tables.columns import Columns, Found, find_columns
from lincat.tables.layout import check_types, find_layout
from lincat.tables.readers import STDIN, Chunk, format_of, name_of, open_table
from lincat.tables.rows import checked_observations


def read_observations(
    path: str | Path, *, columns: Columns | None = None, format: str | None = None
) -> Any:
    """Return the observations of a file: points of shape (n, m), or n ids.

    Parameters
    ----------
    path : str or Path
        A table as :class:`~lincat.tables.file_source.FileSource` reads it, of which only the
        observation columns are needed; or a .json file with a list of observations, or of objects.
    columns : Columns, optional
        Only ``observation`` and ``kind`` are looked at.
    format : "parquet", "csv", "jsonl", "arrow" or "json", optional
        By default as the file's name ends.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.read_observations import read_observations
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "states.json"
    >>> _ = file.write_text("[[0.0, 1.0], [2.0, 3.0]]")
    >>> read_observations(file)
    array([[0., 1.],
           [2., 3.]])
    """
    path, columns = str(path), Columns() if columns is None else columns
    name = name_of(path)
    if format == "json" or (format is None and path.lower().endswith(".json")):
        return _from_json(path, columns)
    table = open_table(path, format_of(path, format), stop=True)
    found = find_columns(columns, table.names, name, observations_only=True)
    parts: list[Any] = []
    layout = None
    for chunk in table.chunks(found.needed, 32768):
        if chunk.n_rows:
            if layout is None:
                layout = find_layout(found, columns, chunk, name, typed=table.typed)
                if table.typed:
                    check_types(layout, chunk, name)
            parts.append(checked_observations(chunk, layout, name))
    if path != STDIN:
        table.close()
    if not parts:
        raise fail(name, "observations", "none")
    return np.concatenate(parts)


def _from_json(path: str, columns: Columns) -> Any:
    values = json_values(path)
    if isinstance(values[0], dict):
        names = list(values[0])
        found = find_columns(columns, names, path, observations_only=True)
        rows = [value if isinstance(value, dict) else {} for value in values]
        cells = {name: [row.get(name) for row in rows] for name in found.needed}
    else:
        found = Found(("observation",), None, None)
        cells = {"observation": values}
    chunk = Chunk(cells, len(values), 1, len(values) + 1)
    layout = find_layout(found, columns, chunk, path, typed=False)
    return checked_observations(chunk, layout, path)
