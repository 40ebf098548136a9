"""SSGD with the PMF representation, the baseline of the paper (Eq. (linear_CTD_PMF_THETA))."""

from __future__ import annotations

import math
from typing import ClassVar, final

from lincat._typing import FloatArray
from lincat.core.representation import uniform_cdf
from lincat.data.transitions import Transitions
from lincat.learners._categorical import CategoricalLearner


@final
class LinearPMF(CategoricalLearner):
    """Semi-gradient descent on ℓ2² in the coordinates of the masses, W = Theta C⁻ᵀ.

    ::

        Theta -= alpha phi (F(s) − target)ᵀ C Cᵀ

    Without Linear-CTD's preconditioner the step has to shrink like 1/K² (Lemma pmf_convergence).
    The parameters are kept as Theta, so that all learners compare. Parameters and attributes as
    for :class:`lincat.LinearCTD`; by default alpha drops the factor 2 * spacing, as in the paper's
    tables, and ``gradient_step=True`` puts it back.

    Examples
    --------
    >>> import lincat
    >>> coin = lincat.catalog.uniform_coin()
    >>> drawn = coin.process.sample(20_000, seed=1)
    >>> model = lincat.LinearPMF(grid=coin.grid(intervals=10), gamma=0.5, n_features=1)
    >>> dist = model.fit(drawn.state, drawn.reward, drawn.next_state).predict([0])
    >>> bool(abs(dist.mean()[0] - 1.0) < 0.05)
    True
    """

    _rule: ClassVar[str] = "PMF"

    def _initial(self, waiting: list[Transitions], rows: int) -> FloatArray | float:
        return self._begun_at(rows)

    def _slowness(self) -> float:
        return self._norm() / (
            (self._grid_.intervals + 1) / 2.0
        )  # over the mean eigenvalue of C Cᵀ

    def _curvature(self) -> float:
        return self._norm() * self._step_factor()

    def _norm(self) -> float:
        """‖C Cᵀ‖, Lemma spectra_of_CTC."""
        return 0.25 / math.sin(math.pi / (4 * self._grid_.intervals + 2)) ** 2

    def _distributions(self, scores: FloatArray) -> FloatArray:
        return scores + uniform_cdf(scores.shape[1])
