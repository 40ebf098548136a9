"""Files of ours: read where they are regular files, written where no link leads elsewhere.

A folder may come from a stranger. What is in it may be a link to a file of the reader's, a pipe
that nobody writes into, or a device without end. So there is one way to read a file of a run,
statistics, features or a model (:func:`read_regular`), and few to write (:func:`write_atomically`,
:func:`append`, :func:`open_own`). A link is read through if a regular file is behind it; it is
replaced, or refused, where something is written. The folder that a user names may be a link;
folders within a run folder may not (:func:`is_own_folder`).

Writing is such that a reader sees the old file or the new one, never half of one.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from lincat._arguments import fail

Piece: TypeAlias = bytes | memoryview
#: Of a file; pieces follow each other, and may be what an array is, without a copy.
Content: TypeAlias = bytes | list[Piece]

_LARGEST = 2**34  # bytes of a file that is read whole
# Whatever is at the other end is not waited for; Windows has no such flags, and no such files.
_UNWAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_HERE = getattr(os, "O_NOFOLLOW", 0)


class UnfitFileError(OSError):
    """What has the name of a file is none that can be used; no call of the system failed."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EINVAL, what, str(path))


# ------------------------------------------------------------------------------------------ reading


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file, or of one that a link leads to."""
    _check_regular(path, os.stat(path))  # before it is opened: that alone wakes up some devices
    with open(os.open(path, os.O_RDONLY | _UNWAITING), "rb") as file:
        about = os.fstat(file.fileno())
        _check_regular(path, about)
        if about.st_size > _LARGEST:
            most = f"at most {_LARGEST} bytes are read"
            raise UnfitFileError(path, f"{about.st_size} bytes, where {most}")
        return file.read()


def _check_regular(path: Path, about: os.stat_result) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise UnfitFileError(path, "a folder")
    if not stat.S_ISREG(about.st_mode):
        raise UnfitFileError(path, "not a regular file")


# ------------------------------------------------------------------------------------------ writing


def write_atomically(path: Path, content: Content | str) -> None:
    """Write a file under a temporary name beside it, then move it into place.

    A link in its place is replaced; a pipe or a device, as a link or not, is left alone.
    """
    with suppress(FileNotFoundError):
        _check_regular(path, os.stat(path))
    data = content.encode() if isinstance(content, str) else content
    parts = data if isinstance(data, list) else [data]
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; these are ordinary ones.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def append(path: Path, content: bytes) -> None:
    """Write behind what a file holds, which is made if it is not there."""
    with open(open_own(path, os.O_WRONLY | os.O_APPEND), "ab") as file:
        file.write(content)


def open_own(path: Path, flags: int) -> int:
    """Open a file to write into it as it is, or make it: a regular file that has no other name."""
    with suppress(FileNotFoundError):
        _check_own(path, os.lstat(path))
    handle = os.open(path, flags | os.O_CREAT | _UNWAITING | _HERE, 0o666)
    try:
        _check_own(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check_own(path: Path, about: os.stat_result) -> None:
    if stat.S_ISLNK(about.st_mode) or about.st_nlink > 1:
        raise UnfitFileError(path, "a link to another file, which is not written into; remove it")
    _check_regular(path, about)


def sweep_drafts(paths: Iterable[Path]) -> None:
    """Remove what processes left that were killed while they wrote one of these files."""
    for path in paths:
        for draft in path.parent.glob(f".{path.name}.????????"):
            remove_file(draft)


def remove_file(path: Path) -> None:
    """Remove a file or a link; a folder of its name is nothing that was written here."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------ folders


def is_own_folder(path: Path) -> bool:
    """Return whether a folder within a run folder is there; a link in its place is refused."""
    if path.is_symlink():
        raise fail(str(path), "a folder", "a link", "remove it: nothing behind it is touched")
    return path.is_dir()


def remove(path: Path) -> None:
    """Remove a folder with what is in it, or a file; what links lead to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        remove_file(path)


def copy_folder(source: Path, to: Path) -> None:
    """Copy the files and folders in a folder; links to folders, pipes and devices are left out."""

    def unfit(folder: str, names: list[str]) -> list[str]:
        places = {name: Path(folder) / name for name in names}
        return [
            name
            for name, place in places.items()
            if not place.is_file() and (place.is_symlink() or not place.is_dir())
        ]

    shutil.copytree(source, to, dirs_exist_ok=True, ignore=unfit)


def new_folder(path: Path, argument: str, *, force: bool) -> Path:
    """Make a folder to write into; one that holds files is refused unless ``force``."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        occupied = any(path.iterdir())
    except OSError as error:
        raise fail(argument, "a folder that can be written", f"{path} ({error.strerror})") from None
    if occupied and not force:
        raise fail(
            argument,
            "a new or empty folder",
            str(path),
            "name another, or add --force to write over",
        )
    return path


class TemporaryFolder:
    """A new folder that is there for as long as this is, or until Python ends.

    Examples
    --------
    >>> from lincat._files import TemporaryFolder
    >>> folder = TemporaryFolder()
    >>> path = folder.path
    >>> path.exists()
    True
    >>> del folder
    >>> path.exists()
    False
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lincat-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
