"""Checks of observations: points, of which the features are numbers, and ids, which are names."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse

from lincat._arguments import InvalidInputError, check_plain, check_unmasked, fail
from lincat._text import shown
from lincat._typing import BoolArray, FloatArray
from lincat.data.mixed import is_mixed, rows_of


def as_points(observations: Any, width: int | None = None) -> FloatArray:
    """Return points as a contiguous array (n, m); one number each may come as (n,).

    ``width`` is the m that is wanted, if it is settled. NaN passes: the kernels look for it.
    """
    if is_mixed(observations):
        raise fail(
            "observations",
            "an array of numbers, one row for each observation",
            f"columns {', '.join(observations.dtype.names)}, with texts or missing numbers",
            'take features "mixed" or "tabular", or leave rows with missing numbers out',
        )
    if scipy.sparse.issparse(observations):
        raise fail("observations", "an array", "a sparse matrix", "toarray() makes one of it")
    try:
        array = np.asarray(observations)
        if array.dtype.kind == "c":
            raise fail("observations", "real numbers", "Complex data not supported")
        check_plain(observations, "observations")
        if array.dtype.kind in "OUSMmcV":  # strings and the like: numbers only if all of them are
            array = np.asarray(observations, dtype=np.float64)
        array = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
        if not array.flags.writeable:  # for which Numba would compile every kernel once more
            array = array.copy()
    except InvalidInputError:
        raise
    except (TypeError, ValueError):
        raise fail(
            "observations",
            "an array of numbers, one row for each observation",
            _first_other(observations),
            "for ids use tabular features",
        ) from None
    if array.ndim == 1 and width in (None, 1):
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0 or width not in (None, array.shape[1]):
        remedy = (
            "put a single observation into a list (Reshape your data)" if array.ndim == 1 else ""
        )
        expected = f"an array of shape (n, {'m' if width is None else width})"
        got = f"shape {array.shape}"
        if array.ndim == 2 and array.shape[1] == 0:
            got = f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        raise fail("observations", expected, got, remedy)
    return array


def as_rows(observations: Any) -> Any:
    """Return observations as an array of which rows can be taken, one for each.

    Lists and the like become arrays of numbers, or of ids (objects); what says itself how it is an
    array is asked.

    Examples
    --------
    >>> from lincat.features.observations import as_rows
    >>> as_rows([[0.5, 1], [2, 3]]).shape, as_rows(["a", ("b", 1)]).shape
    ((2, 2), (2,))
    """
    if isinstance(observations, np.ndarray) or scipy.sparse.issparse(observations):
        return observations
    if hasattr(observations, "__array__"):
        return np.asarray(observations)
    ids = as_ids(observations)
    with suppress(ValueError):  # of rows of different lengths
        array = np.asarray(ids)
        if array.dtype.kind in "biuf":
            return array
    rows = np.empty(len(ids), dtype=object)
    rows[:] = ids
    return rows


def finite_points(observations: Any, width: int | None = None) -> FloatArray:
    """Return points (n, m), all of them finite, at least one: a warm-up sample."""
    points = as_points(observations, width)
    if len(points) == 0:
        raise fail("observations", "a warm-up sample of at least one observation", "none")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        raise bad_row(points, int(np.argmin(finite)))
    return points


def bad_row(points: FloatArray, row: int) -> InvalidInputError:
    """Build the error for a row that a kernel stopped at."""
    bad = ~np.isfinite(points[row])
    if bad.any():
        column = int(np.argmax(bad))
        got = f"{points[row, column]} at {(row, column)}"
        return fail("observations", "finite numbers", got, "NaN and inf say nothing of a state")
    column = int(np.argmax(np.abs(points[row])))
    value = f"{points[row, column]:g} at {(row, column)}"
    return fail("observations", "numbers of the warm-up sample's order of size", value)


def as_ids(observations: Any) -> Any:
    """Return ids as an integer array (n,), or a list of other Python objects.

    Rows of a two-dimensional array become tuples.
    """
    if not hasattr(observations, "dtype"):
        if isinstance(observations, str | bytes) or not hasattr(observations, "__iter__"):
            raise fail("observations", "one id for each observation", repr(observations))
        # Not through an array, which would turn [1, "a"] into ["1", "a"].
        return [tuple(x) if isinstance(x, list) else x for x in observations]
    if is_mixed(observations):
        return rows_of(observations)
    check_unmasked(observations, "observations")
    array = np.asarray(observations)
    if array.ndim == 2:
        return list(map(tuple, array.tolist()))
    if array.ndim != 1:
        raise fail("observations", "ids of shape (n,) or (n, m)", f"shape {array.shape}")
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return array.astype(np.int64, copy=False)
    return array.tolist()


def are_numbers_below(observations: Any, n: int) -> BoolArray:
    """Return which observations are state numbers 0 .. n - 1, in one column or none."""
    check_unmasked(observations, "observations")
    array = np.asarray(observations)
    if array.dtype.kind not in "iufb" or array.size != len(array):
        return np.zeros(len(array), dtype=bool)
    numbers = array.reshape(len(array))
    return np.asarray((numbers >= 0) & (numbers < n) & (numbers == np.floor(numbers)))


def _first_other(observations: Any) -> str:
    """Say which row is not made of numbers."""
    try:
        rows = list(observations)
    except TypeError:
        return shown(observations)
    for i, row in enumerate(rows):
        try:
            np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError):
            return f"{shown(row)} at row {i}"
    return "rows of different lengths"
