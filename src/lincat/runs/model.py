"""A learner together with the features that it learned from."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse

from lincat._arguments import fail
from lincat._files import Content
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.apart import Apart
from lincat.core.distribution import ReturnDistribution
from lincat.data.n_step import n_step
from lincat.data.steps import Steps
from lincat.data.transitions import Transitions
from lincat.features._base import Features
from lincat.features.files import load_features
from lincat.features.files import save_bytes as features_bytes
from lincat.features.levels import Levels
from lincat.features.observations import as_rows
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.files import load
from lincat.learners.files import save_pieces as learner_pieces
from lincat.runs.averages import Averages
from lincat.runs.potential import Potential
from lincat.runs.scale import Scale
from lincat.runs.shown import ShownStates

#: What learns distributions: step by step, or from sums.
DistributionLearner: TypeAlias = CategoricalLearner | CategoricalLSTD

AVERAGES = "averages.safetensors"
_POTENTIAL = "potential.safetensors"
_POTENTIAL_FEATURES = "potential_features.safetensors"
_SCALE = "scale.safetensors"
_SCALE_FEATURES = "scale_features.safetensors"


@dataclass(frozen=True)
class Model:
    """What turns observations into return distributions.

    Attributes
    ----------
    features : Features
    learner : CategoricalLearner or CategoricalLSTD
    potential : Potential or None
        What returns are learned about: the learner then sees TD errors as rewards, and predictions
        add the potential back.
    scale : Scale or None
        In whose units they are then learned.
    """

    features: Features
    learner: DistributionLearner
    potential: Potential | None = None
    scale: Scale | None = None
    # One thread makes features, the other asks for predictions, and a table may grow meanwhile.
    _alone: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, (self.features, self.learner, self.potential, self.scale)  # a lock stays here

    def __repr__(self) -> str:
        """What it is, what it learned from, and what it says of returns."""
        learner = self.learner
        text = (
            f"Model: {type(learner).__name__}, gamma {learner.gamma:g}, "
            f"{self.done:,} transitions\n{self.features.describe()}"
        )
        grid = vars(learner).get("_grid_")  # as far as it is known: nothing is solved for a text
        if grid is None:
            return text
        about = "" if self.potential is None else " about a potential"
        ends = f"[{grid.low:.5g}, {grid.high:.5g}]"
        return f"{text}\nReturns{about} on {ends}, {grid.intervals} intervals"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines())

    @classmethod
    def read(cls, folder: Path, *, trust_code: bool = False, transformer: object = None) -> Model:
        """Read the files that a run writes; a transformer that was an object is given again."""
        features = load_features(
            folder / "features.safetensors", trust_code=trust_code, transformer=transformer
        )
        potential = None
        if (folder / _POTENTIAL).exists():
            about = load_features(folder / _POTENTIAL_FEATURES)
            potential = Potential.read(folder / _POTENTIAL, about)
        scale = None
        if (folder / _SCALE).exists():
            scale = Scale.read(folder / _SCALE, load_features(folder / _SCALE_FEATURES))
        learner: Any  # averages answer, and are asked for nothing else
        if (folder / AVERAGES).exists():
            learner = Averages.read(folder / AVERAGES)
        else:
            learner = load(folder / "model.safetensors")
        known = learner.n_features
        if known is not None and known > features.n_features_:
            got = f"a model of {known:,}"
            raise fail(str(folder), f"a model of the {features.n_features_:,} features", got)
        return cls(features, learner, potential, scale)

    def small_files(self) -> dict[str, Content]:
        """Return the same with averages in place of the learner."""
        averages = Averages.of(self.learner, self.features.n_features_)
        files = {name: x for name, x in self.files().items() if name != "model.safetensors"}
        return {AVERAGES: averages.save_bytes(), **files}

    def files(self) -> dict[str, Content]:
        """Return what :meth:`read` reads, as the content of files by their names."""
        files: dict[str, Content] = {
            "model.safetensors": learner_pieces(self.learner),
            "features.safetensors": features_bytes(self.features),
        }
        if self.potential is not None:
            files[_POTENTIAL] = self.potential.save_bytes()
            files[_POTENTIAL_FEATURES] = features_bytes(self.potential.features)
        if self.scale is not None:
            files[_SCALE] = self.scale.save_bytes()
            files[_SCALE_FEATURES] = features_bytes(self.scale.second.features)
        return files

    @property
    def done(self) -> int:
        """Transitions learned from so far."""
        return self.learner.n_seen_

    def transitions(self, steps: Steps) -> Transitions:
        """Return steps with their features, as the learner takes them."""
        features, potential = self.features, self.potential
        value: tuple[FloatArray, FloatArray] | None = None
        if potential is not None and potential.features is not features:
            value = potential.both_values(steps)
        with self._alone:
            if value is not None and _levels_of(features, potential):
                phi, phi_next = steps.both(features.transform_at, value)
            else:
                phi, phi_next = steps.both(features.transform)
        columns = (steps.terminated, steps.discount, steps.weight, steps.truncated)
        transitions = Transitions(phi, steps.reward, phi_next, *columns)
        if potential is None:
            return transitions
        if value is None:  # of a table, whose rows are at hand
            value = potential.of_rows(phi), potential.of_rows(phi_next)
        centred = transitions.centred(*value, self.learner.gamma)
        if self.scale is None:
            return centred
        return self.scale.in_units(centred, steps, self.learner.gamma)

    def sums_of(self, batches: Iterable[Steps], n: int) -> Iterable[Steps]:
        """Return n steps as one, each time, as the learner takes them.

        In units of a scale, discounts are rounded to a few; elsewhere there are sums for each, and
        what breaks off before n steps has no weight.
        """
        if n == 1:
            return batches
        gamma = self.learner.gamma
        made = n_step(batches, n, gamma)
        if self.scale is not None or isinstance(self.learner, CategoricalLearner):
            return made
        return (_whole(steps, n, gamma) for steps in made)

    def predict(self, observations: Any, *, confidence: float | None = None) -> ReturnDistribution:
        """Return the distribution of the return from each observation.

        With ``confidence`` they carry their sampling error, which sums tell. What was learned step
        by step has its own figures, and intervals that reach to where the sums beside it lead.
        """
        observations = as_rows(observations)
        with self._alone:
            phi = self.features.lookup(observations)
        learner = self.learner
        distribution = self._learned(phi, confidence)
        known = distribution.uncertainty
        if isinstance(learner, CategoricalLearner) and known is not None:
            known = replace(known, centre=distribution.cdf_values)
            shown = learner.predict(phi)
            distribution = ReturnDistribution(shown.cdf_values, shown.grid, known)
        if self.potential is None:
            return distribution
        value = self.potential.values(observations)
        if self.scale is None:
            moved = distribution.shifted(value)
        else:
            moved = distribution.rescaled(self.scale.values(observations), value)
        return moved.within(*self._attainable)

    @property
    def _attainable(self) -> tuple[float, float]:
        """What returns keep within: about a potential, a grid for all states reaches further."""
        learner = self.learner
        return (-np.inf, np.inf) if isinstance(learner, CategoricalLearner) else learner.attainable_

    def _learned(self, phi: FeatureMatrix, confidence: float | None) -> ReturnDistribution:
        """What the learner says of features, without potential and scale."""
        learner = self.learner
        found: ReturnDistribution
        if confidence is None:
            found = learner.predict(phi)
        elif learner.statistics_ is None:
            remedy = 'evaluate with learner="lstd"'
            got = f"a model of {type(learner).__name__}"
            raise fail("confidence", "a model that was solved from sums", got, remedy)
        else:
            found = learner.predict(phi, confidence=confidence)
        return found

    def predict_apart(self, observations: Any) -> Apart:
        """Return the same, each state on a grid of its own: for figures, of one state or many."""
        observations = as_rows(observations)
        with self._alone:
            phi = self.features.lookup(observations)
        found = self.learner.predict(phi)
        if self.potential is None:
            return Apart.of(found)
        factor = None if self.scale is None else self.scale.values(observations)
        apart = Apart.of(found, self.potential.values(observations), factor)
        return apart.within(*self._attainable)

    def mean_features(self, shown: ShownStates) -> FeatureMatrix:
        """Return features of the shown states, of a group their mean: so are its distributions."""
        if shown.Phi is not None:
            return shown.Phi
        observations, group = shown.observations()
        with self._alone:
            phi = self.features.lookup(observations)
        if phi.ndim == 1:
            ones = np.ones(len(phi))
            shape = (len(phi), self.features.n_features_)
            phi = scipy.sparse.csr_array((ones, (np.arange(len(phi)), phi)), shape=shape)
        size = np.bincount(group)
        mean = scipy.sparse.csr_array((1.0 / size[group], (group, np.arange(len(group)))))
        return mean @ phi

    def predict_shown(
        self, shown: ShownStates, *, confidence: float | None = None
    ) -> ReturnDistribution:
        """Return the distribution of each group of states: the average over its members."""
        if shown.Phi is not None:  # as sums have it, which know no single states and no potential
            return self._learned(shown.Phi, confidence)
        observations, group = shown.observations()
        each = self.predict(observations, confidence=confidence)
        known = each.uncertainty
        if known is not None:
            unknown = averaged(known.unknown[:, None].astype(np.float64), group)[:, 0] > 0.0
            centre = None if known.centre is None else averaged(known.centre, group)
            known = known.through(lambda one: averaged(one, group), unknown=unknown, centre=centre)
        return ReturnDistribution(averaged(each.cdf_values, group), each.grid, known)


def _levels_of(features: Features, potential: Potential | None) -> TypeGuard[Levels]:
    """Whether these are levels of this very potential, whose values are then made once."""
    return (
        potential is not None
        and isinstance(features, Levels)
        and features.along(potential.features, potential.weights, potential.offset)
    )


def averaged(rows: FloatArray, group: Any) -> FloatArray:
    """Return the mean of the rows of each group; groups are numbered from 0."""
    sums = np.zeros((int(group.max()) + 1, rows.shape[1]))
    np.add.at(sums, group, rows)
    return sums / np.bincount(group)[:, None]


def _whole(made: Steps, n: int, gamma: float) -> Steps:
    """Give no weight to sums over fewer than n steps, whose record breaks off before.

    So there are two discounts, gamma**n and that of an end, and few sums to keep.
    """
    whole = made.terminated | (made.discounts(gamma) <= gamma**n * (1.0 + 1e-9))
    weight = np.ones(len(made)) if made.weight is None else made.weight
    return replace(
        made,
        weight=np.where(whole, weight, 0.0),
        discount=np.where(whole, made.discounts(gamma), gamma**n),
        record=None,
    )
