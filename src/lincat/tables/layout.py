"""What the columns of a table hold, as its first rows tell; other tables must hold the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lincat._arguments import fail
from lincat.tables import cells
from lincat.tables.columns import ACTIONS, Columns, Found, listed_shortly
from lincat.tables.readers import Chunk
from lincat.tables.times import is_time, source_of, times_of, usual_gap

LayoutKind = Literal["points", "vectors", "integers", "texts", "tuples", "mixed"]

_NUMERIC = ("float32", "number", "integer", "flag")


@dataclass(frozen=True)
class Layout:
    """The columns of a source, and what its observations are.

    Attributes
    ----------
    columns : Found
    kind : LayoutKind
        Points, vectors (points in a single column of lists); ids: integers, texts or tuples; or
        mixed: texts and numbers, some of which may be missing.
    names : tuple of str
        One for each number of an observation, or for an id; or the columns of mixed rows.
    dtype : type
        Of points: float32 if all of their columns are.
    texts : frozenset of str
        Which columns of mixed rows hold texts.
    every : int or None
        By how much steps count on, if not by 1; for times microseconds, 0 for irregular ones.
    timed : bool
        Whether steps are times.
    """

    columns: Found
    kind: LayoutKind
    names: tuple[str, ...]
    dtype: Any = np.float64
    texts: frozenset[str] = frozenset()
    every: int | None = None
    timed: bool = False

    @property
    def are_points(self) -> bool:
        """Whether observations are points in space, not ids."""
        return self.kind in ("points", "vectors")

    def holds_text(self, name: str) -> bool:
        """Whether a column of mixed rows holds texts; the next one as the observation does."""
        following = self.columns.next_observation
        if following is not None and name in following and name not in self.texts:
            name = self.columns.observation[following.index(name)]
        return name in self.texts


def find_layout(
    found: Found, columns: Columns, chunk: Chunk, path: str, *, typed: bool, mixed: bool = False
) -> Layout:
    """Decide what the observations are from the first rows of a source.

    With ``mixed`` numbers come so too: some are missing, or their names matter.
    """
    kinds = [cells.kind_of(chunk.columns[name], typed=typed) for name in found.observation]
    if found.by_default and len(kinds) > 1:  # no more than can be used: no times, no lists
        usable = [not kind.startswith(("type", "list")) for kind in kinds]
        if any(usable):
            found = _only(found, usable)
            kinds = [kind for kind, good in zip(kinds, usable, strict=True) if good]
    names = found.observation
    for name, kind in zip(names, kinds, strict=True):
        if kind.startswith("type") or (kind.startswith("list") and len(names) > 1):
            expected = "numbers, integers or texts, or a single column of lists of numbers"
            time = is_time(chunk.columns[name])
            remedy = f"to observe hour, weekday and season: --column calendar={name}"
            raise fail(f"{path}, column {name}", expected, kind, remedy if time else "")
    numeric = all(kind in _NUMERIC for kind in kinds)
    if kinds[0].startswith("list"):
        if columns.kind == "ids":
            raise fail(f"{path}, column {names[0]}", "ids: integers or texts", "lists of numbers")
        width = _first_length(chunk.columns[names[0]])
        dtype = np.float32 if kinds[0].endswith("float32") else np.float64
        numbered = tuple(f"{names[0]}[{j}]" for j in range(width))
        layout = Layout(found, "vectors", numbered, dtype)
    elif columns.kind is None and (
        (mixed and kinds != ["integer"]) or (len(names) > 1 and not numeric)
    ):
        texts = frozenset(x for x, kind in zip(names, kinds, strict=True) if kind == "text")
        layout = Layout(found, "mixed", names, texts=texts)
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
        single: LayoutKind = "integers" if kinds[0] == "integer" else "texts"
        layout = Layout(found, single if len(names) == 1 else "tuples", (", ".join(names),))
    if layout.columns.step is None:
        return layout
    return _with_step(layout, chunk.columns[layout.columns.step], columns, typed=typed)


def _with_step(layout: Layout, values: Any, columns: Columns, *, typed: bool) -> Layout:
    """Say how steps count on: by one, by time, or, if that is what they do, by another number."""
    if is_time(values):
        every = usual_gap(times_of(values, clock=False).micros)
        return replace(layout, every=every, timed=True)
    if columns.step is None:
        # A column that only happens to be called t may hold a time, which does not count steps.
        whole = cells.kind_of(values, typed=typed) == "integer"
        return layout if whole else replace(layout, columns=replace(layout.columns, step=None))
    every = usual_gap(cells.integers(values)[0])
    return replace(layout, every=every) if every > 1 else layout


def _only(found: Found, usable: list[bool]) -> Found:
    """The same columns, but for observations that cannot be used."""

    def chosen(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name, good in zip(names, usable, strict=True) if good)

    following = found.next_observation
    return replace(
        found,
        observation=chosen(found.observation),
        next_observation=None if following is None else chosen(following),
    )


def _first_length(values: Any) -> int:
    for value in values:
        length = len(value) if isinstance(value, list) else 0
        if not isinstance(values, list) and value.is_valid:
            length = len(value)
        if length:
            return length
    return 1


def taken_as(layout: Layout, names: tuple[str, ...]) -> str:
    """Say which of a table's columns were taken for what.

    Examples
    --------
    >>> from lincat.tables.columns import Columns, find_columns
    >>> from lincat.tables.layout import Layout, taken_as
    >>> names = ("x", "y", "a", "t", "r")
    >>> found = find_columns(Columns(), names, "log.csv")
    >>> print(taken_as(Layout(found, "points", found.observation), names))
    Columns: observed x, y (all that are nothing else); reward r; step t; action a, not observed.
    """
    found = layout.columns
    observed = [x for x in found.observation if source_of(x, names) is None]
    times = dict.fromkeys(source_of(x, names) for x in found.observation)
    times.pop(None, None)
    said = [f"observed {listed_shortly(observed)}"] if observed else []
    if found.by_default and observed:
        said[0] += " (all that are nothing else)"
    said += [f"observed calendar of {name}" for name in times]
    if found.next_observation is not None:
        said.append("each with its next")
    for role in ("reward", "terminated", "truncated", "discount", "weight", "episode", "step"):
        if (name := getattr(found, role)) is not None:
            said.append(role if role == name else f"{role} {name}")
    if layout.every is not None:
        gap = _duration(layout.every) if layout.timed else f"{layout.every:,}"
        said[-1] += f", every {gap}" if layout.every else ", as times go on"
    if found.by_default:
        actions = [x for x in names if x in ACTIONS]
        said += [f"{x if x == 'action' else f'action {x}'}, not observed" for x in actions]
    return f"Columns: {'; '.join(said)}."


def _duration(micros: int) -> str:
    seconds = micros / 1e6
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:.4g} s"


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
        if layout.kind == "mixed":
            wanted = ("text",) if layout.holds_text(name) else _NUMERIC
        _check_type(name, chunk, path, wanted)
    for single in (found.reward, found.discount, found.weight, found.terminated, found.truncated):
        _check_type(single, chunk, path, _NUMERIC)
    if found.step is not None and not is_time(chunk.columns[found.step]):
        _check_type(found.step, chunk, path, ("integer", "number", "float32"))
    _check_type(found.episode, chunk, path, (*_NUMERIC, "text"))


def _check_type(name: str | None, chunk: Chunk, path: str, wanted: tuple[str, ...]) -> None:
    if name is None:
        return
    kind = cells.kind_of(chunk.columns[name], typed=True)
    if kind not in wanted:
        expected = "numbers" if wanted == _NUMERIC else f"{' or '.join(wanted)}"
        raise fail(f"{path}, column {name}", expected, kind.removeprefix("type "))
