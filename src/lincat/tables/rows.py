"""Rows of a table as checked arrays: what is wrong with one of them is found here, and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.tables import cells
from lincat.tables.columns import Columns, Found
from lincat.tables.readers import Chunk
from lincat.tables.text import bad_row

__all__ = [
    "Layout",
    "Rows",
    "check_types",
    "checked_observations",
    "checked_rows",
    "find_layout",
]

_NUMERIC = ("float32", "number", "integer", "flag")


@dataclass(frozen=True)
class Layout:
    """The columns of a source, and what its observations are.

    Attributes
    ----------
    columns : Found
    kind : str
        points, vectors (points in a single column of lists), integers, texts or tuples (ids).
    names : tuple of str
        One for each number of an observation, or for an id.
    dtype : type
        Of points: float32 if all of their columns are.
    """

    columns: Found
    kind: str
    names: tuple[str, ...]
    dtype: Any = np.float64

    @property
    def are_points(self) -> bool:
        """Whether observations are points in space, not ids."""
        return self.kind in ("points", "vectors")


@dataclass(frozen=True)
class Rows:
    """Usable rows of one file, in order.

    ``room`` is the array of shape (n + 1, m) whose last n rows are the observation, if asked for:
    an observation put in front of it makes a view of next observations, without copying.
    ``gap`` marks rows before which others were left out (None: there are none).
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

    def __len__(self) -> int:
        return len(self.numbers)


def find_layout(found: Found, columns: Columns, chunk: Chunk, path: str, *, typed: bool) -> Layout:
    """Decide what the observations are from the first rows of a source."""
    names = found.observation
    kinds = [cells.kind_of(chunk.columns[name], typed=typed) for name in names]
    for name, kind in zip(names, kinds, strict=True):
        if kind.startswith("type") or (kind.startswith("list") and len(names) > 1):
            expected = "numbers, integers or texts, or a single column of lists of numbers"
            raise fail(f"{path}, column {name}", expected, kind)
    numeric = all(kind in _NUMERIC for kind in kinds)
    if kinds[0].startswith("list"):
        if columns.kind == "ids":
            raise fail(f"{path}, column {names[0]}", "ids: integers or texts", "lists of numbers")
        width = _first_length(chunk.columns[names[0]])
        dtype = np.float32 if kinds[0].endswith("float32") else np.float64
        numbered = tuple(f"{names[0]}[{j}]" for j in range(width))
        layout = Layout(found, "vectors", numbered, dtype)
    elif columns.kind == "points" or (
        numeric and columns.kind is None and (len(names) > 1 or kinds[0] != "integer")
    ):
        if not numeric:
            name = next(x for x, kind in zip(names, kinds, strict=True) if kind not in _NUMERIC)
            raise fail(f"{path}, column {name}", "numbers, to make points of", "texts")
        dtype = np.float32 if all(kind == "float32" for kind in kinds) else np.float64
        layout = Layout(found, "points", names, dtype)
    else:
        for name, kind in zip(names, kinds, strict=True):
            if kind not in ("integer", "text"):
                raise fail(f"{path}, column {name}", "ids: integers or texts", f"{kind}s")
        single = "integers" if kinds[0] == "integer" else "texts"
        layout = Layout(found, single if len(names) == 1 else "tuples", (", ".join(names),))
    found = layout.columns
    if found.step is not None and columns.step is None:
        # A column that only happens to be called t may hold a time, which does not count steps.
        if cells.kind_of(chunk.columns[found.step], typed=typed) != "integer":
            layout = replace(layout, columns=replace(found, step=None))
    return layout


def _first_length(values: Any) -> int:
    for value in values:
        length = len(value) if isinstance(value, list) else 0
        if not isinstance(values, list) and value.is_valid:
            length = len(value)
        if length:
            return length
    return 1


