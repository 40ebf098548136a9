"""Observations with texts among their numbers: mixed rows, a structured NumPy array.

Its fields are the columns, by name: float64, NaN where a number is missing, or Python texts, None
where one is missing. Rows are cut, joined and chosen as those of any other array are, so that
they flow where points and ids do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lincat._typing import BoolArray, FloatArray


def mixed_of(columns: Mapping[str, Any]) -> Any:
    """Return mixed rows of columns of equal length: arrays of numbers, or of texts (objects).

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.mixed import mixed_of, rows_of
    >>> frame = mixed_of({"site": np.array(["a", None], object), "load": np.array([0.5, np.nan])})
    >>> rows_of(frame)
    [('a', 0.5), (None, None)]
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    kinds = [(name, object if x.dtype.kind == "O" else np.float64) for name, x in arrays.items()]
    frame = np.empty(len(next(iter(arrays.values()))), dtype=kinds)
    for name, values in arrays.items():
        frame[name] = values
    return frame


def is_mixed(observations: Any) -> bool:
    """Whether these observations are mixed rows."""
    dtype = getattr(observations, "dtype", None)
    return getattr(dtype, "names", None) is not None


def is_text(frame: Any, name: str) -> bool:
    """Whether a column holds texts."""
    return bool(frame.dtype[name].hasobject)


def is_missing(column: Any) -> BoolArray:
    """Return which cells of a column are missing, shape (n,)."""
    missing: BoolArray = column == None if column.dtype == object else np.isnan(column)  # noqa: E711 - elementwise
    return missing


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows as tuples, with None for what is missing."""
    columns = []
    for name in frame.dtype.names:
        values = frame[name].tolist()
        if not is_text(frame, name) and np.isnan(frame[name]).any():
            values = [None if x != x else x for x in values]
        columns.append(values)
    return list(zip(*columns, strict=True))


def differing(left: Any, right: Any) -> BoolArray:
    """Return which mixed rows of two arrays differ, shape (n,); what is missing is alike."""
    differs: BoolArray = np.zeros(len(left), dtype=bool)
    for name in left.dtype.names:
        one, other = left[name], right[name]
        apart = np.asarray(one != other, dtype=bool)
        if not is_text(left, name):
            apart &= ~(np.isnan(one) & np.isnan(other))
        differs |= apart
    return differs


def coordinates(frame: Any, reference: Any) -> FloatArray:
    """Return points, shape (n, m), whose distances say how alike rows are.

    Numbers in standard deviations of ``reference``, what is missing at their mean; for each text of
    ``reference`` whether it is that one.
    """
    columns: list[FloatArray] = []
    for name in reference.dtype.names:
        known = reference[name]
        if is_text(reference, name):
            levels = dict.fromkeys(known.tolist())
            columns += [np.asarray(frame[name] == level, dtype=np.float64) for level in levels]
            continue
        there = known[~np.isnan(known)]
        spread = float(there.std()) if there.size else 0.0
        middle = float(there.mean()) if there.size else 0.0
        columns.append(np.nan_to_num((frame[name] - middle) / (spread or 1.0)))
    return np.stack(columns, axis=1)
