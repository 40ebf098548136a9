"""The folder of an evaluation: what it holds, and how an interrupted one continues.

    config.toml             what the result depends on
    versions.json           of lincat and of what it stands on
    states.json             the states that the report shows, chosen once
    metrics.jsonl           rows of the learning curves, as they come
    checkpoints/<n>/        everything after n transitions, enough to continue from; the newest two
    parts/                  sums of parts that are done, until all are (--workers, --scheduler)
    model.safetensors       the learner at the end, for lincat.load
    averages.safetensors    instead of it, in the folder that lincat export writes
    features.safetensors    its features, for lincat.load_features
    potential*.safetensors  what returns were learned about, where they were, and its features
    scale*.safetensors      in whose units they were then learned, and its features
    result.json             the Answer, which the report is drawn from
    report.html
    lock                    while a process writes here

Every file is written whole or not at all, and has a checksum that is looked at whenever it is read;
the page, which only people read, has none. None is read by running code, but for features that name
a Python module, and those only if that is allowed.
"""

from __future__ import annotations

import json
import platform
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path

import msgspec

from lincat._arguments import InvalidInputError, fail
from lincat._files import (
    Content,
    append,
    is_own_folder,
    new_folder,
    read_regular,
    remove_file,
    sweep_drafts,
    write_atomically,
)
from lincat._json import decoded
from lincat._seals import JSON, LINE, TOML
from lincat.inference.answer import Answer
from lincat.learners.divergence import DivergenceError
from lincat.runs.checkpoints import Checkpoints
from lincat.runs.config import EvaluationConfig, config_from_toml, config_to_toml, differences
from lincat.runs.lock import Lock
from lincat.runs.shown import ShownStates

_PACKAGES = ("lincat", "numpy", "scipy", "numba", "pyarrow", "gymnasium", "safetensors")


class MetricsRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of metrics.jsonl: where a run stood after so many transitions.

    ``mean``, ``quantile`` and ``cvar`` hold a number for each shown state, at the run's level;
    mass off the grid is per transition.
    """

    transitions: int
    seconds: float = 0.0
    clipped_below: float = 0.0
    clipped_above: float = 0.0
    negative_mass: float = 0.0
    mean: tuple[float, ...] = ()
    quantile: tuple[float, ...] = ()
    cvar: tuple[float, ...] = ()


class _Kept(msgspec.Struct):
    """What is read of progress.json here."""

    config: str


class RunFolder:
    """A run folder on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.toml"
        self.versions_file = path / "versions.json"
        self.states_file = path / "states.json"
        self.metrics_file = path / "metrics.jsonl"
        self.model_file = path / "model.safetensors"
        self.averages_file = path / "averages.safetensors"
        self.features_file = path / "features.safetensors"
        self.potential_file = path / "potential.safetensors"
        self.potential_features_file = path / "potential_features.safetensors"
        self.scale_file = path / "scale.safetensors"
        self.scale_features_file = path / "scale_features.safetensors"
        self.result_file = path / "result.json"
        self.report_file = path / "report.html"
        self.checkpoints = Checkpoints(path / "checkpoints")
        self.parts = path / "parts"
        self._lock = Lock(path)

    @classmethod
    def create(cls, path: Path, config: EvaluationConfig, *, force: bool = False) -> RunFolder:
        """Begin a run folder; one that holds files is refused, unless ``force`` clears a run."""
        folder = cls(path)
        new_folder(path, "--out", force=force)
        claimed = False
        try:
            folder.claim()
            claimed = True
            folder._clear()
            folder.checkpoints.path.mkdir(exist_ok=True)
            write_atomically(folder.versions_file, JSON.sealed(json.dumps(_versions(), indent=1)))
            # Last, because a folder with a configuration is a run.
            folder.config = config
        except OSError as error:
            if claimed:
                folder.discard()
            got = f"{error.filename or path} ({error.strerror})"
            raise fail("--out", "a folder that can be written", got) from None
        except BaseException:
            folder.release()
            raise
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open a folder that :meth:`create` made."""
        folder = cls(path)
        if not folder.config_file.is_file():
            got = "no config.toml in it" if path.is_dir() else "no such folder"
            raise fail(str(path), "the folder of a run, as lincat evaluate writes it", got)
        return folder

    @contextmanager
    def kept_if_learned(self) -> Iterator[None]:
        """Take a new folder back if the run in it fails before anything was learned.

        A run that diverged is kept: it shows how.
        """
        try:
            yield
        except Exception as error:
            if not isinstance(error, DivergenceError) and self.checkpoints.newest() is None:
                self.discard()
            raise
        finally:
            self.release()

    def claim(self) -> None:
        """Have nobody else write here until :meth:`release`; an error if somebody does."""
        self._lock.claim()

    def release(self) -> None:
        """Let others write here."""
        self._lock.release()

    def discard(self) -> None:
        """Remove a folder in which nothing was learned."""
        with suppress(OSError, InvalidInputError):  # it may be gone, or not ours to change
            self._clear()
        self.release()
        with suppress(OSError):
            self.path.rmdir()  # if nothing is left in it

    def _clear(self) -> None:
        """Remove what runs write, and nothing else."""
        for folder in (self.checkpoints.path, self.parts):
            is_own_folder(folder)  # or nothing is removed at all
        for name, file in vars(self).items():
            if name.endswith("_file"):
                file.unlink(missing_ok=True)
        self.checkpoints.clear()
        self.forget_parts()
        self.sweep()

    def sweep(self) -> None:
        """Remove what killed processes left half written; who calls this has the lock."""
        self.checkpoints.sweep()
        self._drop_parts(r"\.[0-9a-f]{12}-\d{6}\..*")
        files = [file for name, file in vars(self).items() if name.endswith("_file")]
        sweep_drafts(files)

    # ------------------------------------------------------------------------------- settings

    @property
    def config(self) -> EvaluationConfig:
        """What the run depends on."""
        place, content = str(self.config_file), read_bytes(self.config_file)
        remedy = "restore it, or begin another run with lincat evaluate --config"
        what = "the configuration of the run"
        try:
            text = TOML.opened(content, place, what, remedy)
        except InvalidInputError:
            changed = self._changed(content)
            if not changed:
                raise
            raise fail(
                place, f"{what}, as lincat wrote it", f"another: {changed}", remedy
            ) from None
        return config_from_toml(text, place)

    @config.setter
    def config(self, config: EvaluationConfig) -> None:
        write_atomically(self.config_file, TOML.sealed(config_to_toml(config)))

    def _changed(self, content: bytes) -> str:
        """What was edited in the configuration, as far as that can be told; else empty."""
        try:
            if self.finished:
                kept = Answer.from_json(read_bytes(self.result_file)).config
            else:
                place = self.checkpoints.intact().place
                progress = read_bytes((place or self.path) / "progress.json")
                kept = msgspec.json.decode(progress, type=_Kept).config
            return differences(tomllib.loads(kept), tomllib.loads(content.decode()))
        except (ValueError, RecursionError, msgspec.MsgspecError):
            return ""

    @property
    def versions(self) -> dict[str, str]:
        """Versions of lincat and what it stands on, when the run began."""
        text = _opened(self.versions_file, "versions of packages")
        return decoded(text, str(self.versions_file), "versions of packages", dict[str, str])

    # -------------------------------------------------------------------------------- metrics

    def append_metrics(self, row: MetricsRow) -> None:
        """Add a row to the learning curves."""
        append(self.metrics_file, LINE.sealed(msgspec.json.encode(row)))

    def metrics(self) -> list[MetricsRow]:
        """Return the rows of the learning curves; a last line that was cut off is left out."""
        if not self.metrics_file.exists():
            return []
        what, remedy = "a row of the learning curves", "remove the file to do without it"
        *lines, _ = read_bytes(self.metrics_file).split(b"\n")
        rows = []
        for number, line in enumerate(lines, 1):
            place = f"{self.metrics_file}, line {number}"
            text = LINE.opened(line + b"\n", place, what, remedy)
            rows.append(decoded(text, place, what, MetricsRow, remedy=remedy))
        return rows

    def forget_metrics(self) -> None:
        """Drop the rows of a run that begins again."""
        self.metrics_file.unlink(missing_ok=True)

    def forget_metrics_after(self, transitions: int) -> None:
        """Drop rows that a run wrote between its last checkpoint and its end."""
        if not self.metrics_file.exists():
            return
        rows = [row for row in self.metrics() if row.transitions <= transitions]
        lines = [LINE.sealed(msgspec.json.encode(row)) for row in rows]
        write_atomically(self.metrics_file, b"".join(lines))

    # ---------------------------------------------------------------------------------- model

    def write_model(self, files: Mapping[str, Content]) -> None:
        """Write the model that the run ended with."""
        for name, content in files.items():
            write_atomically(self.path / name, content)

    def finish_writing(self) -> None:
        """Let others write here, and leave no empty folder of checkpoints."""
        self.checkpoints.leave_if_empty()
        self.release()

    def forget_parts(self) -> None:
        """Drop sums of parts, by their names: other programs may keep something there."""
        self._drop_parts(r"\.?[0-9a-f]{12}-\d{6}(\..*)?")  # as they are while written, too
        if is_own_folder(self.parts) and not any(self.parts.iterdir()):
            self.parts.rmdir()

    def _drop_parts(self, names: str) -> None:
        for file in self.parts.iterdir() if is_own_folder(self.parts) else ():
            if re.fullmatch(names, file.name):
                remove_file(file)

    # --------------------------------------------------------------------------------- result

    @property
    def finished(self) -> bool:
        """Whether the run came to an end, and has a result."""
        return self.result_file.exists()

    @property
    def answer(self) -> Answer:
        """What the run answers."""
        if not self.finished:
            remedy = f"lincat resume {self.path} continues it"
            raise fail(str(self.path), "a finished run", "one without result.json", remedy)
        text = _opened(self.result_file, "the answer of a run", "evaluate again")
        found = Answer.from_json(text, str(self.result_file))
        # Not at its end any more if more was asked of it since.
        longer = found.config not in ("", config_to_toml(self.config))
        return msgspec.structs.replace(found, complete=False) if longer else found

    @answer.setter
    def answer(self, answer: Answer) -> None:
        write_atomically(self.result_file, JSON.sealed(answer.to_json()))

    @property
    def shown(self) -> ShownStates:
        """The states that the report shows."""
        text = _opened(self.states_file, "the states of a run", "evaluate again")
        return ShownStates.from_json(text, str(self.states_file))

    @shown.setter
    def shown(self, shown: ShownStates) -> None:
        write_atomically(self.states_file, JSON.sealed(shown.to_json()))


def _opened(path: Path, what: str, remedy: str = "") -> bytes:
    return JSON.opened(read_bytes(path), str(path), what, remedy)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file of a run."""
    try:
        return read_regular(path)
    except OSError as error:
        raise fail(str(path), "a file of a run", error.strerror) from None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # pragma: no cover - all are dependencies
            continue
    return found
