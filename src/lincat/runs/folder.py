"""The folder of an evaluation: what it holds, and how an interrupted one continues.

    config.toml             what the result depends on
    versions.json           of lincat and of what it stands on
    states.json             the states that the report shows, chosen once
    metrics.jsonl           rows of the learning curves, as they come
    checkpoints/<n>/        everything after n transitions, enough to continue from; the newest two
    model.safetensors       the learner at the end, for lincat.load
    features.safetensors    its features, for lincat.load_features
    result.json             figures, validation and warnings that the report is drawn from
    report.html

Every file is written whole or not at all. None is read by running code, but for features that name
a Python module, and those only if that is allowed.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from lincat._arguments import fail
from lincat._files import new_folder, write_atomically
from lincat.learners.divergence import DivergenceError
from lincat.runs.config import EvaluationConfig, config_to_toml, read_config

__all__ = ["RunFolder"]

_KEPT_CHECKPOINTS = 2
_IN_A_RESULT = (
    *("complete", "source", "observation_names", "features", "learner", "gamma", "transitions"),
    *("seconds", "notes", "warnings", "grid", "names", "cdf", "bands", "confidence", "validation"),
)
_PACKAGES = ("lincat", "numpy", "scipy", "numba", "pyarrow", "gymnasium", "safetensors")


class RunFolder:
    """A run folder on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.toml"
        self.states_file = path / "states.json"
        self.metrics_file = path / "metrics.jsonl"
        self.model_file = path / "model.safetensors"
        self.features_file = path / "features.safetensors"
        self.result_file = path / "result.json"
        self.report_file = path / "report.html"
        self._checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, path: Path, config: EvaluationConfig, *, force: bool = False) -> RunFolder:
        """Begin a run folder; one that holds files is refused, unless ``force`` clears a run."""
        folder = cls(path)
        new_folder(path, "--out", force=force)
        try:
            folder._clear()
            folder._checkpoints.mkdir(exist_ok=True)
            write_atomically(path / "versions.json", json.dumps(_versions(), indent=1) + "\n")
            # Last, because a folder with a configuration is a run.
            write_atomically(folder.config_file, config_to_toml(config))
        except OSError as error:
            got = f"{path} ({error.strerror})"
            raise fail("--out", "a folder that can be written", got) from None
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
            if not isinstance(error, DivergenceError) and self.last_checkpoint() is None:
                self.discard()
            raise

    def discard(self) -> None:
        """Remove a folder in which nothing was learned."""
        self._clear()
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def _clear(self) -> None:
        """Remove what runs write, and nothing else."""
        for name in (
            "config.toml",
            "versions.json",
            "states.json",
            "metrics.jsonl",
            "model.safetensors",
            "features.safetensors",
            "result.json",
            "report.html",
        ):
            (self.path / name).unlink(missing_ok=True)
        if self._checkpoints.is_dir():
            # By their names: other programs keep checkpoints too.
            for place in self._checkpoints.iterdir():
                if re.fullmatch(r"\d{12}|\.\d{12}\.\d+", place.name):
                    shutil.rmtree(place, ignore_errors=True)
            if not any(self._checkpoints.iterdir()):
                self._checkpoints.rmdir()

    # ------------------------------------------------------------------------------- settings

    @property
    def config(self) -> EvaluationConfig:
        """What the run depends on."""
        return read_config(self.config_file)

    @config.setter
    def config(self, config: EvaluationConfig) -> None:
        write_atomically(self.config_file, config_to_toml(config))

    @property
    def versions(self) -> dict[str, str]:
        """Versions of lincat and what it stands on, when the run began."""
        found: dict[str, str] = self._read_json(self.path / "versions.json")
        return found

    # -------------------------------------------------------------------------------- metrics

    def append_metrics(self, row: dict[str, Any]) -> None:
        """Add a row to the learning curves."""
        with self.metrics_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """Return the rows of the learning curves; a last line that was cut off is left out."""
        if not self.metrics_file.exists():
            return []
        rows = []
        for line in self.metrics_file.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                break
        return rows

    def forget_metrics(self) -> None:
        """Drop the rows of a run that begins again."""
        self.metrics_file.unlink(missing_ok=True)

    def forget_metrics_after(self, transitions: int) -> None:
        """Drop rows that a run wrote between its last checkpoint and its end."""
        rows = [row for row in self.metrics() if row["transitions"] <= transitions]
        write_atomically(self.metrics_file, "".join(json.dumps(row) + "\n" for row in rows))

    # ---------------------------------------------------------------------------- checkpoints

    def write_checkpoint(self, transitions: int, files: dict[str, bytes]) -> None:
        """Keep everything that is needed to continue after this many transitions."""
        place = self._checkpoints / f"{transitions:012d}"
        draft = self._checkpoints / f".{place.name}.{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, content in files.items():
            write_atomically(draft / name, content)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(draft, place)
        for old in self._all_checkpoints()[:-_KEPT_CHECKPOINTS]:
            shutil.rmtree(old, ignore_errors=True)

    def last_checkpoint(self) -> Path | None:
        """The folder of the newest checkpoint."""
        found = self._all_checkpoints()
        return found[-1] if found else None

    def _all_checkpoints(self) -> list[Path]:
        if not self._checkpoints.is_dir():
            return []
        found = self._checkpoints.iterdir()
        return sorted(p for p in found if p.is_dir() and re.fullmatch(r"\d{12}", p.name))

    # --------------------------------------------------------------------------------- result

    @property
    def finished(self) -> bool:
        """Whether the run came to an end, and has a result."""
        return self.result_file.exists()

    def result(self) -> dict[str, Any]:
        """Return what the report is drawn from."""
        if not self.finished:
            remedy = f"lincat resume {self.path} continues it"
            raise fail(str(self.path), "a finished run", "one without result.json", remedy)
        found: dict[str, Any] = self._read_json(self.result_file)
        missing = [key for key in _IN_A_RESULT if key not in found]
        if missing:
            remedy = "it is of another version of lincat, or was edited: evaluate again"
            raise fail(
                str(self.result_file), "the result of a run", f"one without {missing[0]}", remedy
            )
        return found

    def read_states(self) -> Any:
        """Return what ``write_states`` wrote."""
        return self._read_json(self.states_file)

    def write_json(self, path: Path, content: Any) -> None:
        """Write one of the folder's JSON files."""
        write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")

    def _read_json(self, path: Path) -> Any:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not JSON"
            raise fail(str(path), "a file of a run", reason) from None
        if not isinstance(content, dict):
            raise fail(str(path), "a file of a run", "JSON that is no object")
        return content


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # pragma: no cover - all are dependencies
            continue
    return found
