"""Times in tables: as the order of steps, and as what the calendar says of them.

A column ``when`` of times has six more columns that can be read: ``when.hour.cos``,
``when.hour.sin``, and likewise for ``weekday`` and ``season``, points on a circle each, on which
midnight is beside 23:59 and December beside January. Nothing else in this package knows that the
table does not hold them.

A time is a timestamp or a date of Arrow, a text that begins like ``2024-05-31T08:30:00`` (the clock
is taken as written, whatever zone follows), or a number of seconds, milli-, micro- or nanoseconds
since 1970: which of these shows by its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.tables import cells
from lincat.tables.readers import Chunk, Table

#: What the calendar says of a time; each is a point on a circle, so two columns.
PARTS = ("hour", "weekday", "season")
_SIDES = ("cos", "sin")
_DAY = 86_400_000_000  # in microseconds
_ISO = (
    r"^\s*(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\d*\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?)?\s*$"
)
# Numbers below these, in size, are seconds, milliseconds, ...: of the years 1970 to 5138.
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0), (np.inf, 0.001))
_USUAL = 0.9  # of the gaps between rows are alike, where steps are
_JITTER = 0.01  # of a gap


@dataclass(frozen=True)
class Times:
    """Moments of n rows.

    Attributes
    ----------
    micros : array of shape (n,)
        Microseconds since 1970, by the clock.
    missing, bad : arrays of shape (n,)
        Where there is none, and where there is something else.
    """

    micros: IntArray
    missing: BoolArray
    bad: BoolArray


def is_time(values: Any) -> bool:
    """Whether a column holds times, by its type or by how most of its texts are written."""
    if isinstance(values, list):
        values = pa.array([x if isinstance(x, str) else None for x in values], pa.string())
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        return True
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return False
    alike = pc.sum(pc.match_substring_regex(values, _ISO)).as_py() or 0
    return bool(alike) and 2 * alike >= len(values) - values.null_count


def times_of(values: Any, *, clock: bool = True) -> Times:
    """Return the moments in a column of a table, or in a list of values of JSON.

    By the clock of a column's time zone; without, as it goes on where clocks are changed.
    """
    if isinstance(values, list):
        if any(isinstance(x, str) for x in values):
            values = pa.array([x if isinstance(x, str) else _text(x) for x in values], pa.string())
        else:
            values = pa.array([x if isinstance(x, int | float) else None for x in values])
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        if clock and getattr(values.type, "tz", None) is not None:
            values = pc.local_timestamp(values)
        missing = np.asarray(pc.is_null(values).to_numpy(zero_copy_only=False))
        micros = pc.cast(pc.cast(values, pa.timestamp("us"), safe=False), pa.int64())
        filled = pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
        return Times(filled, missing, np.zeros(len(filled), dtype=bool))
    missing = cells.missing_numbers(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        found = pc.extract_regex(values, _ISO)
        date, hour = pc.struct_field(found, "date"), pc.struct_field(found, "clock")
        hour = pc.if_else(pc.equal(hour, ""), "00:00", hour)
        text = pc.binary_join_element_wise(date, hour, "T")
        try:
            read = pc.cast(text, pa.timestamp("us"))
        except pa.ArrowInvalid:  # such as a 31st of February: one by one
            read = pa.array([_moment(x) for x in text.to_pylist()], pa.timestamp("us"))
        numbers = cells.numbers(values)  # where no date is written
        micros = np.where(np.isfinite(numbers), _since_1970(numbers), 0.0).astype(np.int64)
        there = np.asarray(pc.is_valid(read).to_numpy(zero_copy_only=False))
        dated = pc.fill_null(pc.cast(read, pa.int64()), 0).to_numpy(zero_copy_only=False)
        bad: BoolArray = ~(missing | there | np.isfinite(numbers))
        return Times(np.where(there, dated, micros), missing, bad)
    numbers = cells.numbers(values)
    good = np.isfinite(numbers)
    micros = np.where(good, _since_1970(numbers), 0.0).astype(np.int64)
    return Times(micros, missing, ~(good | missing))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _moment(text: str | None) -> Any:
    try:
        return None if text is None else np.datetime64(text, "us").item()
    except ValueError:
        return None


def _since_1970(numbers: FloatArray) -> FloatArray:
    size = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
    factor = np.select([size < limit for limit, _ in _UNITS], [factor for _, factor in _UNITS])
    micros: FloatArray = np.where(np.isfinite(numbers), numbers, 0.0) * factor
    return micros


def angles(times: Times, part: str) -> FloatArray:
    """Return where on its circle a moment is, shape (n,); NaN where it is missing, inf where bad.

    Examples
    --------
    >>> from lincat.tables.times import angles, times_of
    >>> noon = times_of(["2024-01-01T12:00Z", None])
    >>> (angles(noon, "hour") / 3.14159265).round(3).tolist()
    [1.0, nan]
    """
    day, within = np.divmod(times.micros, _DAY)
    if part == "hour":
        share = within / _DAY
    elif part == "weekday":
        share = (day + 3) % 7 / 7  # 1970 began on a Thursday
    else:
        date = day.astype("datetime64[D]")
        year = date.astype("datetime64[Y]")
        first, after = (x.astype("datetime64[D]").astype(np.int64) for x in (year, year + 1))
        share = (day - first + within / _DAY) / (after - first)
    angle = np.where(times.bad, np.inf, 2.0 * np.pi * share)
    return np.where(times.missing, np.nan, angle)


def usual_gap(micros: IntArray) -> int:
    """Return how far apart neighbouring rows are, if nearly all are so; else 0."""
    gaps = np.diff(micros)
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return 0
    usual = int(np.median(gaps))
    return usual if np.mean(counts_on(gaps, usual)) >= _USUAL else 0


def counts_on(gaps: IntArray, every: int) -> BoolArray:
    """Return which gaps between rows lead to the next step; of irregular times any but back."""
    if every == 0:
        return np.asarray(gaps >= 0)
    return np.asarray(np.abs(gaps - every) <= _JITTER * every)


def calendar_columns(asked: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that stand for a time, or for a part of it; None if there is no such.

    Examples
    --------
    >>> from lincat.tables.times import calendar_columns
    >>> calendar_columns("when.weekday", ["when", "reward"])
    ('when.weekday.cos', 'when.weekday.sin')
    >>> len(calendar_columns("when", ["when", "reward"]))
    6
    """
    if asked in names:
        return tuple(f"{asked}.{part}.{side}" for part in PARTS for side in _SIDES)
    base, _, part = asked.rpartition(".")
    if base in names and part in PARTS:
        return tuple(f"{asked}.{side}" for side in _SIDES)
    return None


