"""What commands print of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lincat._rows import Row
from lincat.inference.answer import Check
from lincat.inference.budget import Budget
from lincat.inference.validation import Validation, coverage_name
from lincat.report.answer_page import summary_text
from lincat.report.answer_rows import answer_rows
from lincat.report.cautions import cautions
from lincat.runs.run import Run


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What --json prints of a run; ``states`` and ``validation`` are rows of tables."""

    run: str
    report: str
    complete: bool
    source: str
    transitions: int
    seconds: float
    gamma: float
    trusted: bool | None
    verdict: str
    checks: tuple[Check, ...]
    summary: list[str]
    #: Of the intervals in ``states``: columns such as mean_low and mean_high; None without them.
    confidence: float | None
    states: list[Row]
    validation: list[Row] | None
    #: Where the error comes from, and what to spend on next.
    budget: Budget | None
    warnings: list[str]


def summary_of(
    run: Run, page: Path, *, level: float | None = None, threshold: float | None = None
) -> Summary:
    """Return what there is to say of a run, whose page is written."""
    answer = run.answer
    return Summary(
        run=str(run.path),
        report=str(page),
        complete=answer.complete,
        source=answer.source,
        transitions=answer.transitions,
        seconds=answer.seconds,
        gamma=answer.gamma,
        trusted=run.trusted,
        verdict=answer.verdict.sentence,
        checks=answer.verdict.checks,
        summary=summary_text(answer, level=level, threshold=threshold).splitlines(),
        confidence=None if answer.intervals is None else answer.intervals.confidence,
        states=answer_rows(answer, level=level, threshold=threshold),
        validation=None if answer.validation is None else [*answer.validation.rows()],
        budget=answer.budget,
        warnings=[caution.text for caution in cautions(answer)],
    )


def short_scores(validation: Validation) -> Row:
    """Return what fits on a terminal of how all states together did."""
    row, coverage = validation.rows()[0], map(coverage_name, validation.levels)
    names = ("n_states", "n_returns", "w1", "crps", "skill", "mean_error", *coverage, "below_tail")
    return {name: row[name] for name in names}
