"""Runs that continue: after an interruption, or because more is asked of them."""

from __future__ import annotations

import msgspec

from lincat._arguments import fail
from lincat.runs.folder import RunFolder
from lincat.runs.given import Given
from lincat.runs.loop import EvaluationRun
from lincat.runs.sources import open_source


def continued(
    folder: RunFolder, given: Given | None = None, *, steps: int | None = None
) -> EvaluationRun:
    """Return a run that goes on where its last checkpoint is, if it is not at its end.

    Parameters
    ----------
    folder : RunFolder
    given : Given, optional
        Objects that its configuration only names.
    steps : int, optional
        Learn from so many transitions in all; a finished run is made longer.
    """
    done = folder.answer if folder.finished else None
    remedy = "lincat report draws it again"
    if done is not None and done.complete and steps is None:
        got = str(folder.path)
        raise fail("RUN", "a run that is not finished, or --steps to make it longer", got, remedy)
    if done is not None and steps is not None and steps <= done.transitions:
        raise fail("--steps", f"more than the {done.transitions} of the run", steps, remedy)
    config = folder.config
    if steps is not None:
        config = msgspec.structs.replace(config, steps=steps)
    opened = open_source(config, given)  # before anything is written
    if steps is not None:
        folder.config = config
        if done is not None:  # not any more, should this be interrupted too
            folder.answer = msgspec.structs.replace(done, complete=False)
    return EvaluationRun(folder, opened)