def source_of(name: str, names: Sequence[str]) -> str | None:
    """Return the column of times that another one is read from; None if it is not so read."""
    base, _, side = name.rpartition(".")
    base, _, part = base.rpartition(".")
    known = name not in names and base in names and part in PARTS and side in _SIDES
    return base if known else None


def with_parts(columns: dict[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
    """Return columns, and among them those that are read from times."""
    out, known = dict(columns), list(columns)
    for name in wanted:
        base = source_of(name, known)
        if base is not None:
            _, part, side = name.rsplit(".", 2)
            angle = angles(times_of(columns[base]), part)
            there = np.isfinite(angle)
            turned = (np.cos if side == "cos" else np.sin)(np.where(there, angle, 0.0))
            out[name] = pa.array(np.where(there, turned, angle))
    return out


class WithTimes:
    """A table from whose times other columns can be read."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.names, self.typed, self.n_rows = table.names, table.typed, table.n_rows

    def chunks(self, needed: Sequence[str], rows: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield chunks with these columns."""
        own = self._own(needed)
        for chunk in self._table.chunks(own, rows, skip):
            if own == list(needed) or not chunk.n_rows:
                yield chunk
            else:
                yield replace(chunk, columns=with_parts(chunk.columns, needed))

    def misses(self, names: Sequence[str]) -> bool:
        """Whether the file says beforehand that cells of these columns are missing."""
        return self._table.misses(self._own(names))

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    def _own(self, needed: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(source_of(name, self.names) or name for name in needed))
