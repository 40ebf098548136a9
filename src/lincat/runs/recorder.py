"""What is recorded while a run learns: rows of its curves, and whether it settles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError
from lincat._tensors import read_packed
from lincat.core.grid import Grid
from lincat.inference.settling import Settling
from lincat.learners._categorical import CategoricalLearner
from lincat.runs.folder import MetricsRow, RunFolder
from lincat.runs.model import Model
from lincat.runs.shown import ShownStates
from lincat.solvers.krylov import ConvergenceError

_FIRST_ROW = 1024
# Where every row means to solve, they begin after the warm-up and come with every doubling.
_FIRST_SOLVED = 100_000
_GROWTH_SOLVED = 1.0
# A row each time that the number of transitions has grown by this share: 14 for each doubling,
# enough for a curve, and to tell whether it still moves.
_GROWTH = 0.05


class Recorder:
    """Rows of metrics.jsonl for the shown states, and batch means for their bands.

    A learner from sums has to solve for a row: it does for a ``live`` stream, whose end nobody
    knows.
    """

    def __init__(
        self, folder: RunFolder, model: Model, shown: ShownStates, *, live: bool = False
    ) -> None:
        self._folder, self._model, self.shown = folder, model, shown
        self._level = folder.config.level
        self._recorded = -1
        self.moves: Settling | None = None
        self._grid: Grid | None = None
        learner = model.learner
        self._solves = not isinstance(learner, CategoricalLearner)
        self._silent = self._solves and not live
        self._next = _after(0, self._solves)
        if not isinstance(learner, CategoricalLearner):
            return
        # Means of iterates need CDFs that are linear in the parameters, and sums of iterates.
        if learner.linear and learner.averaging != "none":
            self._probe = model.mean_features(shown)
            self.moves = Settling(self._probe)

    @classmethod
    def read(
        cls,
        checkpoint: Path,
        folder: RunFolder,
        model: Model,
        shown: ShownStates,
        *,
        live: bool = False,
    ) -> Recorder:
        """Continue from what :meth:`files` wrote; rows after the checkpoint are dropped."""
        from safetensors.numpy import load

        recorder = cls(folder, model, shown, live=live)
        done = model.learner.n_seen_
        folder.forget_metrics_after(done)
        recorder._next = _after(done, recorder._solves)
        recorder._recorded = max((row.transitions for row in folder.metrics()), default=-1)
        file = checkpoint / "settling.safetensors"
        if recorder.moves is not None and file.exists():

            def build(content: bytes) -> Settling:
                state: dict[str, Any] = load(content)
                numbers = {key: int(state[key]) for key in ("length", "begin")}
                return Settling.from_state(recorder._probe, {**state, **numbers})

            recorder.moves = read_packed(file, "record of how a run settles", build)
            recorder._grid = model.learner.grid_
        return recorder

    def files(self) -> dict[str, bytes]:
        """Return what a checkpoint has to hold."""
        if self.moves is None:
            return {}
        from safetensors.numpy import save

        state = {name: np.asarray(value) for name, value in self.moves.state().items()}
        return {"settling.safetensors": save(state)}

    def look_again(self) -> None:
        """Begin anew with what depends on the number of features, which has grown."""
        if self.moves is not None:
            self._probe = self._model.mean_features(self.shown)
            self.moves = Settling(self._probe)

    def record(self, seconds: float, *, last: bool = False) -> None:
        """Add a row, if it is time for one."""
        learner = self._model.learner
        done = learner.n_seen_
        if self._silent or done == self._recorded or (done < self._next and not last):
            return
        self._recorded = done
        self._next = _after(done, self._solves)
        if isinstance(learner, CategoricalLearner) and self.moves is not None:
            if learner.grid_ != self._grid:  # it has grown: batches begin again
                self._grid, self.moves = learner.grid_, Settling(self._probe)
            self.moves.update(learner)
        try:
            distribution = self._model.predict_shown(self.shown)
        except (InvalidInputError, ConvergenceError):
            if last or not self._solves:
                raise
            return  # there is no answer yet, as where no episode has ended
        proper = distribution.proper()
        below, above = learner.clipped_mass_
        row = MetricsRow(
            transitions=done,
            seconds=round(seconds, 3),
            clipped_below=float(below),
            clipped_above=float(above),
            negative_mass=float(distribution.negative_mass.max()),
            mean=tuple(proper.mean().tolist()),
            quantile=tuple(proper.quantile(self._level).tolist()),
            cvar=tuple(proper.cvar(self._level).tolist()),
        )
        self._folder.append_metrics(row)


def _after(done: int, solves: bool = False) -> int:
    growth, first = (_GROWTH_SOLVED, _FIRST_SOLVED) if solves else (_GROWTH, _FIRST_ROW)
    return max(done + 1, int(done * (1.0 + growth)), first)
