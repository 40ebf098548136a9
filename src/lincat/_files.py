"""Writing files so that a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

from lincat._arguments import fail


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name beside it, then move it into place."""
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; these are ordinary ones.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sweep_drafts(paths: Iterable[Path]) -> None:
    """Remove what processes left that were killed while they wrote one of these files."""
    for path in paths:
        for draft in path.parent.glob(f".{path.name}.????????"):
            draft.unlink(missing_ok=True)


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
