"""The previous release's rows, as they were: to see what has changed, and for the better."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from lincat.truth.run import Row


class Previous(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows that a release left, and how they were made."""

    release: str
    command: str
    rows: tuple[Row, ...]


def previous() -> Previous:
    """Return the previous release's rows.

    Examples
    --------
    >>> from lincat.truth.previous import previous
    >>> sorted({row.method for row in previous().rows})
    ['lincat']
    """
    data = files("lincat.truth").joinpath("previous.json").read_bytes()
    return msgspec.json.decode(data, type=Previous)
