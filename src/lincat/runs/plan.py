"""A plan: features, a potential, a scale, the number of steps and a ridge, and why these."""

from __future__ import annotations

from dataclasses import dataclass

from lincat.features._base import Features
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.model import Model
from lincat.runs.potential import Potential
from lincat.runs.scale import REWARD_NODES, Scale
from lincat.statistics.block_statistics import Statistics

#: Rows that a ridge weighs as much as.
PSEUDO_ROWS = 15.0

_BLOCKS = 32  # of time, of sums in units of a scale
_ENOUGH = 16  # blocks, for errors of figures
# Bytes of sums, which every checkpoint writes: wide ones have fewer blocks. (With three fifths of
# it, 430 features with 42 nodes had room for four, of which no error can be told.)
_MEMORY = 5 * 2**27


@dataclass(frozen=True)
class Plan:
    """How return distributions are going to be learned from a source.

    Attributes
    ----------
    features : Features
        Fitted.
    potential : Potential or None
    scale : Scale or None
        Only with a potential.
    n_step : int
    ridge : float
        Of the learner.
    reason : str
        What was chosen, and why.
    """

    features: Features
    potential: Potential | None
    scale: Scale | None
    n_step: int
    ridge: float
    reason: str

    def model(self, learner: CategoricalLSTD) -> Model:
        """Return a model that has learned nothing, with a learner of that sort."""
        fewer: dict[str, int] = {}
        d = self.features.n_features_
        if self.scale is not None:  # there are sums for each discount, too
            fewer = {"nodes": REWARD_NODES, "max_blocks": min(learner.max_blocks, _BLOCKS)}
        elif not self.features.table and Statistics.nbytes_for(d, n_blocks=_ENOUGH) > _MEMORY:
            fewer = {"nodes": REWARD_NODES}  # of too few blocks no error can be told
        learner = learner.clone().set_params(
            ridge=self.ridge,
            n_features=d,
            memory_limit=_MEMORY,
            **fewer,
        )
        return Model(self.features, learner, self.potential, self.scale)
