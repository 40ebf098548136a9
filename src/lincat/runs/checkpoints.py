"""Checkpoints of a run: folders that appear whole, tell whether they are as written, and are few.

checkpoints/<n>/            everything after n transitions
checkpoints/<n>/SHA256SUMS  of its files, as ``sha256sum --check`` reads it
checkpoints/.<n>.<process>  a draft, which no reader looks at
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lincat._arguments import fail
from lincat._files import Content, is_own_folder, read_regular, remove, write_atomically

_KEPT = 2
_SUMS = "SHA256SUMS"
_NAME = re.compile(r"\d{12}")
_DRAFT = re.compile(r"\.\d{12}\.\d+")


@dataclass(frozen=True)
class Intact:
    """The newest checkpoint that is as it was written.

    Attributes
    ----------
    place : Path or None
        None where there is none at all.
    damaged : tuple of Path
        Newer ones, which are not.
    """

    place: Path | None
    damaged: tuple[Path, ...] = ()

    @property
    def word(self) -> str:
        """What to say of damaged ones; empty without any."""
        if self.place is None or not self.damaged:
            return ""
        after = f"{int(self.place.name):,} transitions"
        return f"The newest checkpoint is damaged: the one before is used, after {after}."


class Checkpoints:
    """The folder of the checkpoints of a run; it need not be there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat.runs.checkpoints import Checkpoints
    >>> checkpoints = Checkpoints(pathlib.Path(tempfile.mkdtemp()))
    >>> for n in (1, 2):
    ...     checkpoints.write(n, {"model": b"x"})
    >>> _ = (checkpoints.newest() / "model").write_bytes(b"y")
    >>> checkpoints.intact().word
    'The newest checkpoint is damaged: the one before is used, after 1 transitions.'
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, transitions: int, files: Mapping[str, Content]) -> None:
        """Keep everything that is needed to continue after this many transitions."""
        place = self.path / f"{transitions:012d}"
        draft = self.path / f".{place.name}.{os.getpid()}"
        if not is_own_folder(self.path):
            self.path.mkdir()  # not the run folder: one that was removed stays so
        remove(draft)
        try:
            draft.mkdir()
            for name, content in files.items():
                write_atomically(draft / name, content)
            write_atomically(draft / _SUMS, _sums(files))
            self.forget([place])
            os.replace(draft, place)
        except OSError:
            remove(draft)
            raise
        self.forget(self._all()[:-_KEPT])

    def newest(self) -> Path | None:
        """The newest one, whatever its state."""
        found = self._all()
        return found[-1] if found else None

    def intact(self) -> Intact:
        """The newest one that is as it was written; an error if all are damaged."""
        found = self._all()
        for older, place in enumerate(reversed(found)):
            if _is_intact(place):
                return Intact(place, tuple(found[len(found) - older :]))
        if found:
            remedy = f"lincat evaluate --config {self.path.parent / 'config.toml'} begins again"
            raise fail(str(self.path), "a checkpoint as lincat wrote it", "damaged ones", remedy)
        return Intact(None)

    def forget(self, places: list[Path] | tuple[Path, ...] | None = None) -> None:
        """Remove these, by default all."""
        for place in self._all() if places is None else places:
            hidden = self.path / f".{place.name}.0"
            remove(hidden)
            if os.path.lexists(place):  # moved first: one that is half removed is a damaged one
                os.replace(place, hidden)
                remove(hidden)

    def sweep(self) -> None:
        """Remove drafts of processes that were killed; who calls this has the lock."""
        for place in self._named(_DRAFT):
            remove(place)

    def clear(self) -> None:
        """Remove everything of ours: by their names, as other programs keep checkpoints too."""
        self.sweep()
        self.forget()
        self.leave_if_empty()

    def leave_if_empty(self) -> None:
        """Remove the folder if nothing is in it."""
        if is_own_folder(self.path) and not any(self.path.iterdir()):
            self.path.rmdir()

    def _all(self) -> list[Path]:
        return self._named(_NAME)

    def _named(self, pattern: re.Pattern[str]) -> list[Path]:
        if not is_own_folder(self.path):
            return []
        found = [place for place in self.path.iterdir() if pattern.fullmatch(place.name)]
        return sorted(place for place in found if place.is_dir() and not place.is_symlink())


def _sums(files: Mapping[str, Content]) -> str:
    return "".join(f"{_digest(content)}  {name}\n" for name, content in sorted(files.items()))


def _digest(content: Content) -> str:
    digest = hashlib.sha256()
    for part in content if isinstance(content, list) else [content]:
        digest.update(part)
    return digest.hexdigest()


def _is_intact(place: Path) -> bool:
    try:
        files = {file.name: read_regular(file) for file in place.iterdir()}
    except OSError:
        return False
    return files.pop(_SUMS, b"") == _sums(files).encode()
