"""More ids than the first rows of a log showed: what becomes of a table that is full.

A log is begun again with a larger table, since nothing is lost by that. What comes through standard
input comes once, so its table grows in place: rows are added, and where sums over so many ids would
be too many, learning goes on step by step from their solution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
import numpy as np

from lincat.core.representation import uniform_cdf
from lincat.features._base import Features
from lincat.features.tabular import Tabular
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.more_rows import add_rows
from lincat.runs.config import EvaluationConfig
from lincat.runs.model import Model
from lincat.runs.sources import Opened
from lincat.runs.warm_start import intervals_for

_ROOM: Final = 16  # rows of a larger table for each id that is known
MOST_IDS: Final = 1_000_000


def begun_larger(
    config: EvaluationConfig, opened: Opened, features: Features
) -> EvaluationConfig | None:
    """Return the configuration of a log with a table that has room; None if that does not help."""
    if not opened.is_recorded or opened.is_live or config.features != "auto":
        return None
    rows = min(max(opened.rows or 0, _ROOM * features.n_known_), MOST_IDS)
    return msgspec.structs.replace(config, features="tabular", feature_options={"capacity": rows})


def let_grow(model: Model, config: EvaluationConfig, opened: Opened) -> bool:
    """Let the table of a stream grow, unless its size was given or it forgets; return whether."""
    features, learner = model.features, model.learner
    steps = isinstance(learner, CategoricalLSTD) or learner.settles_at_solution
    if not (opened.is_live and isinstance(features, Tabular) and steps and config.window is None):
        return False
    return features.grow_to(MOST_IDS)


def with_room(model: Model, config: EvaluationConfig) -> Model:
    """Return a model whose learner has a row for each of its features; the same if it has."""
    learner, rows = model.learner, model.features.n_features_
    known = learner.n_features
    if known is None or known >= rows:
        return model
    if isinstance(learner, CategoricalLearner):
        add_rows(learner, rows)
        return model
    return replace(model, learner=_step_by_step(learner, known, rows, config))


def _step_by_step(
    batch: CategoricalLSTD, known: int, rows: int, config: EvaluationConfig
) -> LinearCTD:
    """A learner that goes on from a batch solution, with more rows; new ones begin at the mean."""
    most = intervals_for(rows)
    if config.intervals is None and batch.grid_.intervals > most:
        batch = batch.solve(intervals=most)
    grid, seen = batch.grid_, batch.n_seen_
    cdf = batch.predict(np.arange(known)).proper().cdf_values
    touched = batch.touched_rows()
    Theta = np.tile(cdf[touched].mean(axis=0), (rows, 1))
    Theta[:known][touched] = cdf[touched]
    learner = LinearCTD(
        grid="auto" if config.low is None or config.high is None else grid,
        gamma=batch.gamma,
        averaging=config.averaging,
        intervals=grid.intervals,
        n_features=rows,
        dtype=config.dtype,
    )
    return learner.start_at(grid, Theta - uniform_cdf(grid.intervals), after=seen, seen=seen)
