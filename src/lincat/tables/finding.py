"""The files that paths, folders and patterns stand for."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from lincat._arguments import fail
from lincat.tables.formats import FORMATS
from lincat.tables.readers import STDIN, format_of, reading


def find_files(paths: str | Path | Sequence[str | Path], format: str | None) -> list[str]:
    """Return the files that the given paths stand for: all of one format, in order, each once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.tables.finding import find_files
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.csv", "a.csv", "_SUCCESS"):
    ...     _ = (folder / name).write_text("")
    >>> [pathlib.Path(file).name for file in find_files(folder, None)]
    ['a.csv', 'b.csv']
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise fail("paths", "at least one file", "none")
    files: list[str] = []
    for path in map(str, given):
        if path == STDIN and len(given) > 1:
            raise fail("paths", "standard input alone, or files", f"{len(given)} paths")
        if path != STDIN and Path(path).is_dir():
            files += _in_folder(path, format)
        elif any(sign in path for sign in "*?[") and not Path(path).exists():
            files += sorted(glob.glob(path, recursive=True)) or [path]  # a pattern in quotes
        else:
            files.append(path)
    kinds = {format_of(file, format): file for file in files}
    if len(kinds) > 1:
        raise fail("paths", "files of one format", ", ".join(kinds.values()))
    return list(dict.fromkeys(files))


def _in_folder(folder: str, format: str | None) -> list[str]:
    endings = FORMATS.get(format or "", tuple(x for known in FORMATS.values() for x in known))
    with reading(folder, "folder"):
        files = sorted(
            str(path)
            for path in Path(folder).rglob("*")
            if path.is_file()
            # marks that other programs leave
            and not any(x.startswith((".", "_")) for x in path.relative_to(folder).parts)
            and path.name.lower().endswith(endings)
        )
    if not files:
        raise fail(folder, "a folder with data files", f"no file {', '.join(endings)} in it")
    return files
