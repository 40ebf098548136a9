"""Where the bytes of a file come from: this machine's disk, or what an address such as s3:// names.

Addresses are read by fsspec, as Dask does, with the same storage options. These may hold secrets:
they travel with the work to other processes, and are written nowhere.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from lincat._arguments import fail, reason
from lincat._text import one_line

_T = TypeVar("_T")
_R = TypeVar("_R")
_LOCAL = "file://"
_OWN = ("file", "local", "memory")  # addresses that stay on this machine
_AT_ONCE = 16  # requests under way: a store answers after some tens of milliseconds


class Store(Protocol):
    """What opens files."""

    @property
    def near(self) -> bool:
        """Whether small reads cost next to nothing."""

    def open(self, path: str) -> Any:
        """Open a file whose bytes can be read from anywhere; an Arrow file."""

    def stream(self, path: str) -> Any:
        """Open a file that is read from its beginning; .gz is unpacked."""

    def size(self, path: str) -> int:
        """Return its bytes."""

    def is_file(self, path: str) -> bool:
        """Return whether it is there, and can be read more than once."""

    def place(self, path: str) -> str:
        """Return what it is called from anywhere."""


@dataclass(frozen=True)
class Disk:
    """The files of this machine."""

    near = True

    def open(self, path: str) -> Any:
        """Open a file."""
        with open(path, "rb"):  # the operating system's own words for what is wrong
            pass
        return pa.OSFile(path)

    def stream(self, path: str) -> Any:
        """Open a file, or a pipe."""
        with open(path, "rb"):
            pass
        return pa.input_stream(path)

    def size(self, path: str) -> int:
        """Return its bytes."""
        return os.stat(path).st_size

    def is_file(self, path: str) -> bool:
        """Return whether it is a file."""
        return Path(path).is_file()

    def place(self, path: str) -> str:
        """Return the absolute path."""
        return os.path.abspath(path)


@dataclass(frozen=True)
class Addresses:
    """The files of a file system of fsspec.

    Attributes
    ----------
    files : fsspec.AbstractFileSystem
        With its options in it.
    head : str
        How addresses of them begin.

    Examples
    --------
    >>> import fsspec
    >>> from lincat.tables.stores import Addresses
    >>> with fsspec.open("memory://lincat/log.csv", "wb") as file:
    ...     _ = file.write(b"state,reward")
    >>> store = Addresses.of("memory://lincat/*.csv")
    >>> [(file, store.size(file)) for file in store.find("memory://lincat/*.csv")]
    [('memory:///lincat/log.csv', 12)]
    """

    files: Any = field(repr=False)
    head: str
    near = False

    @classmethod
    def of(cls, address: str, options: Mapping[str, Any] | None = None) -> Addresses:
        """Return the file system of an address."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            remedy = "pip install fsspec"
            raise fail(address, "fsspec, which reads addresses", "none", remedy) from None
        try:
            with _without_last_words():
                files, _ = url_to_fs(address, **(options or {}))
        except ImportError as error:  # "Install s3fs to access S3"
            remedy = "pip install it, here and on the workers"
            raise fail(address, "what reads such addresses", one_line(error), remedy) from None
        except Exception as error:  # options of other people's file systems: anything can come
            expected = "an address and storage options that fsspec knows"
            raise fail(address, expected, reason(error)) from None
        return cls(files, address[: address.index("://") + 3])

    def open(self, path: str) -> Any:
        """Open a file; whoever reads it asks for as much as it needs."""
        return pa.PythonFile(self.files.open(self._name(path), "rb", cache_type="none"), mode="r")

    def stream(self, path: str) -> Any:
        """Open a file."""
        packed = "gzip" if path.lower().endswith(".gz") else None
        file = pa.PythonFile(self.files.open(self._name(path), "rb"), mode="r")
        return pa.input_stream(file, compression=packed)

    def size(self, path: str) -> int:
        """Return its bytes."""
        return int(self.files.info(self._name(path))["size"])

    def is_file(self, path: str) -> bool:
        """Return whether it is there."""
        return bool(self.files.isfile(self._name(path)))

    def place(self, path: str) -> str:
        """Return the address."""
        return path

    def find(self, path: str) -> list[str] | None:
        """Return the files of a pattern, or below a folder; None for what is neither."""
        name = self._name(path)
        if any(sign in name for sign in "*?["):
            found = self.files.glob(name)
        elif self.files.isdir(name):
            found = self.files.find(name)
        else:
            return None
        return sorted(file if "://" in file else self.head + file for file in found)

    def _name(self, path: str) -> str:
        name: str = self.files._strip_protocol(path)
        return name


DISK = Disk()


@contextmanager
def _without_last_words() -> Iterator[None]:
    """Keep from the terminal what a file system says that was never finished, as it goes."""
    before = sys.unraisablehook

    def hook(what: sys.UnraisableHookArgs) -> None:
        if getattr(what.object, "__name__", "") != "__del__":
            before(what)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def is_address(path: str) -> bool:
    """Return whether a path is of a file system that fsspec opens.

    Examples
    --------
    >>> from lincat.tables.stores import is_address
    >>> is_address("s3://bucket/logs"), is_address("logs/*.csv")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.:_-]*://", path) is not None


def is_remote(path: str) -> bool:
    """Return whether reading a path may speak to another machine.

    It does not if the path is on a disk of this one, or an address of its disk or its memory. Any
    other address does, whatever it begins with, and so do two slashes of Windows, before the name
    of a machine.

    Examples
    --------
    >>> from lincat.tables.stores import is_remote
    >>> [is_remote(path) for path in ("logs/*.csv", "file:///logs", "memory://log.csv")]
    [False, False, False]
    >>> [is_remote(path) for path in ("s3://logs", "simplecache::s3://logs", "//machine/logs")]
    [True, True, True]
    """
    head, rest = path.split("://", 1) if is_address(path) else ("", path)
    return head not in ("", *_OWN) or re.match(r"[\\/]{2}", rest) is not None


def store_of(path: str, options: Mapping[str, Any] | None = None) -> tuple[str, Store]:
    """Return a path as its store takes it, and the store; file:// is this machine's disk."""
    if path.startswith(_LOCAL):
        path = path.removeprefix(_LOCAL)
        if not os.path.isabs(path):
            raise fail(_LOCAL + path, "an absolute path, file:///...", "another one")
    return (path, Addresses.of(path, options)) if is_address(path) else (path, DISK)


def at_once(work: Callable[[_T], _R], things: Iterable[_T], *, near: bool) -> list[_R]:
    """Do the same for all things, several at once where each waits for a store."""
    if near:
        return [work(thing) for thing in things]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(work, things))