def check_types(layout: Layout, chunk: Chunk, path: str) -> None:
    """Refuse a file whose columns are of other types than those of the first one, or of no use."""
    found = layout.columns
    wanted: tuple[str, ...]
    if layout.kind == "vectors":
        wanted = ("list of float32",) if layout.dtype == np.float32 else ("list", "list of float32")
    elif layout.kind == "points":
        wanted = ("float32",) if layout.dtype == np.float32 else _NUMERIC
    else:
        wanted = {"integers": ("integer",), "texts": ("text",)}.get(
            layout.kind, ("integer", "text")
        )
    for name in (*found.observation, *(found.next_observation or ())):
        _check_type(name, chunk, path, wanted)
    for single in (found.reward, found.discount, found.weight, found.terminated, found.truncated):
        _check_type(single, chunk, path, _NUMERIC)
    _check_type(found.step, chunk, path, ("integer", "number", "float32"))
    _check_type(found.episode, chunk, path, (*_NUMERIC, "text"))


def _check_type(name: str | None, chunk: Chunk, path: str, wanted: tuple[str, ...]) -> None:
    if name is None:
        return
    kind = cells.kind_of(chunk.columns[name], typed=True)
    if kind not in wanted:
        expected = "numbers" if wanted == _NUMERIC else f"{' or '.join(wanted)}"
        raise fail(f"{path}, column {name}", expected, kind.removeprefix("type "))


class _Checks:
    """The bad cells of a chunk: a mask, and what was expected, for each column that has some."""

    def __init__(self) -> None:
        self.found: list[tuple[str, BoolArray, str]] = []

    def add(self, name: str, bad: BoolArray | None, expected: str) -> None:
        if bad is not None and bad.any():
            self.found.append((name, bad, expected))

    def bad_rows(self) -> BoolArray:
        """Return which rows have a bad cell."""
        bad: BoolArray = np.logical_or.reduce([mask for _, mask, _ in self.found])
        return bad

    def first(self, chunk: Chunk) -> tuple[str, int, str, str]:
        """Return the first bad cell of the first bad row: column, row, expected, got."""
        i = int(np.argmax(self.bad_rows()))
        name, _, expected = next(check for check in self.found if check[1][i])
        row = chunk.first + i if chunk.numbers is None else chunk.numbers[i]
        return name, int(row), expected, cells.shown(chunk.columns[name], i)


def checked_rows(
    chunk: Chunk, layout: Layout, path: str, *, stop: bool, with_room: bool = False
) -> tuple[Rows, int]:
    """Return the usable rows of a chunk, and how many are not; with ``stop``, one is an error."""
    checks, columns, found = _Checks(), chunk.columns, layout.columns
    n = chunk.n_rows
    room = None
    if layout.are_points and with_room:
        room = np.empty((n + 1, len(layout.names)), dtype=layout.dtype)
    observation = _observation(
        found.observation, columns, layout, n, checks, None if room is None else room[1:]
    )
    following = None
    if found.next_observation is not None:
        following = _observation(found.next_observation, columns, layout, n, checks, None)

    def number(
        name: str | None, expected: str, good: Callable[[FloatArray], BoolArray]
    ) -> FloatArray | None:
        if name is None:
            return None
        values = cells.numbers(columns[name])
        checks.add(name, ~good(values), expected)
        return values

    def flag(name: str | None) -> BoolArray | None:
        if name is None:
            return None
        values, bad = cells.flags(columns[name])
        checks.add(name, bad, "true or false, or 1 or 0")
        return values

    reward = number(found.reward, "a finite number", np.isfinite)
    terminated, truncated = flag(found.terminated), flag(found.truncated)
    discount = number(found.discount, "a discount in [0, 1]", lambda x: (x >= 0.0) & (x <= 1.0))
    weight = number(found.weight, "a weight of at least 0", lambda x: (x >= 0.0) & (x < np.inf))
    episode = None if found.episode is None else _labels(found.episode, columns, checks)
    step = None
    if found.step is not None:
        step, bad = cells.integers(columns[found.step])
        checks.add(found.step, bad, "an integer")
    numbers = np.arange(chunk.first, chunk.first + n) if chunk.numbers is None else chunk.numbers
    rows = Rows(
        path=path,
        numbers=numbers,
        observation=observation,
        next_observation=following,
        room=room,
        reward=np.zeros(n) if reward is None else reward,
        terminated=terminated,
        truncated=truncated,
        discount=discount,
        weight=weight,
        episode=episode,
        step=step,
    )
    if not checks.found:
        return rows, 0
    if stop:
        name, row, expected, got = checks.first(chunk)
        raise bad_row(path, f"{row}, {name}", expected, got)
    bad = checks.bad_rows()
    return _without(rows, bad), int(bad.sum())


