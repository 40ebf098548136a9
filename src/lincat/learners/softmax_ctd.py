"""Softmax linear-categorical TD (Bellemare, Dabney and Rowland 2023, Section 9.5)."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import softmax

from lincat._typing import FloatArray
from lincat.data.transitions import Transitions
from lincat.learners._categorical import CategoricalLearner


@final
class SoftmaxCTD(CategoricalLearner):
    """Linear scores, softmax masses, cross-entropy to the projected target: C51 without a network.

    ::

        pmf(s) = softmax(phi(s)·Theta),   Theta -= alpha phi (pmf(s) − projected target pmf)ᵀ

    Its distributions are always proper, but it has no linear fixed point and does not preserve
    means. Parameters and attributes as for :class:`lincat.LinearCTD`, but ``Theta_`` has K + 1
    columns of scores, and ``gradient_step`` is for rules that descend on ℓ2².

    Examples
    --------
    >>> import lincat
    >>> coin = lincat.catalog.uniform_coin()
    >>> drawn = coin.process.sample(20_000, seed=1)
    >>> model = lincat.SoftmaxCTD(grid=coin.grid(intervals=10), gamma=0.5, n_features=1)
    >>> dist = model.fit(drawn.state, drawn.reward, drawn.next_state).predict([0])
    >>> bool(dist.negative_mass[0] == 0.0)
    True
    """

    linear: ClassVar[bool] = False
    settles_at_solution: ClassVar[bool] = False
    _rule: ClassVar[str] = "SOFTMAX"
    _descends_on_cramer: ClassVar[bool] = False

    def _initial(self, waiting: list[Transitions], rows: int) -> float:
        return 0.0  # the uniform distribution

    def _slowness(self) -> float:
        return self._grid_.intervals + 1.0

    def _curvature(self) -> float:
        return 0.5  # the softmax has a Jacobian of norm at most 1/2

    def _distributions(self, scores: FloatArray) -> FloatArray:
        return np.cumsum(softmax(scores, axis=1)[:, :-1], axis=1)
