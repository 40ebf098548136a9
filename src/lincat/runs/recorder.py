"""What is recorded while a run learns: rows of its curves, and the error bars that come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix
from lincat.inference.batch_means import BatchMeans
from lincat.learners._categorical import CategoricalLearner
from lincat.runs.folder import MetricsRow, RunFolder
from lincat.runs.model import Model
from lincat.runs.shown import ShownStates

__all__ = ["Recorder"]

_FIRST_ROW = 1024
# A row each time that the number of transitions has grown by this share: 14 for each doubling,
# enough for a curve and for its error bars.
_GROWTH = 0.05


class Recorder:
    """Rows of metrics.jsonl for the shown states, and batch means for their bands."""

    def __init__(self, folder: RunFolder, model: Model, shown: ShownStates) -> None:
        self._folder, self._model, self.shown = folder, model, shown
        self._level = folder.config.level
        self._next = _FIRST_ROW
        self._recorded = -1
        self.bars: BatchMeans | None = None
        # The bars need CDFs that are linear in the parameters, and sums of iterates.
        learner = model.learner
        if not isinstance(learner, CategoricalLearner):
            return
        if learner.linear and learner.averaging != "none":
            self.bars = BatchMeans(_mean_features(model, shown))

    @classmethod
    def read(
        cls, checkpoint: Path, folder: RunFolder, model: Model, shown: ShownStates
    ) -> Recorder:
        """Continue from what :meth:`files` wrote; rows after the checkpoint are dropped."""
        from safetensors.numpy import load

        recorder = cls(folder, model, shown)
        done = model.learner.n_seen_
        folder.forget_metrics_after(done)
        recorder._next = _after(done)
        recorder._recorded = max((row.transitions for row in folder.metrics()), default=-1)
        file = checkpoint / "bands.safetensors"
        if recorder.bars is not None and file.exists():
            state: dict[str, Any] = load(file.read_bytes())
            numbers = {key: int(state[key]) for key in ("length", "begin")}
            recorder.bars = BatchMeans.from_state(
                _mean_features(model, shown), {**state, **numbers}
            )
        return recorder

    def files(self) -> dict[str, bytes]:
        """Return what a checkpoint has to hold."""
        if self.bars is None:
            return {}
        from safetensors.numpy import save

        return {"bands.safetensors": save({k: np.asarray(v) for k, v in self.bars.state().items()})}

    def record(self, seconds: float, *, last: bool = False) -> None:
        """Add a row, if it is time for one."""
        learner = self._model.learner
        if not isinstance(learner, CategoricalLearner):
            return  # nothing moves before it is solved
        done = learner.n_seen_
        if done == self._recorded or (done < self._next and not last):
            return
        self._recorded = done
        self._next = _after(done)
        if self.bars is not None:
            self.bars.update(learner)
        distribution = self._model.predict_shown(self.shown)
        proper = distribution.proper()
        below, above = learner.clipped_mass_
        row = MetricsRow(
            transitions=done,
            seconds=round(seconds, 3),
            clipped_below=float(below),
            clipped_above=float(above),
            negative_mass=float(distribution.negative_mass.max()),
            mean=tuple(distribution.mean().tolist()),
            quantile=tuple(proper.quantile(self._level).tolist()),
            cvar=tuple(proper.cvar(self._level).tolist()),
        )
        self._folder.append_metrics(row)


def _after(done: int) -> int:
    return max(done + 1, int(done * (1.0 + _GROWTH)), _FIRST_ROW)


def _mean_features(model: Model, shown: ShownStates) -> FeatureMatrix:
    """Features of the shown states; the distribution of a group is that of its mean features."""
    observations, group = shown.observations()
    phi = model.features.lookup(observations)
    if phi.ndim == 1:
        ones = np.ones(len(phi))
        shape = (len(phi), model.features.n_features_)
        phi = scipy.sparse.csr_array((ones, (np.arange(len(phi)), phi)), shape=shape)
    size = np.bincount(group)
    mean = scipy.sparse.csr_array((1.0 / size[group], (group, np.arange(len(group)))))
    return mean @ phi
