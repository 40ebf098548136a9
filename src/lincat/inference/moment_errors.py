"""Standard errors of mean and standard deviation of the return, from blocks of sums.

The mean solves A psi = Σ phi r with A = Σ phi (phi − δ phi')ᵀ, so an error of psi is A⁻¹ times the
sum of scores phi (r + δ V(s') − V(s)), and the second moment likewise. Scores of neighbouring
transitions depend on each other where features are not exact, so their long-run variance comes from
slow sums: cosines of low order over the blocks of time (Lazarus, Lewis, Stock and Watson 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat._typing import FeatureMatrix, FloatArray
from lincat.solvers.influence import FEWEST_BLOCKS, cosines
from lincat.solvers.moments import Moments, cross_sum, solve_linear, weighted_cross
from lincat.solvers.whitening import whiten
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.totals import Totals

_COSINES = 8


@dataclass(frozen=True)
class MomentErrors:
    """Standard errors for n states, each of shape (n,)."""

    mean: FloatArray
    variance: FloatArray


def moment_errors(
    statistics: Statistics,
    moments: Moments,
    gamma: float,
    Phi: FeatureMatrix,
    *,
    ridge: float = 0.0,
) -> MomentErrors | None:
    """Return the standard errors of mean and variance; None with fewer than four blocks.

    Parameters
    ----------
    statistics : Statistics
    moments : Moments
        Solved from them.
    gamma : float
    Phi : array or CSR matrix of shape (n, d)
    ridge : float
        That they were solved with.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> from lincat.inference.moment_errors import moment_errors
    >>> coin = lincat.catalog.uniform_coin().process.sample(10_000, seed=1)
    >>> model = lincat.LSTD(gamma=0.5, n_features=1).fit(coin.state, coin.reward, coin.next_state)
    >>> errors = moment_errors(model.statistics_, model.moments_, 0.5, np.ones((1, 1)))
    >>> bool(0.003 < errors.mean[0] < 0.03)  # 0.01 is true
    True
    """
    blocks = statistics.n_blocks
    if blocks < FEWEST_BLOCKS:
        return None
    orders = min(_COSINES, blocks // 2)
    weights = cosines(statistics.block_weights, orders)
    first, second = np.zeros((2, orders, statistics.n_features or 0))
    for i in range(blocks):
        one, two = scores(statistics.block_totals(i), moments, gamma)
        first += weights[:, i, None] * one
        second += weights[:, i, None] * two
    totals = statistics.totals()
    whitening = whiten(totals.Sigma, ridge=ridge)
    discount = totals.discount(gamma)
    dpsi = solve_linear(totals, discount, first.T, whitening=whitening)
    # The second moment's equation holds V(s'), whose error comes along.
    carried = [cross_sum(totals, (2.0 * discount * totals.reward)[:, None] * d) for d in dpsi.T]
    dm = solve_linear(totals, discount**2, second.T + np.array(carried).T, whitening=whitening)
    mean = np.asarray(Phi @ dpsi)
    variance = np.asarray(Phi @ dm) - 2.0 * moments.mean(Phi)[:, None] * mean
    return MomentErrors(np.sqrt(np.mean(mean**2, axis=1)), np.sqrt(np.mean(variance**2, axis=1)))


def scores(totals: Totals, moments: Moments, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Sums over a block of phi (r + δ V' − V) and of phi (r² + 2 δ r V' + δ² M' − M)."""
    discount, reward = totals.discount(gamma), totals.reward
    ahead = weighted_cross(totals, discount) @ moments.value
    first = totals.phi_sum.T @ reward + ahead - totals.Sigma @ moments.value
    mixed = cross_sum(totals, (2.0 * discount * reward)[:, None] * moments.value)
    further = weighted_cross(totals, discount**2) @ moments.second
    second = totals.phi_sum.T @ reward**2 + mixed + further - totals.Sigma @ moments.second
    return np.asarray(first), np.asarray(second)