def checked_observations(chunk: Chunk, layout: Layout, path: str) -> Any:
    """Return the observations of a chunk, of which none may be bad."""
    checks = _Checks()
    names = layout.columns.observation
    array = _observation(names, chunk.columns, layout, chunk.n_rows, checks, None)
    if checks.found:
        name, row, expected, got = checks.first(chunk)
        raise fail(f"{path}, row {row}, {name}", expected, got)
    return array


def _without(rows: Rows, bad: BoolArray) -> Rows:
    keep = ~bad
    room = None
    if rows.room is not None:
        room = rows.room[np.concatenate(([True], keep))]
    parts: dict[str, Any] = {
        name: None if value is None else value[keep]
        for name, value in vars(rows).items()
        if name not in ("path", "room", "observation")
    }
    observation = rows.observation[keep] if room is None else room[1:]
    return Rows(path=rows.path, room=room, observation=observation, **parts)


def _observation(
    names: tuple[str, ...],
    columns: dict[str, Any],
    layout: Layout,
    n: int,
    checks: _Checks,
    out: Any,
) -> Any:
    if layout.kind == "points":
        return _points(names, columns, layout, n, checks, out)
    if layout.kind == "vectors":
        width = len(layout.names)
        array = cells.vectors(columns[names[0]], width, layout.dtype)
        if not np.isfinite(array).all():
            bad: BoolArray = ~np.all(np.isfinite(array), axis=1)
            checks.add(names[0], bad, f"a list of {width} finite numbers")
        if out is None:
            return array
        out[:] = array
        return out
    parts = [_ids(name, columns, layout, checks) for name in names]
    if layout.kind != "tuples":
        return parts[0]
    tuples = zip(*(part.tolist() for part in parts), strict=True)
    return np.fromiter(tuples, dtype=object, count=n)


def _points(
    names: tuple[str, ...],
    columns: dict[str, Any],
    layout: Layout,
    n: int,
    checks: _Checks,
    out: Any,
) -> Any:
    from lincat.kernels.columns import columns_to_rows

    if out is None:
        out = np.empty((n, len(names)), dtype=layout.dtype)
    parts = [np.ascontiguousarray(cells.numbers(columns[name], layout.dtype)) for name in names]
    addresses = np.array([part.ctypes.data for part in parts], dtype=np.int64)
    if not columns_to_rows(out, addresses):
        for name, part in zip(names, parts, strict=True):
            checks.add(name, ~np.isfinite(part), "a finite number")
    return out


def _ids(name: str, columns: dict[str, Any], layout: Layout, checks: _Checks) -> Any:
    values = columns[name]
    kind = layout.kind
    if kind == "tuples":  # integers and texts alike, as the file has them
        kind = "integers" if cells.kind_of(values, typed=True) == "integer" else "texts"
    if kind == "integers":
        ids, bad = cells.integers(values)
        checks.add(name, bad, 'an integer (or say kind = "points")')
        return ids
    array, bad = cells.texts(values)
    checks.add(name, bad, "a text")
    return array


def _labels(name: str, columns: dict[str, Any], checks: _Checks) -> Any:
    """Return the names of episodes, of whatever type they are."""
    values = columns[name]
    labels: Any
    bad: BoolArray | None
    kind = "value" if isinstance(values, list) else cells.kind_of(values, typed=True)
    if kind == "value":
        labels = np.fromiter(values, dtype=object, count=len(values))
        bad = np.array([not isinstance(value, str | int | float) for value in values], dtype=bool)
    elif kind == "integer":
        labels, bad = cells.integers(values)
    elif kind == "text":
        labels, bad = cells.texts(values)
    else:
        labels = cells.numbers(values)
        bad = ~np.isfinite(labels)
    checks.add(name, bad, "the name of an episode")
    return labels
