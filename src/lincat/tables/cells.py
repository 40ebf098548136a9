"""Cells of a column as NumPy arrays: numbers, flags, integers, texts and vectors.

Each function takes an Arrow array, or a list of Python values, and returns an array in which a cell
that is not what was asked for is NaN (numbers, vectors), or marked (integers, texts). Nothing is
raised for a bad cell: it is a bad row, and the caller names it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lincat import _text
from lincat._typing import BoolArray, FloatArray, IntArray

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_INTEGER = r"^[+-]?\d{1,18}$"
# What stands for a number that is not there, beside an empty cell.
_NOTHING = ("", "na", "n/a", "nan", "null", "none")


def kind_of(values: Any, *, typed: bool) -> str:
    """Return what a column holds: float32, number, integer, flag, text, list, or its Arrow type.

    Without types (CSV, JSON) the cells tell; what more than half of them are not is not meant.
    """
    if isinstance(values, list):
        return _kind_of_values(values)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if _is_text(kind) and not typed:
        trimmed = pc.utf8_trim_whitespace(values)
        whole = pc.sum(pc.match_substring_regex(trimmed, _INTEGER)).as_py() or 0
        decimal = pc.sum(pc.match_substring_regex(trimmed, _NUMBER)).as_py() or 0
        if not decimal or 2 * decimal < len(values) - int(missing_numbers(values).sum()):
            return "text"
        return "integer" if whole == decimal else "number"
    if pa.types.is_float32(kind):
        return "float32"
    if pa.types.is_boolean(kind):
        return "flag"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_integer(kind):
        return "integer"
    if _is_text(kind):
        return "text"
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if any(is_list(kind) for is_list in lists):
        inner = kind.value_type
        if pa.types.is_float32(inner):
            return "list of float32"
        if pa.types.is_floating(inner) or pa.types.is_integer(inner):
            return "list"
    return f"type {kind}"


def _kind_of_values(values: list[Any]) -> str:
    counts = {"flag": 0, "integer": 0, "number": 0, "text": 0, "list": 0}
    for value in values:
        for name, cls in zip(counts, (bool, int, float, str, list), strict=True):
            if isinstance(value, cls):
                counts[name] += 1
                break
    if counts["number"]:
        counts["number"] += counts["integer"]
        counts["integer"] = 0
    return max(counts, key=lambda name: counts[name])


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def shown(values: Any, i: int) -> str:
    """Return one cell for a message."""
    value = values[i] if isinstance(values, list) else values[i].as_py()
    if value is None or value == "":
        return "nothing"
    return _text.shown(value, 60)


def numbers(values: Any, dtype: Any = np.float64) -> FloatArray:
    """Return numbers; NaN for whatever is none."""
    kind = pa.float64() if dtype == np.float64 else pa.from_numpy_dtype(dtype)
    if isinstance(values, list):
        try:
            values = pa.array(values, type=kind)
        except (pa.ArrowException, TypeError, OverflowError):
            return np.array([_number(value) for value in values], dtype=dtype)
    if values.type != kind:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if _is_text(values.type):
            values = _parsed(values, _NUMBER, kind)
        else:
            values = pc.cast(values, kind, safe=False)
    if values.null_count:
        values = pc.fill_null(values, np.nan)
    array: FloatArray = values.to_numpy(zero_copy_only=False)
    return array


def missing_numbers(values: Any) -> BoolArray:
    """Return where a column of numbers has none: nothing, NaN, or a word for it, shape (n,)."""
    if isinstance(values, list):
        return np.array([_is_nothing(value) for value in values], dtype=bool)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if _is_text(values.type):
        words = pa.array(_NOTHING, type=values.type)
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        nothing = pc.is_in(lower, value_set=words)
        nothing = pc.or_(pc.is_null(values), pc.fill_null(nothing, True))
    else:
        nothing = pc.is_null(values, nan_is_null=True)
    return np.asarray(nothing.to_numpy(zero_copy_only=False), dtype=bool)


def _is_nothing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or value != value


def missing_texts(values: Any) -> BoolArray:
    """Return where a column of texts has none, shape (n,)."""
    if isinstance(values, list):
        return np.array([value is None or value == "" for value in values], dtype=bool)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    nothing = pc.fill_null(pc.equal(values, pa.scalar("", values.type)), True)
    return np.asarray(nothing.to_numpy(zero_copy_only=False), dtype=bool)


def _parsed(values: Any, pattern: str, kind: Any) -> Any:
    """Return texts as numbers, null where they are none."""
    try:
        return pc.cast(values, kind)
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim_whitespace(values)
        good = pc.match_substring_regex(trimmed, pattern)
        return pc.cast(pc.if_else(good, trimmed, pa.scalar(None, trimmed.type)), kind)


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


def flags(values: Any) -> tuple[BoolArray, BoolArray | None]:
    """Return booleans, and where there was something else than true, false, 0 or 1."""
    if isinstance(values, list):
        try:
            values = pa.array(values, type=pa.bool_())
        except (pa.ArrowException, TypeError):
            pass
    if not isinstance(values, list):
        if pa.types.is_boolean(values.type) and not values.null_count:
            return values.to_numpy(zero_copy_only=False), None
        if _is_text(values.type):
            words = pa.array(["false", "true"], type=values.type)
            digits = pa.array(["0", "1"], type=values.type)
            lower = pc.utf8_lower(pc.utf8_trim_whitespace(values))
            index = pc.index_in(lower, words)
            values = pc.if_else(pc.is_valid(index), pc.take(digits, index), lower)
    found = numbers(values)
    true = found == 1.0
    bad = ~(true | (found == 0.0))
    return true, bad if bad.any() else None


def integers(values: Any) -> tuple[IntArray, BoolArray | None]:
    """Return integers, and where there was something else."""
    if isinstance(values, list):
        good = [type(value) is int and abs(value) < 2**63 for value in values]
        chosen = [value if ok else 0 for value, ok in zip(values, good, strict=True)]
        return np.array(chosen, dtype=np.int64), None if all(good) else ~np.array(good)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if _is_text(values.type):
        values = _parsed(values, _INTEGER, pa.int64())
    elif not pa.types.is_integer(values.type):
        found = numbers(values)
        good = (np.floor(found) == found) & (np.abs(found) < 2.0**63)
        return np.where(good, found, 0.0).astype(np.int64), None if good.all() else ~good
    bad = None
    if pa.types.is_uint64(values.type):  # of which not all are int64
        most = pa.scalar(2**63 - 1, pa.uint64())
        values = pc.if_else(pc.greater(values, most), pa.scalar(None, pa.uint64()), values)
    if values.null_count:
        bad = pc.is_null(values).to_numpy(zero_copy_only=False)
        values = pc.fill_null(values, 0)
    return pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False), bad


def texts(values: Any) -> tuple[Any, BoolArray | None]:
    """Return texts as an array of objects, and where there was something else.

    U+FFFD stands for bytes that could not be read.
    """
    if isinstance(values, list):
        array = np.fromiter(values, dtype=object, count=len(values))
        bad = np.array([not isinstance(value, str) for value in values], dtype=bool)
    else:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        array = values.to_numpy(zero_copy_only=False)
        broken = pc.fill_null(pc.match_substring(values, "\ufffd"), True)
        bad = broken.to_numpy(zero_copy_only=False)
    bad = bad | (array == "")
    return array, bad if bad.any() else None


def vectors(values: Any, width: int, dtype: Any) -> FloatArray:
    """Return lists of ``width`` numbers as rows; a list of another length is a row of NaN."""
    if isinstance(values, list):
        try:
            values = pa.array(values, type=pa.list_(pa.from_numpy_dtype(dtype)))
        except (pa.ArrowException, TypeError, OverflowError):
            return np.array([_vector(value, width) for value in values], dtype=dtype)
    if pa.types.is_fixed_size_list(values.type):
        fits = np.full(len(values), values.type.list_size == width)
        fits &= values.is_valid().to_numpy(zero_copy_only=False)
    else:
        lengths = pc.fill_null(pc.list_value_length(values), -1)
        fits = lengths.to_numpy(zero_copy_only=False) == width
    all_fit = bool(fits.all())
    chosen = values if all_fit else values.filter(pa.array(fits))
    rows = numbers(chosen.flatten(), dtype).reshape(-1, width)
    if all_fit:
        return rows
    array = np.full((len(values), width), np.nan, dtype=dtype)
    array[fits] = rows
    return array


def _vector(value: Any, width: int) -> list[float]:
    if not isinstance(value, list) or len(value) != width:
        return [np.nan] * width
    return [_number(number) for number in value]
