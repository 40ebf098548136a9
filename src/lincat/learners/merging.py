"""Learners from sums that have each seen a part of the data, as one that has seen all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.state_sample import StateSample
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.merging import merge_statistics


def merge_parts(
    like: CategoricalLSTD, parts: Sequence[Callable[[], CategoricalLSTD]]
) -> CategoricalLSTD:
    """Return a learner like a given one that has seen what the parts have, in their order.

    The bits depend on the parts and their order alone (see :mod:`lincat.statistics.merging`). Each
    part is made when it is needed, twice, so that only some are in memory. Parts may have fewer
    blocks than ``like``, whose number counts.

    Examples
    --------
    >>> import lincat
    >>> from lincat.learners.merging import merge_parts
    >>> model = lincat.CategoricalLSTD(gamma=0.5, n_features=1)
    >>> parts = [model.clone().partial_fit([0], [r], [0]) for r in (0.0, 1.0, 1.0)]
    >>> merge_parts(model, [lambda x=x: x for x in parts]).predict([0]).mean().round(3)
    array([1.333])
    """
    whole = like.clone()
    whole._begin()
    whole.statistics_ = merge_statistics(_Roomy(whole.statistics_, parts))
    sample = StateSample()
    for part in parts:
        sample.merge(part()._sample_)
    whole._sample_ = sample
    return whole


class _Roomy(Sequence[Statistics]):
    """The statistics of parts, with room for as many blocks as all of them may have."""

    def __init__(self, empty: Statistics, parts: Sequence[Callable[[], CategoricalLSTD]]) -> None:
        self._empty, self._parts = empty, parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, i: Any) -> Any:
        return self._empty.copy().merge(self._parts[i]().statistics_)
