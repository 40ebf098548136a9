"""Ids as text: JSON, which keeps 1, 1.0, true, "1" and null apart as Python does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lincat._arguments import fail
from lincat._text import shown


def ids_to_bytes(ids: Sequence[Any]) -> npt.NDArray[np.uint8]:
    """Return ids (str, int, float, bool, None, and tuples of these) as the bytes of JSON text."""
    text = json.dumps([_plain(x) for x in ids], separators=(",", ":"))
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def ids_from_bytes(content: Any) -> list[Any]:
    """Return the ids that :func:`ids_to_bytes` wrote."""
    if content.dtype != np.uint8 or content.ndim != 1:
        raise fail("ids", "bytes", f"{content.dtype} of shape {content.shape}")
    ids = json.loads(content.tobytes())
    if not isinstance(ids, list):
        raise fail("ids", "a list", type(ids).__name__)
    return [_unplain(x) for x in ids]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is tuple:
        return [_plain(x) for x in value]  # ids are hashable, so a list can only be a tuple
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise fail(
        "ids",
        "strings, numbers, booleans, None or tuples of these, to write them to a file",
        f"{shown(value, 60)} ({type(value).__name__})",
        "turn the ids into one of these first",
    )


def _unplain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unplain(x) for x in value)
    if isinstance(value, dict):
        raise fail("ids", "strings, numbers, booleans, null or lists", "an object")
    return value
