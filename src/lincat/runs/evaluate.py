"""``lincat.evaluate``: from a source to a finished run, as a function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lincat.runs.config import config_from_dict
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun
from lincat.runs.run import Run
from lincat.runs.sources import open_source


def evaluate(
    source: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    force: bool = False,
    **options: Any,
) -> Run:
    """Learn return distributions from a source, and keep everything in a run folder.

    The same as ``lincat evaluate`` on the command line, without the page, which
    :meth:`Run.report` writes.

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
    1000
    """
    paths = [source] if isinstance(source, str | Path) else source
    config = config_from_dict({"source": [str(path) for path in paths], **options}, "evaluate")
    opened = open_source(config)  # before anything is written or, with force, cleared
    folder = RunFolder.create(Path(out), config, force=force)
    with folder.kept_if_learned():
        for _ in EvaluationRun(folder, opened).run():
            pass
    return Run(folder, trust_code=True)
