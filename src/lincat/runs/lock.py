"""One process at a time writes into a run folder.

The operating system holds the lock, and lets go of it when the process ends, however it ends: what
a dead process left behind blocks nobody. Where there are no such locks (Windows), none is taken.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import Any

from lincat._arguments import fail

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_NAME = "lock"
_held: dict[Path, Any] = {}  # by this process


def claim(folder: Path) -> None:
    """Take the lock of a folder, or say who has it; nothing happens if this process has it."""
    folder = folder.resolve()
    if fcntl is None or folder in _held:
        return
    place = folder / _NAME
    while True:
        file = place.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            who = file.read(20).decode(errors="replace").strip()
            file.close()
            raise fail(
                str(folder),
                "a run folder that nobody writes into",
                f"one in which process {who or '?'} is learning",
                "wait for it, stop it, or write elsewhere (--out)",
            ) from None
        except OSError:  # a file system without locks
            file.close()
            return
        # Who had it before may have removed the file after it was opened here.
        if place.exists() and os.fstat(file.fileno()).st_ino == place.stat().st_ino:
            break
        file.close()
    file.truncate(0)
    file.write(f"{os.getpid()}\n".encode())
    file.flush()
    _held[folder] = file


def release(folder: Path) -> None:
    """Let go of the lock, if this process has it."""
    file = _held.pop(folder.resolve(), None)
    if file is not None:
        (folder / _NAME).unlink(missing_ok=True)
        file.close()


@atexit.register
def _release_all() -> None:
    """Runs that were begun and never finished hold theirs until the process ends."""
    for folder in list(_held):
        release(folder)
