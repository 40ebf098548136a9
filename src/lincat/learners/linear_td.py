"""Linear-TD, the classic: means only (Eq. (linear_TD))."""

from __future__ import annotations

from typing import Any, NoReturn, final

import numpy as np

from lincat import kernels
from lincat._arguments import fail
from lincat._typing import FeatureMatrix, FloatArray
from lincat.data.transitions import Transitions
from lincat.learners._base import Learner
from lincat.learners.inputs import kernel_features

# A TD error so many times larger than any return means that psi has left for good.
_LARGEST_ERROR = 1e6
_LARGEST_VALUE = 10.0  # likewise, of parameters that are worth going back to


@final
class LinearTD(Learner[FloatArray]):
    """Temporal-difference learning of the expected return, V(s) = phi(s)·psi.

    ::

        psi -= alpha phi ((phi − discount phi')·psi − reward)

    With state numbers instead of features it is tabular TD (Eq. (td_learning)). Parameters as for
    :class:`lincat.LinearCTD`, without a grid; ``predict`` returns values, shape (n,).

    Attributes
    ----------
    psi_, psi_mean_ : array of shape (d,)
        Current and averaged parameters.
    n_seen_, n_updates_ : int

    Examples
    --------
    >>> import lincat
    >>> coin = lincat.catalog.uniform_coin()
    >>> drawn = coin.process.sample(20_000, seed=1)
    >>> model = lincat.LinearTD(gamma=0.5, n_features=1)
    >>> value = model.fit(drawn.state, drawn.reward, drawn.next_state).predict([0])
    >>> bool(abs(value[0] - 1.0) < 0.02)
    True
    """

    def _prepare(self, waiting: list[Transitions], warm_up_over: bool) -> bool:
        self._scale_ = 0.0  # the largest |reward| so far
        return True

    def _columns(self) -> int:
        return 1

    def _initial(self, waiting: list[Transitions], rows: int) -> float:
        return 0.0

    def _slowness(self) -> float:
        return 1.0

    def _curvature(self) -> float:
        return 1.0

    def _run(self, transitions: Transitions, step: FloatArray, batch_size: int) -> int:
        # The kernels take vectors, and everything else a matrix of one column.
        psi = np.ascontiguousarray(self._Theta_[:, 0])
        sums = np.ascontiguousarray(self._U_[:, 0]) if self._average_.needs_sums else np.zeros(0)
        self._scale_ = max(self._scale_, float(np.abs(transitions.reward).max(initial=0.0)))
        done = kernels.linear_td.linear_td(
            psi,
            sums,
            *kernel_features(transitions, psi.dtype),
            transitions.reward,
            transitions.discounts(self.gamma),
            step,
            _LARGEST_ERROR * self._largest_return(),
            self._average_.in_sums(self.n_updates_),
            batch_size,
        )
        self._Theta_[:, 0] = psi
        if self._average_.needs_sums:
            self._U_[:, 0] = sums
        return int(done)

    def _largest_return(self) -> float:
        return max(self._scale_, 1e-300) / max(1.0 - self.gamma, 1e-6)

    def _is_plausible(self, scores: FloatArray) -> bool:
        return bool(np.abs(scores).max(initial=0.0) <= _LARGEST_VALUE * self._largest_return())

    @property
    def psi_(self) -> FloatArray:
        """The current parameters, shape (d,)."""
        return self._parameters()[:, 0]

    @property
    def psi_mean_(self) -> FloatArray:
        """The averaged parameters; the current ones if averaging="none"."""
        return self._mean()[:, 0]

    def _predict(self, Phi: FeatureMatrix, parameters: FloatArray) -> FloatArray:
        psi = parameters[:, 0]
        return np.asarray(psi[Phi] if Phi.ndim == 1 else Phi @ psi)

    def _predict_with_error(self, Phi: FeatureMatrix, confidence: float) -> NoReturn:
        remedy = "take lincat.CategoricalLSTD, or LinearCTD(statistics=True)"
        raise fail("confidence", "none for LinearTD, which learns means only", confidence, remedy)

    def _updates_to_look(self) -> None:
        return None

    def _look(self) -> None:
        pass

    def _after_fit(self) -> None:
        pass  # there is no grid that anything could fall off

    def _extra_state(self) -> dict[str, Any]:
        return {"scale": self._scale_}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        self._scale_ = float(state["scale"])
