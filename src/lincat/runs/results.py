"""The end of a run: what was learned, how far to trust it, and what the user should hear of."""

from __future__ import annotations

from typing import Any

import msgspec

from lincat.inference.batch_means import FEWEST_BATCHES, BatchMeans
from lincat.inference.results import Validation
from lincat.learners._base import Learner
from lincat.learners._categorical import CategoricalLearner
from lincat.runs.config import EvaluationConfig
from lincat.runs.curves import Curves
from lincat.runs.model import Model

__all__ = ["result_of", "warnings_of"]

_CONFIDENCE = 0.95
_NEGLIGIBLE = 1e-5  # mass off the grid, per transition
_DEPENDENT = 0.5  # correlation of successive parts of a run, from which error bars mislead


def result_of(
    model: Model,
    curves: Curves,
    checked: tuple[str, Validation] | None,
) -> dict[str, Any]:
    """Return the distributions of the shown states, their bands, what they were compared with."""
    distribution = model.predict_shown(curves.shown)
    grid = distribution.grid
    bands = None
    if (bars := _bars(curves)) is not None:
        low, high = bars.bands(distribution, confidence=_CONFIDENCE)
        bands = [low.tolist(), high.tolist()]
    validation = None
    if checked is not None:
        kind, found = checked
        validation = {"kind": kind, "scores": msgspec.to_builtins(found)}
    return {
        "grid": [grid.low, grid.high, grid.intervals],
        "names": curves.shown.names,
        "cdf": distribution.cdf_values.tolist(),
        "bands": bands,
        "confidence": _CONFIDENCE,
        "validation": validation,
    }


def warnings_of(
    model: Model, curves: Curves, config: EvaluationConfig, skipped_rows: int
) -> list[str]:
    """Return what may be wrong with the answer, a sentence each."""
    learner = model.learner
    texts = [_clipped(learner), _step(learner, config), _never_fired(model), _short(curves)]
    if skipped_rows:
        texts.append(f"{skipped_rows:,} bad rows were left out (--on-bad-rows skip).")
    return [text for text in texts if text]


def _bars(curves: Curves) -> BatchMeans | None:
    """The error bars, if the run was long enough for any."""
    bars = curves.bars
    return bars if bars is not None and bars.n_batches >= FEWEST_BATCHES else None


def _short(curves: Curves) -> str:
    bars = _bars(curves)
    if bars is None or bars.autocorrelation() <= _DEPENDENT:
        return ""
    return (
        "Learning had not settled: the estimate still drifts from one part of the run to the next, "
        "so its error bars are too narrow; learn from more transitions."
    )


def _clipped(learner: CategoricalLearner) -> str:
    below, above = learner.clipped_mass_
    if below + above <= _NEGLIGIBLE:
        return ""
    grid, (low, high) = learner.grid_, learner.reach_
    return (
        f"{below:.2g} of the mass falls below the grid [{grid.low:.4g}, {grid.high:.4g}] and "
        f"{above:.2g} above it, and is moved to its ends, so means are biased; the rewards seen "
        f"would fit [{low:.4g}, {high:.4g}] (--low, --high)."
    )


def _step(learner: Learner, config: EvaluationConfig) -> str:
    if not isinstance(config.step_size, float):
        return ""
    limit = learner.stable_step_
    if config.step_size <= 0.5 * limit:
        return ""
    return (
        f"The step size {config.step_size:g} is close to or above {limit:.3g}, up to which "
        "learning is shown to be stable: expect noise; --step-size auto needs no tuning."
    )


def _never_fired(model: Model) -> str:
    """Rows of parameters that no transition touched, where that is worth a word."""
    features = model.features
    known = features.n_known_  # other rows are kept for ids that never came
    idle = known - int(model.learner.touched_rows().sum())
    if idle <= 0 or not features.all_used:
        return ""
    what = "features never fire"
    if features.table:
        what = "states were never left (those that end an episode never are)"
    return f"{idle} of {known} {what}: what is said of them is a first guess."
