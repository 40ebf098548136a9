"""CDF learning without the constraint that the total mass is one (Lyle et al. 2019)."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import lsqr

from lincat._typing import FloatArray
from lincat.data.transitions import Transitions
from lincat.learners._categorical import WARM_UP, CategoricalLearner


@final
class UnnormalisedCTD(CategoricalLearner):
    """Linear-categorical TD with K + 1 free columns: F_k(s) = phi(s)·Theta[:, k], k = 0..K.

    The total mass F_K(s) is learned too, instead of being 1 (Lyle, Castro and Bellemare, "A
    comparative analysis of expected and distributional reinforcement learning", 2019), and
    bootstrapping only passes it on. So it starts at 1, as nearly as the features of the first
    1,000 transitions can express it, and where they cannot, it decays: the defect that Linear-CTD's
    offset removes. ``predict`` takes the first K columns and 1 at the last atom;
    :meth:`total_mass` tells how far the total is from 1. Parameters and attributes as for
    :class:`lincat.LinearCTD`, but ``Theta_`` has K + 1 columns.

    Examples
    --------
    >>> import lincat
    >>> coin = lincat.catalog.uniform_coin()
    >>> drawn = coin.process.sample(20_000, seed=1)
    >>> model = lincat.UnnormalisedCTD(grid=coin.grid(intervals=10), gamma=0.5, n_features=1)
    >>> model.fit(drawn.state, drawn.reward, drawn.next_state).Theta_.shape
    (1, 11)
    """

    settles_at_solution: ClassVar[bool] = False
    _rule: ClassVar[str] = "UNNORMALISED"
    _needs_warm_up: ClassVar[bool] = True

    def total_mass(self, Phi: Any) -> FloatArray:
        """Return the learned total mass of each state with features Phi, shape (n,)."""
        features = self._check_states(Phi)
        top = self.Theta_mean_[:, -1]
        return np.asarray(top[features] if features.ndim == 1 else features @ top)

    def _initial(self, waiting: list[Transitions], rows: int) -> FloatArray:
        if waiting[0].kind == "states":
            ones = np.ones(rows)
        else:
            sparse = any(part.kind == "sparse" for part in waiting)
            stack = scipy.sparse.vstack if sparse else np.concatenate
            Phi = stack([part.phi for part in waiting])[:WARM_UP]
            ones = lsqr(Phi, np.ones(Phi.shape[0]), atol=1e-14, btol=1e-14)[0]
        K = self._grid_.intervals
        return np.outer(ones, np.arange(1.0, K + 2.0) / (K + 1.0))

    def _slowness(self) -> float:
        return 1.0

    def _curvature(self) -> float:
        return self._step_factor()

    def _distributions(self, scores: FloatArray) -> FloatArray:
        return scores[:, :-1]
