"""What commands print of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lincat import Validation
    from lincat.runs.run import Run

__all__ = ["short_scores", "summary_of"]


def short_scores(validation: Validation) -> dict[str, Any]:
    """Return what fits on a terminal of how all states together did."""
    from lincat.inference.answer import coverage_name

    row, coverage = validation.rows()[0], map(coverage_name, validation.levels)
    names = ("n_states", "n_returns", "w1", "crps", "skill", "mean_error", *coverage, "below_tail")
    return {name: row[name] for name in names}


def summary_of(
    run: Run, page: Path, *, level: float | None = None, threshold: float | None = None
) -> dict[str, Any]:
    """Return what --json prints of a run."""
    from lincat.report.answer_page import cautions, summary_text
    from lincat.report.tables import summary_rows

    answer = run.answer
    return {
        "run": str(run.path),
        "report": str(page),
        "complete": answer.complete,
        "source": answer.source,
        "transitions": answer.transitions,
        "seconds": answer.seconds,
        "gamma": answer.gamma,
        "summary": summary_text(answer, level=level, threshold=threshold).splitlines(),
        "states": summary_rows(
            answer.returns,
            answer.state_names,
            level=answer.level if level is None else level,
            threshold=answer.threshold if threshold is None else threshold,
        ),
        "validation": None if answer.validation is None else answer.validation.rows(),
        "warnings": [caution.text for caution in cautions(answer)],
    }
