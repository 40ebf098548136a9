"""Rows of a table as checked arrays: what is wrong with one of them is found here, and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lincat._arguments import InvalidInputError, fail
from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.data.mixed import mixed_of
from lincat.data.rewards import EXPECTED, can_be_summed
from lincat.tables import cells
from lincat.tables.layout import Layout
from lincat.tables.readers import Chunk
from lincat.tables.text import bad_row
from lincat.tables.times import times_of

#: What is done about cells of observations that are missing: they are kept, for features that give
#: numbers their mean and an indicator, and texts a value of their own; or the row is left out; or
#: it is as bad as any other.
MissingPolicy = Literal["indicator", "skip", "stop"]


@dataclass(frozen=True)
class Rows:
    """Usable rows of one file, in order.

    ``room`` is the array of shape (n + 1, m) whose last n rows are the observation, if asked for:
    an observation put in front of it makes a view of next observations, without copying.
    ``gap`` marks rows before which others were left out (None: there are none). ``time`` are the
    steps, if those are times.
    """

    path: str
    numbers: IntArray
    observation: Any
    next_observation: Any
    room: Any
    reward: FloatArray
    terminated: BoolArray | None
    truncated: BoolArray | None
    discount: FloatArray | None
    weight: FloatArray | None
    episode: Any
    step: IntArray | None
    gap: BoolArray | None = None
    time: IntArray | None = None

    def __len__(self) -> int:
        return len(self.numbers)


class _Cells:
    """The cells of a chunk as arrays; what is bad among them is noted: a mask for each column."""

    def __init__(self, chunk: Chunk, layout: Layout, missing: MissingPolicy) -> None:
        self._chunk, self._layout, self._columns = chunk, layout, chunk.columns
        self._missing = missing
        self.bad: list[tuple[str, BoolArray, str]] = []
        self.left_out: BoolArray = np.zeros(chunk.n_rows, dtype=bool)
        self.n_missing: dict[str, int] = {}

    def _note(self, name: str, bad: BoolArray | None, expected: str) -> None:
        if bad is not None and bad.any():
            self.bad.append((name, bad, expected))

    def _miss(self, name: str, missing: BoolArray, expected: str) -> BoolArray:
        """Do as the policy says about missing cells; return which these are."""
        if not missing.any():
            return missing
        if self._missing == "skip":
            self.left_out |= missing
        elif self._missing == "stop":
            self._note(name, missing, expected)
        else:
            self.n_missing[name] = int(missing.sum())
        return missing

    def bad_rows(self) -> BoolArray:
        """Return which rows have a bad cell."""
        bad: BoolArray = np.logical_or.reduce([mask for _, mask, _ in self.bad])
        return bad

    def first_bad(self) -> tuple[str, str, str]:
        """Return the first bad cell of the first bad row: row and column, expected, got."""
        i = int(np.argmax(self.bad_rows()))
        name, _, expected = next(noted for noted in self.bad if noted[1][i])
        row = self._chunk.first + i if self._chunk.numbers is None else self._chunk.numbers[i]
        return f"{row}, {name}", expected, cells.shown(self._columns[name], i)

    def numbers(
        self, name: str | None, expected: str, good: Callable[[FloatArray], BoolArray]
    ) -> FloatArray | None:
        if name is None:
            return None
        values = cells.numbers(self._columns[name])
        self._note(name, ~good(values), expected)
        return values

    def rewards(self, name: str | None) -> FloatArray | None:
        values = self.numbers(name, "a finite number", np.isfinite)
        if name is not None and values is not None:
            self._note(name, np.isfinite(values) & ~can_be_summed(values), EXPECTED)
        return values

    def flags(self, name: str | None) -> BoolArray | None:
        if name is None:
            return None
        values, bad = cells.flags(self._columns[name])
        self._note(name, bad, "true or false, or 1 or 0")
        return values

    def integers(self, name: str | None, expected: str = "an integer") -> IntArray | None:
        if name is None:
            return None
        values, bad = cells.integers(self._columns[name])
        self._note(name, bad, expected)
        return values

    def steps(self, name: str | None) -> IntArray | None:
        """Return numbers of steps, or times in microseconds."""
        if name is None or not self._layout.timed:
            return self.integers(name)
        times = times_of(self._columns[name], clock=False)
        self._note(name, times.missing | times.bad, "a time")
        return times.micros

    def observations(self, names: tuple[str, ...], out: Any = None) -> Any:
        """Return points, into ``out`` if that is given, or ids."""
        layout = self._layout
        if layout.are_points:
            return (self._vectors if layout.kind == "vectors" else self._points)(names, out)
        if layout.kind == "mixed":
            columns = zip(layout.names, names, strict=True)
            return mixed_of({name: self._column(column) for name, column in columns})
        parts = [self._ids(name) for name in names]
        if layout.kind != "tuples":
            return parts[0]
        tuples = zip(*(part.tolist() for part in parts), strict=True)
        return np.fromiter(tuples, dtype=object, count=self._chunk.n_rows)

    def _vectors(self, names: tuple[str, ...], out: Any) -> Any:
        width = len(self._layout.names)
        array = cells.vectors(self._columns[names[0]], width, self._layout.dtype)
        bad: BoolArray = ~np.all(np.isfinite(array), axis=1)
        self._note(names[0], bad, f"a list of {width} finite numbers")
        if out is None:
            return array
        out[:] = array
        return out

    def _points(self, names: tuple[str, ...], out: Any) -> Any:
        from lincat.kernels.columns import columns_to_rows

        dtype = self._layout.dtype
        if out is None:
            out = np.empty((self._chunk.n_rows, len(names)), dtype=dtype)
        parts = [np.ascontiguousarray(cells.numbers(self._columns[x], dtype)) for x in names]
        addresses = np.array([part.ctypes.data for part in parts], dtype=np.int64)
        if not columns_to_rows(out, addresses):
            for name, part in zip(names, parts, strict=True):
                bad = ~np.isfinite(part)
                if self._missing == "skip":
                    missing = bad & cells.missing_numbers(self._columns[name])
                    bad &= ~self._miss(name, missing, "")
                self._note(name, bad, "a finite number")
        return out

    def _column(self, name: str) -> Any:
        """A column of mixed rows: what is missing is not bad."""
        values = self._columns[name]
        if self._layout.holds_text(name):
            missing = cells.missing_texts(values)
            array, bad = cells.texts(values)
            self._miss(name, missing, "a text")
            self._note(name, None if bad is None else bad & ~missing, "a text")
            array = np.array(array)
            array[missing] = None
            return array
        missing = self._miss(name, cells.missing_numbers(values), "a finite number")
        numbers = np.where(missing, np.nan, cells.numbers(values))
        self._note(name, ~(missing | np.isfinite(numbers)), "a finite number")
        return numbers

    def _ids(self, name: str) -> Any:
        kind: str = self._layout.kind
        if kind == "tuples":  # integers and texts alike, as the file has them
            kind = f"{cells.kind_of(self._columns[name], typed=True)}s"
        if kind == "integers":
            return self.integers(name, 'an integer (or say kind = "points")')
        array, bad = cells.texts(self._columns[name])
        self._note(name, bad, "a text")
        return array

    def episodes(self, name: str | None) -> Any:
        """Return the names of episodes, of whatever type they are."""
        if name is None:
            return None
        values = self._columns[name]
        labels: Any
        bad: BoolArray | None
        kind = "value" if isinstance(values, list) else cells.kind_of(values, typed=True)
        if kind == "value":
            labels = np.fromiter(values, dtype=object, count=len(values))
            bad = np.array([not isinstance(x, str | int | float) for x in values], dtype=bool)
        elif kind == "integer":
            labels, bad = cells.integers(values)
        elif kind == "text":
            labels, bad = cells.texts(values)
        else:
            labels = cells.numbers(values)
            bad = ~np.isfinite(labels)
        self._note(name, bad, "the name of an episode")
        return labels


@dataclass(frozen=True)
class LeftOut:
    """What is not as it should be among the rows of a chunk.

    Attributes
    ----------
    rows : int
        Left out.
    missing : dict
        How many cells of a column are missing from the others.
    error : InvalidInputError or None
        What is wrong with the row after those that are given, if bad rows are to stop.
    """

    rows: int
    missing: dict[str, int]
    error: InvalidInputError | None = None


def checked_rows(
    chunk: Chunk,
    layout: Layout,
    path: str,
    *,
    stop: bool,
    with_room: bool = False,
    missing: MissingPolicy = "stop",
) -> tuple[Rows, LeftOut]:
    """Return the usable rows of a chunk, and what is not; with ``stop`` those before a bad one."""
    found, made, n = layout.columns, _Cells(chunk, layout, missing), chunk.n_rows
    room = None
    if layout.are_points and with_room:
        room = np.empty((n + 1, len(layout.names)), dtype=layout.dtype)
    observation = made.observations(found.observation, None if room is None else room[1:])
    following = found.next_observation
    following = None if following is None else made.observations(following)
    reward = made.rewards(found.reward)
    step = made.steps(found.step)
    rows = Rows(
        path=path,
        numbers=np.arange(chunk.first, chunk.first + n) if chunk.numbers is None else chunk.numbers,
        observation=observation,
        next_observation=following,
        room=room,
        reward=np.zeros(n) if reward is None else reward,
        terminated=made.flags(found.terminated),
        truncated=made.flags(found.truncated),
        discount=made.numbers(
            found.discount, "a discount in [0, 1]", lambda x: (x >= 0.0) & (x <= 1.0)
        ),
        weight=made.numbers(
            found.weight, "a weight of at least 0", lambda x: (x >= 0.0) & (x < np.inf)
        ),
        episode=made.episodes(found.episode),
        step=step,
        time=step if layout.timed else None,
    )
    error = None
    if made.bad and stop:
        error = bad_row(path, *made.first_bad())
        after = np.arange(n) >= int(np.argmax(made.bad_rows()))
        rows, made.left_out = _without(rows, after), made.left_out[~after]
        bad = made.left_out
    else:
        bad = made.left_out | made.bad_rows() if made.bad else made.left_out
    left_out = LeftOut(int(bad.sum()), made.n_missing, error)
    return (_without(rows, bad) if left_out.rows else rows), left_out


def checked_observations(chunk: Chunk, layout: Layout, path: str) -> Any:
    """Return the observations of a chunk, of which none may be bad."""
    made = _Cells(chunk, layout, "indicator")
    array = made.observations(layout.columns.observation)
    if made.bad:
        place, expected, got = made.first_bad()
        raise fail(f"{path}, row {place}", expected, got)
    return array


def _without(rows: Rows, bad: BoolArray) -> Rows:
    keep = ~bad
    kept: dict[str, Any] = {
        name: value[keep]
        for name, value in vars(rows).items()
        if value is not None and name not in ("path", "room")
    }
    if rows.room is not None:
        kept["room"] = rows.room[np.concatenate(([True], keep))]
        kept["observation"] = kept["room"][1:]
    return replace(rows, **kept)
