"""Linear-CTD with variance reduction: a constant step, and the error of the batch solution.

A tail average of Linear-CTD needs many transitions before its error is that of the data: the second
term of Thm l2_error_linear_ctd, the sample-size barrier. The noise of an update is A_t θ − b_t,
which does not vanish at θ*. Recentring removes that: gradients at an *anchor* that stays as it is
through an epoch are averaged, and updates of the epochs after,

    θ ← θ − alpha [A_t (θ − θ̄) + ḡ],      ḡ = (1/N) Σ_s (A_s θ̃_s − b_s),   θ̄ = (1/N) Σ_s θ̃_s,

only have the noise A_t (θ − θ̄), which vanishes as anchors come near. They end where

    Ā (θ − θ̄) + ḡ = 0,   that is   θ = θ* − Ā⁻¹ (1/N) Σ_s [(A_s − Ā)(θ̃_s − θ*) + A_s θ* − b_s]:

the asymptotic error of *all* N transitions, whatever the step, up to what anchors lack. Sums over
all epochs instead of the last one (as in epoch-wise variance reduction) are what makes that N and
not a share of it. Along a walk, gradients at a fixed anchor have no bias, and that of the steps is
multiplied by θ − θ̄. Four matrices of the size of Theta are kept, and nothing else of the past.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_integer
from lincat._typing import FloatArray
from lincat.core.representation import uniform_cdf
from lincat.data.transitions import Transitions
from lincat.learners._categorical import _LARGEST_ERROR, CategoricalLearner
from lincat.learners.averaging import next_window

_ROWS_PER_UPDATE = 8  # rows of parameters that an epoch may have for each of its updates


@final
class VarianceReducedCTD(CategoricalLearner):
    """Linear-CTD recentred in epochs, which end when there are 5 % more transitions than before.

    Parameters and attributes as for :class:`lincat.LinearCTD`. ``step_size="auto"`` does not decay:
    what noise is left vanishes by itself. ``averaging="tail"`` averages the iterates of about the
    last two epochs, which have the same goal. An automatic grid does not grow.

    Examples
    --------
    >>> import lincat
    >>> coin = lincat.catalog.uniform_coin()
    >>> drawn = coin.process.sample(20_000, seed=1)
    >>> model = lincat.VarianceReducedCTD(grid=coin.grid(intervals=10), gamma=0.5, n_features=1)
    >>> dist = model.fit(drawn.state, drawn.reward, drawn.next_state).predict([0])
    >>> bool(abs(dist.mean()[0] - 1.0) < 0.02), bool(abs(dist.quantile(0.3)[0] - 0.6) < 0.01)
    (True, True)
    """

    _rule: ClassVar[str] = "CTD"
    _epochs: ClassVar[float | None] = 1.05
    _matrices: ClassVar[tuple[str, ...]] = ("gathered", "anchor", "mean_anchor", "mean_gradient")
    _grid_grows: ClassVar[bool] = False
    #: Epochs that are over, and when this one ends.
    _epoch_: int = 0
    _ends_: int = 0
    #: Weight of the gradients gathered before this epoch.
    _before_epoch_: float = 0.0
    #: Anchor, mean anchor and mean gradient as the kernel takes them.
    _centre_: FloatArray | None = None

    def _initial(self, waiting: list[Transitions], rows: int) -> FloatArray | float:
        start = self._begun_at(rows)
        shape = (rows, self._columns())
        self._gathered_ = np.zeros(shape)
        self._anchor_ = np.broadcast_to(np.asarray(start, np.float64), shape).copy()
        self._mean_anchor_, self._mean_gradient_ = self._anchor_.copy(), np.zeros(shape)
        self._clock_, self._centre_ = np.zeros(3), None
        # The end of an epoch costs a pass over all rows: not more often than it is paid for.
        self._average_.least = rows // _ROWS_PER_UPDATE
        self._epoch_, self._before_epoch_ = 0, 0.0
        self._ends_ = next_window(0, 1.0, self._average_.least)
        return start

    def _slowness(self) -> float:
        return math.inf  # steps do not decay

    def _curvature(self) -> float:
        # Half the step that is stable for independent transitions: along a walk on the paper's own
        # process a constant step of 1/R diverges.
        return 2.0 * self._step_factor()

    def _distributions(self, scores: FloatArray) -> FloatArray:
        return scores + uniform_cdf(scores.shape[1])

    # ---------------------------------------------------------------------------- the updates

    def _update(
        self,
        transitions: Transitions,
        phi: Any,
        phi_next: Any,
        numbers: tuple[FloatArray, ...],
        batch_size: int,
    ) -> int:
        weight = transitions.weight
        if self._centre_ is None:
            self._centre_ = np.stack([self._anchor_, self._mean_anchor_, self._mean_gradient_])
        return int(
            kernels.recentred.recentred_updates(
                self._Theta_,
                self._U_,
                self._gathered_,
                self._centre_,
                self._clock_,
                self._clipped_,
                _compressed(phi),
                _compressed(phi_next),
                *numbers,
                np.ones(len(transitions)) if weight is None else np.asarray(weight, np.float64),
                _LARGEST_ERROR**2,
                self._grid_.intervals,
                max(2 - self._epoch_, 0),
                self._average_.in_sums(self.n_updates_),
                batch_size,
            )
        )

    def _updates_to_look(self) -> int | None:
        return self._ends_ - self.n_updates_

    def _look(self) -> None:
        """End an epoch: take in what it gathered, and put the anchor where the average is."""
        theta, sums = self._theta_and_sums()
        gradient, average, done = self._mean_gradient_, self._average_, self.n_updates_
        drift, drifts, weight = self._clock_
        # A window that has just begun remembered the sum without the drift.
        if average.next_begin == done and average.next_sum is not None:
            average.next_sum = average.next_sum - drifts * gradient
        if average.needs_sums:
            sums += (average.in_sums(done) * drift - drifts) * gradient
        theta -= (drift * gradient).astype(theta.dtype)
        if weight > 0.0:
            gained = weight - self._before_epoch_
            old = self._mean_anchor_ if self._before_epoch_ > 0.0 else self._anchor_
            self._mean_anchor_ = old + gained / weight * (self._anchor_ - old)
            self._mean_gradient_ = self._gathered_ / weight
            self._before_epoch_ = float(weight)
        self._clock_ = np.array([0.0, 0.0, weight])
        self._anchor_, self._centre_ = average.mean(done, theta, sums), None
        self._epoch_ += 1
        self._ends_ = next_window(done, average.growth, average.least)
        if self._before_epoch_ == 0.0:
            self._mean_anchor_ = self._anchor_

    def _iterate_and_sums(self) -> tuple[FloatArray, FloatArray]:
        theta, sums = self._theta_and_sums()
        drift, drifts, _ = self._clock_
        if drift == 0.0:
            return theta, sums
        count = self._average_.in_sums(self.n_updates_)
        moved = theta - (drift * self._mean_gradient_).astype(theta.dtype)
        if not self._average_.needs_sums:
            return moved, sums
        return moved, sums + (count * drift - drifts) * self._mean_gradient_

    # ---------------------------------------------------------------------------------- files

    def _extra_state(self) -> dict[str, Any]:
        epochs = [self._epoch_, self._ends_, self._before_epoch_]
        return super()._extra_state() | {"clock": self._clock_.tolist(), "epochs": epochs}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        super()._restore_extra(state)
        self._clock_ = check_array(state["clock"], "clock", shape=(3,))
        number, ends, before = state["epochs"]
        self._epoch_ = check_integer(number, "epochs", low=0)
        self._ends_ = check_integer(ends, "epochs", low=1)
        self._before_epoch_ = float(check_array([before], "epochs")[0])


def _compressed(phi: Any) -> tuple[Any, Any, Any]:
    """Features of any kind as compressed rows."""
    if isinstance(phi, tuple):
        return phi
    if phi.ndim == 1:  # state numbers
        n = len(phi)
        return np.arange(n + 1, dtype=np.int32), phi.astype(np.int32), np.ones(n)
    n, d = phi.shape
    width = np.int32 if n * d < 2**31 else np.int64
    indices = np.tile(np.arange(d, dtype=width), n)
    return np.arange(n + 1, dtype=width) * d, indices, phi.ravel()
