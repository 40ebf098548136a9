"""A learner together with the features that it learned from."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.data.steps import Steps
from lincat.data.transitions import Transitions
from lincat.features._base import Features
from lincat.features.files import load_features
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.files import load
from lincat.runs.shown import ShownStates

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What turns observations into return distributions.

    Attributes
    ----------
    features : Features
    learner : CategoricalLearner
    """

    features: Features
    learner: CategoricalLearner
    # One thread makes features, the other asks for predictions, and a table may grow meanwhile.
    _alone: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @classmethod
    def read(cls, folder: Path, *, trust_code: bool = False) -> Model:
        """Read the two files that a run writes."""
        features = load_features(folder / "features.safetensors", trust_code=trust_code)
        return cls(features, load(folder / "model.safetensors"))

    @property
    def done(self) -> int:
        """Transitions learned from so far."""
        return self.learner.n_seen_

    def transitions(self, steps: Steps) -> Transitions:
        """Return steps with their features, as the learner takes them."""
        with self._alone:
            phi, phi_next = self._both_features(steps)
        return Transitions(
            phi, steps.reward, phi_next, steps.terminated, steps.discount, steps.weight
        )

    def _both_features(self, steps: Steps) -> tuple[FeatureMatrix, FeatureMatrix]:
        transform = self.features.transform
        if steps.record is None:
            return transform(steps.observation), transform(steps.next_observation)
        phi = transform(steps.record)
        return phi[:-1], phi[1:]

    def predict(self, observations: Any) -> ReturnDistribution:
        """Return the distribution of the return from each observation."""
        with self._alone:
            phi = self.features.lookup(observations)
        distribution: ReturnDistribution = self.learner.predict(phi)
        return distribution

    def predict_shown(self, shown: ShownStates) -> ReturnDistribution:
        """Return the distribution of each group of states: the average over its members."""
        observations, group = shown.observations()
        distribution = self.predict(observations)
        return ReturnDistribution(averaged(distribution.cdf_values, group), distribution.grid)


def averaged(rows: FloatArray, group: Any) -> FloatArray:
    """Return the mean of the rows of each group; groups are numbered from 0."""
    sums = np.zeros((int(group.max()) + 1, rows.shape[1]))
    np.add.at(sums, group, rows)
    return sums / np.bincount(group)[:, None]
