"""Validation after the fact: a run held against returns that it did not learn from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lincat._arguments import fail
from lincat.data.steps import joined
from lincat.inference.answer import Answer
from lincat.inference.verdict import judge
from lincat.runs.binding import check_trusted, resolved
from lincat.runs.diagnosis import diagnosis_of
from lincat.runs.run import Run
from lincat.runs.source_options import FILES, only_of
from lincat.runs.sources import open_source
from lincat.runs.stream import limited
from lincat.runs.validation import check_model

_MOST_STEPS = 200_000  # of a log that are looked at


def validated(run: Run, logs: Sequence[str] = (), returns: int | None = None) -> Answer:
    """Return the answer of a run with another check: against logs, rollouts, or exactly.

    Parameters
    ----------
    run : Run
    logs : sequence of str
        Logs that it did not learn from, with the same columns; none for environments and finite
        processes, which can be asked again.
    returns : int, optional
        How many to check against.
    """
    changes = {"validate": returns, "steps": None}
    config = msgspec.structs.replace(run.config, **changes)
    if logs:
        config = msgspec.structs.replace(config, source=list(logs))
    if not run.trusts_code:
        check_trusted(config, str(run.path / "config.toml"))
    if logs:  # what an environment was played with is no option of a log
        config = only_of(FILES, config)
    opened = open_source(config if logs else resolved(config))
    held = None
    if opened.is_recorded:
        if not logs:
            remedy = f"lincat validate {run.path} later.csv"
            raise fail("LOG", "a log that the run did not learn from", "none", remedy)
        if opened.gamma != run.answer.gamma:
            raise fail("gamma", f"{run.answer.gamma:g}, as the run has", opened.gamma)
        parts = list(limited(opened.source.batches(), _MOST_STEPS))
        held = joined(parts)
    validation = check_model(run.model, run.shown, opened, config, held)
    verdict = judge(diagnosis_of(run.model, config.level, run.shown.asked), validation)
    kept = tuple(x for x in run.answer.warnings if x.code != "not_validated")
    return msgspec.structs.replace(
        run.answer, validation=validation, verdict=verdict, warnings=kept
    )
