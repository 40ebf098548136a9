"""Linear-CTD, the paper's algorithm (Eq. (linear_CTD))."""

from __future__ import annotations

from typing import ClassVar, final

from lincat._typing import FloatArray
from lincat.core.representation import uniform_cdf
from lincat.data.transitions import Transitions
from lincat.learners._categorical import CategoricalLearner


@final
class LinearCTD(CategoricalLearner):
    """Linear-categorical TD learning, preconditioned: a rate that does not depend on K.

    ::

        Theta -= alpha phi (F(s) − target)ᵀ,   F_k(s) = phi(s)·Theta[:, k] + (k + 1)/(K + 1)

    Its means are those of Linear-TD on the same stream (Prop. mean_preserve_property). With state
    numbers instead of features it is tabular categorical TD (Eq. (ctd_update_rule)).

    Parameters
    ----------
    grid : Grid or "auto"
        Where the distributions live. "auto" looks at the rewards of the first 1,000 transitions,
        takes the range of r/(1 − discount), and adds a tenth at each end that is no bound
        (:meth:`lincat.Grid.for_transitions`); nothing is learned before that.
    gamma : float
        Discount factor in [0, 1]; 1 for episodes that end.
    step_size : float, "auto" or PolynomialDecay
        "auto" starts at 3/(4 max‖phi‖²), which is stable without tuning, and decays slowly (see
        ``lincat.learners.schedules``).
    averaging : "tail", "full" or "none"
        Which iterates ``predict`` averages. "tail" is the second half if the number of updates is
        known (``fit``, or ``horizon``), else a window that at all times holds the last half of the
        iterates or more.
    horizon : int, optional
        Number of updates that a stream given to ``partial_fit`` will make.
    intervals : int
        K of an automatic grid.
    n_features : int, optional
        Needed for state numbers: how many states there are.
    dtype : "float64" or "float32"
    gradient_step : bool
        Multiply the step by 2 * spacing, as semi-gradient descent on ℓ2² with the CDF
        representation does (App. equiv_ssgd_lctd).
    statistics : bool
        Keep :class:`lincat.Statistics` beside the stream, so that ``predict(Phi, confidence=0.95)``
        can tell how far sampling error reaches. Costs the sums, d² numbers for each reward value
        and block of time.

    Attributes
    ----------
    Theta_, Theta_mean_ : array of shape (d, K)
        Current and averaged parameters.
    n_seen_, n_updates_ : int
        Transitions seen and updates made.
    grid_ : Grid
    clipped_mass_ : array of shape (2,)
        Mass that fell below and above the grid, per transition.
    statistics_ : Statistics or None
    ensemble_ : Ensemble
        Errors that the parameters may have, with cautions; where statistics are kept.

    Examples
    --------
    >>> import numpy as np, lincat
    >>> coin = lincat.catalog.uniform_coin()
    >>> drawn = coin.process.sample(20_000, seed=1)
    >>> model = lincat.LinearCTD(grid=coin.grid(intervals=10), gamma=0.5, n_features=1)
    >>> dist = model.fit(drawn.state, drawn.reward, drawn.next_state).predict([0])
    >>> bool(abs(dist.mean()[0] - 1.0) < 0.02), bool(abs(dist.quantile(0.3)[0] - 0.6) < 0.01)
    (True, True)
    >>> model = model.set_params(statistics=True)
    >>> dist = model.fit(drawn.state, drawn.reward, drawn.next_state).predict([0], confidence=0.95)
    >>> [end.round(2).tolist() for end in dist.interval("mean")]
    [[0.98], [1.01]]
    """

    _rule: ClassVar[str] = "CTD"

    def _initial(self, waiting: list[Transitions], rows: int) -> FloatArray | float:
        return self._begun_at(rows)

    def _slowness(self) -> float:
        return 1.0

    def _curvature(self) -> float:
        return self._step_factor()

    def _distributions(self, scores: FloatArray) -> FloatArray:
        return scores + uniform_cdf(scores.shape[1])
