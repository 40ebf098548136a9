"""LSTD: mean and second moment of the return, solved from the sums of all data seen."""

from __future__ import annotations

from typing import Any, Self, final

from lincat._threads import steady_blas
from lincat._typing import FloatArray
from lincat.learners._batch import BatchLearner
from lincat.solvers.moments import Moments, solve_moments


@final
class LSTD(BatchLearner):
    """Least-squares temporal differences: V(s) = phi(s)·psi that solves the data's own equation.

    ::

        Σ phi (phi − discount phi')ᵀ psi = Σ phi reward                 (Eq. (linear_TD_equation))

    and likewise the second moment of the return, from reward² + 2 discount reward V(s') with
    discount². Two d x d solves, no step size.

    Parameters
    ----------
    gamma : float
        In [0, 1]; 1 where every episode ends.
    ridge : float
        Added to the diagonal of Σ phi phiᵀ, relative to its mean.
    n_features : int, optional
        Needed where states are given by number.
    max_blocks, nodes, memory_limit, keep_last
        As for :class:`lincat.Statistics`.

    Attributes
    ----------
    psi_ : array of shape (d,)
    statistics_ : Statistics
    n_seen_ : int

    Examples
    --------
    >>> import lincat
    >>> coin = lincat.catalog.uniform_coin().process.sample(20_000, seed=1)
    >>> model = lincat.LSTD(gamma=0.5, n_features=1)
    >>> model = model.fit(coin.state, coin.reward, coin.next_state)
    >>> model.predict([0]).round(2), model.variance([0]).round(2)
    (array([1.]), array([0.33]))
    """

    def solve(self, *, gamma: float | None = None) -> Self:
        """Return a copy that answers for another gamma, from the same statistics.

        Discounts that came with the data stay as they are.
        """
        return self._solved_copy(gamma=gamma)

    def _solve(self) -> None:
        totals = self.statistics_.totals()
        self._moments_: Moments = solve_moments(totals, self.gamma, ridge=self.ridge)

    def _answer(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        return self._moments_.arrays(), {}

    def _restore_answer(self, arrays: dict[str, FloatArray], numbers: dict[str, Any]) -> None:
        self._moments_ = Moments.from_arrays(arrays, self.statistics_.n_features or 0)

    @property
    def psi_(self) -> FloatArray:
        """Weights of the mean, shape (d,)."""
        self._ready()
        return self._moments_.value

    @property
    def moments_(self) -> Moments:
        """Weights of mean and second moment."""
        self._ready()
        return self._moments_

    @steady_blas()
    def predict(self, Phi: Any) -> FloatArray:
        """Return the mean of the return from states with features Phi (n, d), or state numbers."""
        self._ready()
        return self._moments_.mean(self._check_states(Phi))

    def variance(self, Phi: Any) -> FloatArray:
        """Return the variance of the return; features that are not exact may make it negative."""
        self._ready()
        return self._moments_.variance(self._check_states(Phi))
