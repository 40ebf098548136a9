"""The files that paths, folders and patterns stand for."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from lincat._arguments import fail
from lincat.tables.formats import FORMATS
from lincat.tables.readers import STDIN, format_of, reading
from lincat.tables.stores import Addresses, Store, store_of


def find_files(
    paths: str | Path | Sequence[str | Path],
    format: str | None,
    options: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the files that the given paths stand for: all of one format, in order, each once."""
    return list(stored_files(paths, format, options))


def stored_files(
    paths: str | Path | Sequence[str | Path],
    format: str | None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Store]:
    """Return the same with where they are: on the disk, or in what ``options`` open.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.finding import stored_files
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.csv", "a.csv", "_SUCCESS"):
    ...     _ = (folder / name).write_text("")
    >>> [pathlib.Path(file).name for file in stored_files(folder, None)]
    ['a.csv', 'b.csv']
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise fail("paths", "at least one file", "none")
    files: dict[str, Store] = {}
    for path in map(str, given):
        if path == STDIN and len(given) > 1:
            raise fail("paths", "standard input alone, or files", f"{len(given)} paths")
        path, store = store_of(path, options)
        found = _at(store, path, format) if isinstance(store, Addresses) else _here(path, format)
        files |= {file: files.get(file, store) for file in found}
    kinds = {format_of(file, format): file for file in files}
    if len(kinds) > 1:
        raise fail("paths", "files of one format", ", ".join(kinds.values()))
    return files


def _here(path: str, format: str | None) -> list[str]:
    if path != STDIN and Path(path).is_dir():
        with reading(path, "folder"):
            files = (str(file) for file in Path(path).rglob("*") if file.is_file())
            return _data_files(path, files, format)
    if any(sign in path for sign in "*?[") and not Path(path).exists():
        return sorted(glob.glob(path, recursive=True)) or [path]  # a pattern in quotes
    return [path]


def _at(store: Addresses, path: str, format: str | None) -> list[str]:
    with reading(path, "file or folder"):
        found = store.find(path)
    if found is None:
        return [path]
    if any(sign in path for sign in "*?["):
        return found or [path]
    return _data_files(path, found, format)


def _data_files(folder: str, files: Iterable[str], format: str | None) -> list[str]:
    """Those in a folder that are none of the marks that other programs leave."""
    endings = FORMATS.get(format or "", tuple(x for known in FORMATS.values() for x in known))
    depth = len(PurePath(folder).parts)
    kept = sorted(
        file
        for file in files
        if not any(x.startswith((".", "_")) for x in PurePath(file).parts[depth:])
        and file.lower().endswith(endings)
    )
    if not kept:
        raise fail(folder, "a folder with data files", f"no file {', '.join(endings)} in it")
    return kept
