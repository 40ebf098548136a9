"""What is asked about: observations of a table or of JSON values, and what else is in the rows.

Nothing is raised for a row that cannot be used: it has a reason, and the others are answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lincat._arguments import InvalidInputError, fail
from lincat._json import decoded
from lincat._text import shown
from lincat._typing import BoolArray, FloatArray
from lincat.data.mixed import is_missing, mixed_of
from lincat.tables import cells
from lincat.tables.columns import Columns, find_columns, listed_shortly
from lincat.tables.places import FilePlace, FramePlace, Place, is_frame
from lincat.tables.readers import format_of, input_bytes, reading
from lincat.tables.times import source_of, with_parts

_ROWS = 32768


@dataclass(frozen=True)
class Wanted:
    """The observations that a model takes.

    Attributes
    ----------
    kind : "points", "ids" or "mixed"
    names : tuple of str
        Of the numbers of a point, or of the columns; a single one for ids.
    texts : frozenset of str
        Which columns of mixed rows hold texts.
    """

    kind: Literal["points", "ids", "mixed"]
    names: tuple[str, ...]
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Asked:
    """n rows that are asked about.

    Attributes
    ----------
    columns : dict
        All columns as they came, by name: lists of n values.
    observations : array
        Points (n, m), n ids, or n mixed rows; of no use where there is a reason.
    reasons : list of str
        Why a row cannot be answered; empty where it can.
    typed : bool
        Whether values are of the type that they stand for; texts of a CSV file are not.
    """

    columns: dict[str, list[Any]]
    observations: Any
    reasons: list[str]
    typed: bool

    def __len__(self) -> int:
        return len(self.reasons)


def read_asked(
    path: str | Path | Any,
    wanted: Wanted,
    *,
    given: tuple[str, ...] | None = None,
    format: str | None = None,
) -> Asked:
    r"""Return all rows of a table, of a frame, or of a .json file with a list of observations.

    Columns are found by the names that the model knows, wherever they stand, or are ``given``, in
    the model's order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.asked import Wanted, read_asked
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "today.csv"
    >>> _ = file.write_text("who,y,x\nann,2,1\nbob,?,3\n")
    >>> asked = read_asked(file, Wanted("points", ("x", "y")))
    >>> asked.observations[0], asked.columns["who"], asked.reasons
    (array([1., 2.]), ['ann', 'bob'], ['', "y: expected a finite number, got '?'"])
    """
    if is_frame(path):
        place: Place = FramePlace.of(path)
    elif format == "json" or (format is None and str(path).lower().endswith(".json")):
        return asked_of(json_values(str(path)), wanted, given=given, where=str(path))
    else:
        place = FilePlace(str(path), format_of(str(path), format))
    name, kind, table = place.name, place.format, place.open(stop=True)
    used = find_observed(table.names, wanted, given, name)
    parts = []
    for chunk in table.chunks(list(dict.fromkeys([*table.names, *used])), _ROWS):
        if chunk.n_rows:
            observations, reasons = _observations(chunk.columns, chunk.n_rows, used, wanted)
            columns = {x: _values(chunk.columns[x]) for x in table.names}
            parts.append(Asked(columns, observations, reasons, typed=kind != "csv"))
    if not place.once:
        table.close()
    if not parts:
        raise fail(name, "observations", "none")
    return _joined(parts)


def asked_of(
    values: Sequence[Any],
    wanted: Wanted,
    *,
    given: tuple[str, ...] | None = None,
    where: str = "observations",
) -> Asked:
    """Return rows of JSON values: objects with a value for each column, or bare observations."""
    if any(isinstance(value, dict) for value in values):
        rows = [value if isinstance(value, dict) else _named(value, wanted) for value in values]
        names = list(dict.fromkeys(name for row in rows for name in row))
        used = find_observed(names, wanted, given, where)
        columns = {name: [row.get(name) for row in rows] for name in names}
    elif wanted.kind == "mixed":
        rows = [_named(value, wanted) for value in values]
        columns = {name: [row.get(name) for row in rows] for name in wanted.names}
        used = wanted.names
    else:
        name = wanted.names[0] if len(wanted.names) == 1 else "observation"
        columns, used = {name: list(values)}, (name,)
    known = columns if set(used) <= set(columns) else with_parts(columns, used)
    observations, reasons = _observations(known, len(values), used, wanted)
    return Asked(columns, observations, reasons, typed=True)


def _named(value: Any, wanted: Wanted) -> dict[str, Any]:
    """A bare observation as an object; an empty one if it is none."""
    if len(wanted.names) == 1 and not isinstance(value, list):
        return {wanted.names[0]: value}
    fits = isinstance(value, list) and len(value) == len(wanted.names)
    return dict(zip(wanted.names, value, strict=True)) if fits else {}


def find_observed(
    names: Sequence[str], wanted: Wanted, given: tuple[str, ...] | None, where: str
) -> tuple[str, ...]:
    """Return the columns that hold the observations, in the model's order.

    By the model's names; otherwise only where no order has to be guessed: a single column, of ids
    or of lists, or columns that are numbered obs_0, obs_1, ...
    """
    width = len(wanted.names)
    if given is not None:
        for name in given:
            if name not in names:
                raise fail(
                    f"{where}, observation", f"a column {name!r}", f"only {listed_shortly(names)}"
                )
        if len(given) not in (1, width):
            expected = f"a column for each of {listed_shortly(wanted.names)}"
            raise fail("--column observation", expected, listed_shortly(given))
        return given
    named = wanted.names
    if wanted.kind == "ids":
        named = tuple(wanted.names[0].split(", "))  # several columns, of which ids are tuples
    # What the calendar says of a time is read from the column of times.
    names = [*names, *(x for x in named if source_of(x, names) is not None)]
    vector = wanted.names[0].removesuffix("[0]")
    for found in (named, (vector,)):
        if set(found) <= set(names) and (found == named or vector != wanted.names[0]):
            return found
    try:
        usual = find_columns(Columns(), names, where, observations_only=True).observation
    except InvalidInputError:
        usual = ()
    endings = [name.rpartition("_")[2] for name in usual]
    numbered = width > 1 and endings == [str(j) for j in range(width)]
    alone = len(usual) == 1 and wanted.kind != "mixed" and not set(names) & set(named)
    if (numbered and not set(names) & set(named)) or (alone and (width == 1 or usual[0] == "obs")):
        return usual
    raise fail(
        f"{where}, observation",
        f"columns {listed_shortly(named)}, as the run observed",
        f"only {listed_shortly(names)}",
        "name those that hold them, in that order: --column observation=NAMES",
    )


def _observations(
    columns: dict[str, Any], n: int, used: tuple[str, ...], wanted: Wanted
) -> tuple[Any, list[str]]:
    reasons = [""] * n

    def note(name: str, bad: BoolArray, expected: str) -> None:
        for i in np.flatnonzero(bad).tolist():
            got = cells.shown(columns[name], i)
            reasons[i] = reasons[i] or f"{name}: expected {expected}, got {got}"

    if wanted.kind == "mixed":
        found = {
            label: _mixed_column(columns[name], label in wanted.texts, name, note)
            for label, name in zip(wanted.names, used, strict=True)
        }
        nothing = np.logical_and.reduce([is_missing(column) for column in found.values()])
        note(used[0], np.asarray(nothing), f"something in {listed_shortly(used)}")
        return mixed_of(found), reasons
    if wanted.kind == "ids":
        parts = [_values(columns[name]) for name in used]
        for name, part in zip(used, parts, strict=True):
            note(name, np.array([not _is_id(x) for x in part], dtype=bool), "an id")
        ids = np.empty(n, dtype=object)
        ids[:] = parts[0] if len(used) == 1 else list(zip(*parts, strict=True))
        return ids, reasons
    width = len(wanted.names)
    if len(used) == 1 and _holds_lists(columns[used[0]], width):
        lists = columns[used[0]]
        if isinstance(lists, list) and all(isinstance(x, list) and len(x) == width for x in lists):
            plain = _plain_numbers([list(x) for x in zip(*lists, strict=True)])
            if plain is not None:
                return plain, reasons
        points = cells.vectors(columns[used[0]], width, np.float64)
        bad: BoolArray = ~np.all(np.isfinite(points), axis=1)
        note(used[0], bad, f"a list of {width} finite numbers")
        return points, reasons
    if len(used) != width:
        raise fail(used[0], f"lists of {width} numbers", "something else")
    plain = _plain_numbers([columns[name] for name in used])
    if plain is not None:
        return plain, reasons
    points = np.empty((n, width))
    for j, name in enumerate(used):
        points[:, j] = cells.numbers(columns[name])
        note(name, ~np.isfinite(points[:, j]), "a finite number")
    return points, reasons


def _plain_numbers(columns: Sequence[Any]) -> FloatArray | None:
    """Points, where all cells are finite numbers of JSON: a stream asks for one row at a time."""
    if not all(isinstance(x, list) and {float, int}.issuperset(map(type, x)) for x in columns):
        return None
    try:
        points = np.array(columns, dtype=np.float64).T
    except OverflowError:  # a whole number that no float is near
        return None
    return points if np.isfinite(points).all() else None


def _mixed_column(values: Any, text: bool, name: str, note: Any) -> Any:
    if text:
        missing = cells.missing_texts(values)
        array = np.empty(len(missing), dtype=object)
        array[:] = [None if x is None else str(x) for x in _values(values)]
        array[missing] = None
        return array
    missing = cells.missing_numbers(values)
    numbers = np.where(missing, np.nan, cells.numbers(values))
    note(name, ~(missing | np.isfinite(numbers)), "a finite number")
    return numbers


def _holds_lists(values: Any, width: int) -> bool:
    if isinstance(values, list):
        return width > 1 or any(isinstance(value, list) for value in values)
    return cells.kind_of(values, typed=True).startswith("list")


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and value != "" and value == value


def _values(values: Any) -> list[Any]:
    listed: list[Any] = values if isinstance(values, list) else values.to_pylist()
    return listed


def json_values(path: str) -> list[Any]:
    """Return the list that a JSON file holds."""
    with reading(path, "JSON file"):
        stream = input_bytes(path)
        values = decoded(stream.read(), path, "a JSON list of observations")
    if not isinstance(values, list) or not values:
        raise fail(path, "a JSON list of observations", f"{shown(values)}")
    return values


def _joined(parts: list[Asked]) -> Asked:
    if len(parts) == 1:
        return parts[0]
    return Asked(
        {name: [x for part in parts for x in part.columns[name]] for name in parts[0].columns},
        np.concatenate([part.observations for part in parts]),
        [reason for part in parts for reason in part.reasons],
        parts[0].typed,
    )
