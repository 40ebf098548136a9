"""What any method needs at least, as N grows: the asymptotic error, and how long a walk remembers.

The fixed point of N transitions, and every averaged or variance-reduced learner that is as good as
it, has an error with

    N E[ℓ2,mu²] → iota tr(Sigma Ā⁻¹ S Ā⁻ᵀ),      S = Σ_l E[e_0 e_lᵀ],   e_t = A_t θ* − b_t,

S the *long-run* covariance of the noise at the fixed point: lag 0 alone where transitions are
independent. No method does better uniformly (it is instance-optimal), and Thm l2_error_linear_ctd
bounds it, after W1 ≤ ℓ2/√(1 − gamma), by its first term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lincat._arguments import check_array, check_gamma, fail
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.bellman import bellman_target
from lincat.core.grid import Grid
from lincat.core.representation import cdf_from_theta
from lincat.processes.finite import MarkovRewardProcess
from lincat.theory.mean_update import mean_update

_LARGEST = 6000  # unknowns up to which Ā is written down
_LONGEST = 2**40  # steps, beyond which a chain counts as one that does not mix


@dataclass(frozen=True)
class AsymptoticError:
    """lim N E[ℓ2,mu²] to the fixed point.

    Attributes
    ----------
    independent : float
        For independent transitions, S = E[e eᵀ].
    walk : float
        Along a walk, with all lags in S.
    """

    independent: float
    walk: float


@dataclass(frozen=True)
class LimitNoise:
    """What errors are made of as N grows: √N (θ − θ*) → Σ_o √chance_o g_o moved_o, g_o normal.

    Attributes
    ----------
    chance : array of shape (outcomes,)
    moved : array of shape (outcomes, d, K)
        Ā⁻¹ times the noise of each outcome; along a walk of what is a martingale difference with
        the same long-run covariance, e + G(s') − G(s), where G − P G is the mean of e given s.
    Sigma : array of shape (d, d)
    """

    chance: FloatArray
    moved: FloatArray
    Sigma: FloatArray

    def trace(self) -> float:
        """Return tr(Sigma Ā⁻¹ S Ā⁻ᵀ)."""
        weighted = np.einsum("ij,njk->nik", self.Sigma, self.moved)
        return float(self.chance @ (self.moved * weighted).sum(axis=(1, 2)))

    def draws(self, count: int, seed: int = 0) -> FloatArray:
        """Return draws of √N (θ − θ*), shape (count, d, K)."""
        normal = np.random.Generator(np.random.Philox(seed)).normal(size=(count, len(self.chance)))
        flat = self.moved.reshape(len(self.moved), -1)
        drawn = (normal * np.sqrt(self.chance)) @ flat
        return np.asarray(drawn.reshape(count, *self.moved.shape[1:]))


def limit_noise(
    process: MarkovRewardProcess,
    Phi: FeatureMatrix,
    grid: Grid,
    gamma: float,
    Theta: FloatArray,
    *,
    walk: bool,
) -> LimitNoise:
    """Return the noise at the fixed point ``Theta`` (d, K), of independent transitions or a walk.

    Its size hardly depends on K: where dK is too large for a matrix, take fewer intervals.
    """
    K, mu = grid.intervals, process.stationary
    Theta = check_array(Theta, "Theta", shape=(Phi.shape[1], K))
    if Theta.size > _LARGEST:
        raise fail("grid", f"at most {_LARGEST} unknowns d * K", Theta.size, "take fewer intervals")
    update = mean_update(process, Phi, grid, check_gamma(gamma))
    cdf = cdf_from_theta(update.Phi, Theta)
    discount = process.discounts(gamma)
    target = bellman_target(cdf[process.next_state], process.reward, discount, grid)
    chance = mu[process.state] * process.probability
    noise = update.Phi[process.state][:, :, None] * (cdf[process.state] - target)[:, None, :]
    moved = update.solve(noise)
    if walk:
        means = np.zeros((process.n_states, *Theta.shape))
        np.add.at(means, process.state, process.probability[:, None, None] * moved)
        chain = process.transition_matrix().toarray()
        summed = np.linalg.solve(np.eye(len(mu)) - chain + mu, means.reshape(len(mu), -1))
        following = summed[process.next_state]
        # An episode that ends leads to a state drawn from the initial ones: a draw of its own,
        # whose spread counts too.
        moved = moved + (following - summed[process.state]).reshape(moved.shape)
        ends = process.terminated
        if process.initial is not None and ends.any():
            starts = np.flatnonzero(process.initial)
            begun = (summed[starts] - summed[process.state[ends]][:, None]).reshape(
                ends.sum(), len(starts), *Theta.shape
            )
            base = update.solve(noise[ends])
            moved = np.concatenate(
                [moved[~ends], (base[:, None] + begun).reshape(-1, *Theta.shape)]
            )
            share = np.outer(chance[ends], process.initial[starts]).ravel()
            chance = np.concatenate([chance[~ends], share])
    return LimitNoise(chance, moved, update.Sigma)


def asymptotic_error(
    process: MarkovRewardProcess, Phi: FeatureMatrix, grid: Grid, gamma: float, Theta: FloatArray
) -> AsymptoticError:
    """Return the asymptotic error at the fixed point ``Theta`` (d, K), see ``solve_categorical``.

    It hardly depends on K: where dK is too large for a matrix, take fewer intervals.

    Examples
    --------
    >>> from lincat import asymptotic_error, catalog, solve_categorical
    >>> coin = catalog.uniform_coin()
    >>> grid = coin.grid(64)
    >>> Theta = solve_categorical(coin.process, coin.Phi, grid, coin.gamma)
    >>> found = asymptotic_error(coin.process, coin.Phi, grid, coin.gamma, Theta)
    >>> round(found.independent, 3), round(found.walk, 3)
    (0.555, 0.555)
    """
    place = (process, Phi, grid, gamma, Theta)
    traces = [grid.spacing * limit_noise(*place, walk=walk).trace() for walk in (False, True)]
    return AsymptoticError(*traces)


def mixing_time(process: MarkovRewardProcess) -> float:
    """Return the smallest t at which the chain is within 1/4 of mu in total variation.

    From every state: max_s ‖Pᵗ(s, ·) − mu‖_TV ≤ 1/4. Infinite for a chain that does not mix.

    Examples
    --------
    >>> from lincat import MarkovRewardProcess, mixing_time
    >>> lazy = MarkovRewardProcess.from_matrices([[0.9, 0.1], [0.1, 0.9]], [0.0, 1.0])
    >>> mixing_time(lazy)  # 0.8**t / 2 <= 1/4
    4.0
    """
    mu = process.stationary_distribution(allow_periodic=True)
    powers = [process.transition_matrix().toarray()]

    def apart(matrix: FloatArray) -> float:
        return float(np.abs(matrix - mu).sum(axis=1).max()) / 2.0

    while apart(powers[-1]) > 0.25:
        if 2 ** len(powers) > _LONGEST:
            return math.inf
        powers.append(powers[-1] @ powers[-1])
    # The largest t at which it is still apart, one binary digit after another.
    before, t = np.eye(len(mu)), 0
    if apart(before) <= 0.25:
        return 0.0
    for digit in reversed(range(len(powers))):
        further = before @ powers[digit]
        if apart(further) > 0.25:
            before, t = further, t + 2**digit
    return float(t + 1)
