"""JSON as typed records, from anybody: whatever is wrong with it is said in one line."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import msgspec

from lincat._arguments import fail
from lincat._text import one_line

_T = TypeVar("_T")
#: What decoding raises; objects within objects without end are no DecodeError.
NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)


@overload
def decoded(content: bytes | str, place: str, what: str, *, remedy: str = "") -> Any: ...
@overload
def decoded(
    content: bytes | str, place: str, what: str, type: type[_T], *, remedy: str = ""
) -> _T: ...
def decoded(
    content: bytes | str, place: str, what: str, type: Any = Any, *, remedy: str = ""
) -> Any:
    """Return JSON text as a value of this type, or say that ``place`` does not hold ``what``.

    Examples
    --------
    >>> from lincat._json import decoded
    >>> decoded(b"[1, 2]", "file", "numbers", list[int])
    [1, 2]
    """
    try:
        return msgspec.json.decode(content, type=type)
    except NOT_JSON as error:
        got = f"something else ({one_line(error)[:300]})"
        raise fail(place, what, got, remedy) from None
