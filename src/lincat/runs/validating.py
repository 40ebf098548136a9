"""Validation after the fact: a run held against returns that it did not learn from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lincat._arguments import fail
from lincat._reach import check_allowed
from lincat.data.steps import joined
from lincat.inference.answer import Answer
from lincat.inference.verdict import judge
from lincat.runs.binding import resolved
from lincat.runs.diagnosis import diagnosis_of
from lincat.runs.run import Run
from lincat.runs.source_options import FILES, only_of
from lincat.runs.sources import open_source
from lincat.runs.stream import limited
from lincat.runs.validation import check_model
from lincat.tables.stores import is_remote

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
    no_log = fail(
        *("LOG", "a log that the run did not learn from", "none"),
        remedy=f"lincat validate {run.path} later.csv",
    )
    said = ["workers", "scheduler"]  # nothing is summed here
    if logs:
        config = msgspec.structs.replace(config, source=list(logs), given_in=None)
        said.append("source")
    elif any(map(is_remote, config.source)):  # which need not be opened to know
        raise no_log
    check_allowed(config, str(run.path / "config.toml"), run.allowed, *said)
    if logs:  # what an environment was played with is no option of a log
        config = only_of(FILES, config)
    opened = open_source(resolved(config))
    held = None
    if opened.is_recorded:
        if not logs:
            raise no_log
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
