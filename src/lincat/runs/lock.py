"""One run at a time writes into a run folder.

The operating system holds the lock, and lets go of it when the process ends, however it ends: what
a dead process left behind blocks nobody. It is held by one :class:`Lock`, not by the process: other
threads are refused like other processes, and a forked child does not have it. Where there are no
such locks (Windows), none is taken.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path

from lincat._arguments import fail
from lincat._files import open_own

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_NAME = "lock"


class Lock:
    """The lock of a run folder, as one run takes it.

    It is let go of when nobody refers to this any more, and when Python ends.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.runs.lock import Lock
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lock = Lock(folder)
    >>> lock.claim()
    >>> lock.claim()
    >>> [file.name for file in folder.iterdir()]
    ['lock']
    >>> lock.release()
    >>> list(folder.iterdir())
    []
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: _Held | None = None
        self._let_go: Callable[[], object] = bool

    def claim(self) -> None:
        """Take it, or say who has it; nothing happens if this has it."""
        if fcntl is None or (self._held is not None and self._held.is_open):
            return
        place = self._folder.resolve() / _NAME
        while True:
            handle = open_own(place, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = os.pread(handle, 20, 0).decode(errors="replace").strip()
                os.close(handle)
                raise self._taken(who) from None
            except OSError:  # a file system without locks
                os.close(handle)
                return
            # Who had it before may have removed the file after it was opened here.
            if _is_there(place, handle):
                break
            os.close(handle)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._held = _Held(place, handle)
        self._let_go = weakref.finalize(self, self._held.let_go)

    def release(self) -> None:
        """Let go of it, if this has it."""
        self._let_go()

    def _taken(self, who: str) -> Exception:
        own = who == str(os.getpid())
        said = "another run of this process" if own else f"process {who or '?'}"
        return fail(
            str(self._folder),
            "a run folder that nobody writes into",
            f"one in which {said} is learning",
            "wait for it, stop it, or write elsewhere (--out)",
        )


def _is_there(place: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(place), os.fstat(handle))
    except FileNotFoundError:
        return False


class _Held:
    """A lock that was taken: the file, and whose it is."""

    def __init__(self, place: Path, handle: int) -> None:
        self._place, self._handle, self._owner = place, handle, os.getpid()
        self.is_open = True
        _all_held.add(self)

    def let_go(self) -> None:
        """Remove the file and close it; once only, and not in a child of its owner."""
        if self.is_open and os.getpid() == self._owner:
            self._place.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the file, which lets go of the lock if no other process has it open."""
        if self.is_open:
            self.is_open = False
            os.close(self._handle)


_all_held: weakref.WeakSet[_Held] = weakref.WeakSet()


def _close_in_child() -> None:
    """A child that outlives its parent would hold the lock of a run that is not its own."""
    for held in list(_all_held):
        held.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
