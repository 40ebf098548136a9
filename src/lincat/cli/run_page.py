"""From a run folder to what the report draws, and to what commands print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lincat._files import write_atomically

if TYPE_CHECKING:
    from lincat.report.evaluation import Evaluation
    from lincat.runs.folder import RunFolder
    from lincat.runs.run import Run

__all__ = [
    "curve_rows",
    "evaluation_of",
    "short_scores",
    "summary_of",
    "validation_of",
    "write_page",
]


def evaluation_of(folder: RunFolder) -> Evaluation:
    """Return everything that the page of a run shows."""
    import numpy as np

    from lincat.report.evaluation import Evaluation
    from lincat.runs.config import config_to_toml
    from lincat.runs.run import Run

    run = Run(folder)
    config, result = run.config, run.result
    bands = result["bands"]
    warnings = list(run.warnings)
    if not result["complete"]:
        warnings.insert(0, "The run was interrupted: this is what it had learned by then.")
    return Evaluation(
        title=result["source"],
        names=run.names,
        dist=run.returns,
        source=result["source"],
        learner=result["learner"],
        features=result["features"],
        n_seen=result["transitions"],
        seconds=result["seconds"],
        gamma=result["gamma"],
        bands=None if bands is None else (np.array(bands[0]), np.array(bands[1])),
        confidence=result["confidence"],
        level=config.level,
        threshold=config.below,
        curves=list(curve_rows(run)),
        validation=validation_of(run),
        warnings=warnings,
        config_text=config_to_toml(config),
        command=f"lincat evaluate --config {shlex.quote(str(folder.config_file))}",
        versions=folder.versions,
    )


def curve_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the rows of the learning curves, one for each state and one for all."""
    for row in run.metrics:
        n = row["transitions"]
        yield {
            "transitions": n,
            "clipped": row["clipped_below"] + row["clipped_above"],
            "negative": row["negative_mass"],
        }
        for i, name in enumerate(run.names):
            yield {
                "transitions": n,
                "state": name,
                "mean": row["mean"][i],
                "q": row["quantile"][i],
                "cvar": row["cvar"][i],
            }


def validation_of(run: Run) -> dict[str, Any] | None:
    """Return what the model was compared with, as the report takes it."""
    from lincat.report.validation import validation_data

    found = run.validation
    return None if found is None else validation_data(found, run.result["validation"]["kind"])


def short_scores(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what fits on a terminal of how all states together did."""
    row = rows[0]
    shown = ("n_states", "n_returns", "w1", "crps", "skill", "mean_error")
    coverage = [k for k in row if k.startswith("coverage_") and not k.endswith("_se")]
    return {key: row[key] for key in (*shown, *coverage, "below_tail")}


def write_page(folder: RunFolder) -> Evaluation:
    """Write report.html; return what it shows."""
    from lincat.report.evaluation import evaluation_page

    evaluation = evaluation_of(folder)
    write_atomically(folder.report_file, evaluation_page(evaluation))
    return evaluation


def summary_of(folder: RunFolder, evaluation: Evaluation) -> dict[str, Any]:
    """Return what --json prints of a run."""
    from lincat.report.evaluation import summary_text
    from lincat.report.tables import summary_rows

    result = folder.result()
    return {
        "run": str(folder.path),
        "report": str(folder.report_file),
        "complete": result["complete"],
        "source": result["source"],
        "transitions": result["transitions"],
        "seconds": result["seconds"],
        "gamma": result["gamma"],
        "summary": summary_text(evaluation).splitlines(),
        "states": summary_rows(
            evaluation.dist,
            evaluation.names,
            level=evaluation.level,
            threshold=evaluation.threshold,
        ),
        "validation": None if evaluation.validation is None else evaluation.validation["rows"],
        "warnings": list(evaluation.warnings),
    }
