"""Runs from Python: ``lincat evaluate`` as a function, and finished runs as objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.inference.results import Validation
from lincat.runs.config import EvaluationConfig, config_from_dict
from lincat.runs.evaluate import EvaluationRun
from lincat.runs.folder import RunFolder
from lincat.runs.model import Model
from lincat.runs.sources import open_source

__all__ = ["Run", "evaluate", "read_run"]


class Run:
    """What a run learned; see :func:`evaluate` and :func:`read_run`.

    Attributes
    ----------
    path : Path
        The run folder.
    config : EvaluationConfig
        What the result depends on.
    result : dict
        The content of result.json.
    """

    def __init__(self, folder: RunFolder, *, trust_code: bool = False) -> None:
        self.path = folder.path
        self.config: EvaluationConfig = folder.config
        self.result: dict[str, Any] = folder.result()
        self.metrics: list[dict[str, Any]] = folder.metrics()
        self._trust_code = trust_code

    @property
    def names(self) -> list[str]:
        """Names of the states that the report shows."""
        names: list[str] = self.result["names"]
        return names

    @property
    def returns(self) -> ReturnDistribution:
        """The distribution of the return from each of these states."""
        return ReturnDistribution(self.result["cdf"], Grid(*self.result["grid"]))

    @property
    def validation(self) -> Validation | None:
        """How the distributions compare with returns that were not learned from."""
        found = self.result["validation"]
        return None if found is None else msgspec.convert(found["scores"], Validation)

    @property
    def warnings(self) -> list[str]:
        """What may be wrong with the answer."""
        warnings: list[str] = self.result["warnings"]
        return warnings

    @cached_property
    def model(self) -> Model:
        """Features and learner: ``model.features``, ``model.learner``."""
        return Model.read(self.path, trust_code=self._trust_code)

    def predict(self, observations: Any) -> ReturnDistribution:
        """Return the distribution of the return from each observation, as the source gives them."""
        return self.model.predict(observations)


def evaluate(
    source: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    force: bool = False,
    **options: Any,
) -> Run:
    """Learn return distributions from a source, and keep everything in a run folder.

    The same as ``lincat evaluate`` on the command line, without the page, which ``lincat report``
    draws.

    Parameters
    ----------
    source : str, path, or several
        Logs, "gym:NAME", "minari:NAME", or a finite process.
    out : str or path
        The run folder; it must be new or empty.
    force : bool
        Begin again in a folder that holds a run.
    options
        Fields of :class:`lincat.runs.config.EvaluationConfig`: gamma, steps, policy, features,
        learner, validate and so on.

    Examples
    --------
    >>> import tempfile
    >>> import lincat
    >>> run = lincat.evaluate("frozen_lake", out=tempfile.mkdtemp(), steps=20_000, validate=1)
    >>> run.names[0], run.returns[[0]].mean().round(2)
    ('start', array([0.01]))
    >>> run.validation["all"].w1 < 0.01
    True
    >>> run.predict([14]).grid.intervals
    50
    """
    paths = [source] if isinstance(source, str | Path) else source
    config = config_from_dict({"source": [str(path) for path in paths], **options}, "evaluate")
    opened = open_source(config)  # before anything is written or, with force, cleared
    folder = RunFolder.create(Path(out), config, force=force)
    with folder.kept_if_learned():
        for _ in EvaluationRun(folder, opened).run():
            pass
    return Run(folder, trust_code=True)


def read_run(path: str | Path, *, trust_code: bool = False) -> Run:
    """Open the folder of a finished run.

    Parameters
    ----------
    path : str or path
    trust_code : bool
        Allow features of the form "module:name", which are imported and run code.
    """
    return Run(RunFolder.open(Path(path)), trust_code=trust_code)
