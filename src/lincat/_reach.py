"""What values from a file have done: a record says it in the types of its fields.

Files come from anybody. A value of theirs may select what is in lincat, and name plain data of this
machine. What it has done beyond that (:class:`Reach`) only a command line, or a call, may ask for.
A text whose field does not say how far it reaches reaches everywhere, so that a new field is
refused until somebody has thought about it.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from lincat._arguments import InvalidInputError, fail


class Reach(enum.Flag):
    """What using a value has done, beyond reading data of this machine."""

    NOTHING = 0
    #: A module is imported, or a pickle is read.
    CODE = enum.auto()
    #: A connection is opened.
    CONNECTS = enum.auto()
    #: Of what nobody has thought about.
    EVERYTHING = CODE | CONNECTS


@dataclass(frozen=True)
class Reaches:
    """Says of a field how far a value of it reaches: ``Annotated[str, Reaches(told)]``.

    Attributes
    ----------
    told : function
        From a value to its reach.
    option : str
        The option that says the value again, where that is how it is allowed.
    """

    told: Callable[[Any], Reach]
    option: str = ""


@dataclass(frozen=True)
class Named:
    """A value that reaches somewhere.

    Attributes
    ----------
    field : str
    value : object
    reach : Reach
    option : str
    """

    field: str
    value: Any
    reach: Reach
    option: str = ""

    def __str__(self) -> str:
        verbs = {Reach.CODE: "runs code", Reach.CONNECTS: "connects"}
        does = " and ".join(verb for reach, verb in verbs.items() if reach in self.reach)
        return f"{self.field} = {self.value!r}, which {does}"


@dataclass(frozen=True)
class Allowed:
    """What a command line, or a call, lets files have done.

    Attributes
    ----------
    code : bool
        ``--trust-code``.
    connect : bool
        ``--connect``.
    """

    code: bool = False
    connect: bool = False

    @property
    def reach(self) -> Reach:
        """How far."""
        code = Reach.CODE if self.code else Reach.NOTHING
        return code | (Reach.CONNECTS if self.connect else Reach.NOTHING)


NOTHING_ALLOWED: Final = Allowed()


class NotAllowedError(InvalidInputError):
    """A file has something done that was not allowed; ``options`` are what allows it."""

    def __init__(self, text: str, options: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.options = options


def nowhere(_: Any) -> Reach:
    """Say that no value reaches anywhere: it is compared, shown, or looked up in lincat."""
    return Reach.NOTHING


#: Text that is compared, shown, or looked up; nothing is opened or imported by it.
Words: TypeAlias = Annotated[str, Reaches(nowhere)]


def check_allowed(record: msgspec.Struct, place: str, allowed: Allowed, *said: str) -> None:
    """Refuse a record from a file that has done what was not allowed.

    Parameters
    ----------
    record : msgspec.Struct
    place : str
        The file, for the error.
    allowed : Allowed
    said : str
        Fields that are not taken from the record, as this command line says them itself.

    Examples
    --------
    >>> from lincat._reach import Allowed, check_allowed
    >>> from lincat.runs.config import EvaluationConfig
    >>> config = EvaluationConfig(source=["log.csv"], features="mine:Features")
    >>> check_allowed(config, "config.toml", Allowed(code=True))
    >>> check_allowed(config, "config.toml", Allowed(), "features")
    >>> check_allowed(config, "config.toml", Allowed())
    Traceback (most recent call last):
    lincat._reach.NotAllowedError: config.toml: expected --trust-code, since it has features =
    'mine:Features', which runs code, got none; allow it if you know where the file comes from
    """
    wanted: dict[tuple[str, ...], list[str]] = {}
    for one in named(record):
        if one.field.partition(".")[0] not in said and one.reach not in allowed.reach:
            wanted.setdefault(_options(one, allowed), []).append(str(one))
    if not wanted:
        return
    expected = ", and ".join(
        f"{' '.join(options)}, since it has {', '.join(what)}" for options, what in wanted.items()
    )
    remedy = "allow it if you know where the file comes from"
    options = dict.fromkeys(option for options in wanted for option in options)
    raise NotAllowedError(str(fail(place, expected, "none", remedy)), tuple(options))


def _options(one: Named, allowed: Allowed) -> tuple[str, ...]:
    """The options that allow what is not allowed yet."""
    if one.option:
        return one.option, str(one.value)
    missing = one.reach & ~allowed.reach
    flags = {Reach.CODE: "--trust-code", Reach.CONNECTS: "--connect"}
    return tuple(flag for reach, flag in flags.items() if reach in missing)


def named(record: msgspec.Struct, of: str = "") -> Iterator[Named]:
    """Yield the values of a record, and of the records within it, that reach somewhere."""
    for field, hint in get_type_hints(type(record), include_extras=True).items():
        yield from _named(hint, getattr(record, field), f"{of}{field}")


def _named(hint: Any, value: Any, field: str) -> Iterator[Named]:
    """The values that reach somewhere; of several types that fit, the one that says the least."""
    if value is None or isinstance(value, bool | int | float):  # which name nothing
        return
    if isinstance(value, msgspec.Struct):
        yield from named(value, f"{field}.")
        return
    found = [
        one for one in (_fitted(each, value, field) for each in _arms(hint)) if one is not None
    ]
    if not found:
        found = [[Named(field, value, Reach.EVERYTHING)]]
    yield from min(found, key=len)


def _fitted(hint: Any, value: Any, field: str) -> list[Named] | None:
    """The values of one type that reach somewhere; None where it does not say, or is another."""
    if get_origin(hint) is Literal:
        return [] if value in get_args(hint) else None
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        if not isinstance(value, get_origin(kind) or kind):
            return None
        for note in notes:
            if isinstance(note, Reaches):
                reach = note.told(value)
                return [Named(field, value, reach, note.option)] if reach else []
        return _fitted(kind, value, field)
    kind = get_origin(hint)
    if kind not in (list, tuple) or not isinstance(value, list | tuple):
        return None
    element = get_args(hint)[0]
    return [one for each in value for one in _named(element, each, field)]


def _arms(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
