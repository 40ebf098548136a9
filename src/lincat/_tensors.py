"""Objects as files: arrays and a JSON header in safetensors, so that reading one runs no code.

The header holds the format's version, the class, the hyper-parameters and plain values. The bytes
depend on nothing but the object. Sizes are capped before anything is allocated. A checksum
(SHA-256) covers header and arrays: what a broken disk makes of a number is a number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lincat._arguments import InvalidInputError, fail, reason
from lincat._files import Content, Piece, read_regular, write_atomically
from lincat._version import __version__

_T = TypeVar("_T")
_FORMAT = 2
_UNCHECKED = 1  # the format of 0.1.0, in which few files have a checksum
_LARGEST_HEADER = 1_000_000  # bytes; ours take a few hundred
# What safetensors calls types, in the order in which it lays them: larger numbers first.
_TYPES = {
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "float32": "F32",
    "uint32": "U32",
    "int32": "I32",
    "uint16": "U16",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


def pack(
    key: str,
    class_name: str,
    params: dict[str, Any],
    state: dict[str, Any],
    arrays: dict[str, Any],
    plain: Callable[[Any], Any],
) -> bytes:
    """Return the content of a file; ``plain`` turns into JSON what JSON does not know."""
    return b"".join(pieces(key, class_name, params, state, arrays, plain))


def pieces(
    key: str,
    class_name: str,
    params: dict[str, Any],
    state: dict[str, Any],
    arrays: dict[str, Any],
    plain: Callable[[Any], Any],
) -> list[Piece]:
    """Return the same one after the other: to be written while the arrays are what they are.

    They are not copied: safetensors makes three of what may be all memory that a run takes.
    """
    header = {
        "format": _FORMAT,
        "lincat": __version__,
        "class": class_name,
        "params": params,
        "state": state,
    }
    text = json.dumps(header, sort_keys=True, default=plain)
    text = json.dumps({**json.loads(text), "sha256": _digest(text, arrays)}, sort_keys=True)
    if len(text) > _LARGEST_HEADER:
        raise fail(class_name, f"settings of at most {_LARGEST_HEADER} bytes", len(text))
    return _laid_out(arrays, {key: text})


def _laid_out(arrays: dict[str, Any], metadata: dict[str, str]) -> list[Piece]:
    """The format of safetensors: where each array lies, as JSON, and the arrays."""
    order = list(_TYPES)
    names = sorted(arrays, key=lambda name: (order.index(arrays[name].dtype.name), name))
    about: dict[str, Any] = {"__metadata__": metadata}
    content: list[Piece] = []
    end = 0
    for name in names:
        array = np.ascontiguousarray(arrays[name])
        begin, end = end, end + array.nbytes
        kind = _TYPES[array.dtype.name]
        about[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [begin, end]}
        little_end_first = array.astype(array.dtype.newbyteorder("<"), copy=False)
        content.append(little_end_first.reshape(-1).view(np.uint8).data)
    text = json.dumps(about, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *content]


def unpack(
    content: bytes, key: str, classes: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header of one of these classes, and the arrays, that :func:`pack` put together.

    A file that was changed since it was written is refused.
    """
    from safetensors.numpy import load

    size = int.from_bytes(content[:8], "little")
    # Text within text: quotes take two bytes there.
    if len(content) < 8 or size > min(2 * _LARGEST_HEADER, len(content) - 8):
        raise fail("header", f"at most {2 * _LARGEST_HEADER} bytes, within the file", size)
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"][key])
    if header["format"] not in (_FORMAT, _UNCHECKED):
        remedy = "read it with a newer version of lincat"
        raise fail("format", f"version {_FORMAT}", header["format"], remedy)
    if header["class"] not in classes:
        raise fail("class", f"one of {', '.join(sorted(classes))}", repr(header["class"]))
    # Copies, since arrays that cannot be written to have Numba compile every kernel once more.
    arrays = {name: np.array(array) for name, array in load(content).items()}
    if header["format"] != _UNCHECKED or "sha256" in header:
        expected = header.pop("sha256", "none")
        found = _digest(json.dumps(header, sort_keys=True), arrays)
        if found != expected:
            remedy = "the file was changed or damaged: make it again"
            raise fail("checksum", str(expected)[:16], found[:16], remedy)
    return header, arrays


def _digest(text: str, arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data)
    return digest.hexdigest()


def write_packed(path: str | Path, content: Content) -> None:
    """Write a file, whole or not at all."""
    try:
        write_atomically(Path(path), content)
    except OSError as error:
        got = f"{path} ({error.strerror or 'an error'})"
        raise fail("path", "a place that can be written", got) from None


def read_packed(path: str | Path, what: str, build: Callable[[bytes], _T]) -> _T:
    """Return what ``build`` makes of a file; whatever is wrong with it is said in one line."""
    path = Path(path)
    try:
        content = read_regular(path)
    except OSError as error:
        raise fail(str(path), f"a readable {what}", error.strerror or "an error") from None
    return built(content, str(path), what, build)


def built(content: bytes, name: str, what: str, build: Callable[[bytes], _T]) -> _T:
    """Return what ``build`` makes of the content of a file, likewise."""
    try:
        return build(content)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None
    except Exception as error:
        raise fail(name, f"a {what} of lincat", f"something else ({reason(error)})") from None
