"""The largest step size at which Linear-CTD, or SSGD-PMF, still converges.

With the update θ ← θ − alpha (A_n θ − b_n), A_n the mean over a batch, Ā its expectation, there are
three notions of a largest alpha, which on the paper's processes agree to about one per cent:

deterministic   the spectral radius of I − alpha Ā is below 1: min over its eigenvalues λ of
                2 Re(λ)/|λ|². Says nothing of noise.
almost_sure     the product of random matrices I − alpha A_n shrinks: what a run shows.
mean_square     the second moment E[θθᵀ] shrinks: the spectral radius of
                X ↦ E[(I − alpha A_n) X (I − alpha A_n)ᵀ] is below 1. The strictest.

Nothing is ever written down as a matrix of size dK except the second moment itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import brentq
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from lincat import kernels
from lincat._arguments import check_choice, check_features, check_gamma, check_integer, fail
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.core.bellman import bellman_matrix, reward_shifts
from lincat.core.grid import Grid
from lincat.processes.expected_bellman import ExpectedBellman
from lincat.processes.finite import MarkovRewardProcess

_DENSE = 250  # unknowns up to which all eigenvalues are computed
_LARGEST_MOMENT = 5000  # unknowns up to which the second moment is formed
_BATCHES = 3000  # length of the random product
_BURN_IN = 300
_STILL = 5  # iterations over which a rate must not change to be the last


def max_step_size(
    process: MarkovRewardProcess,
    Phi: FeatureMatrix,
    grid: Grid,
    gamma: float,
    batch_size: int = 1,
    *,
    rule: str = "ctd",
    notion: str = "mean_square",
    seed: int = 0,
) -> float:
    """Return the largest constant step size at which a learner converges on a known process.

    Parameters
    ----------
    process : MarkovRewardProcess
    Phi : array or CSR matrix of shape (S, d)
    grid : Grid
    gamma : float
    batch_size : int
        Transitions per update, drawn independently.
    rule : "ctd" or "pmf"
        Linear-CTD or SSGD-PMF (whose step drops the factor 2 * spacing, as in the paper's tables).
    notion : "mean_square", "almost_sure" or "deterministic"
        See above. "mean_square" needs memory for (dK)² numbers.
    seed : int
        Of the random product for "almost_sure".

    Examples
    --------
    >>> from lincat import catalog, max_step_size
    >>> p = catalog.paper()
    >>> alpha = max_step_size(p.process, p.Phi, p.grid(30), p.gamma, 25, notion="deterministic")
    >>> 1.65 < alpha < 1.70  # the paper's bracket for K = 30
    True
    """
    check_choice(rule, "rule", ("ctd", "pmf"))
    check_choice(notion, "notion", ("mean_square", "almost_sure", "deterministic"))
    batch_size = check_integer(batch_size, "batch_size", low=1)
    update = _Update(process, Phi, grid, check_gamma(gamma), rule == "pmf")
    limit, mode = _deterministic(update)
    if notion == "deterministic":
        return limit
    if notion == "almost_sure":
        growth = _growth_rate(update, batch_size, check_integer(seed, "seed", low=0))
    else:
        growth = _moment_growth(update, batch_size, mode)
    return _crossing(growth, limit)


class _Update:
    """The linear part of an update, in expectation and outcome by outcome."""

    def __init__(
        self,
        process: MarkovRewardProcess,
        Phi: FeatureMatrix,
        grid: Grid,
        gamma: float,
        pmf: bool,
    ) -> None:
        features = check_features(Phi, "Phi", rows=process.n_states)
        self.Phi: FloatArray = (
            features.toarray() if scipy.sparse.issparse(features) else np.asarray(features)
        )
        self.process, self.grid, self.gamma, self.pmf = process, grid, gamma, pmf
        self.weighted = (self.Phi * process.stationary[:, None]).T
        self.shape = (self.Phi.shape[1], grid.intervals)
        self._bellman = ExpectedBellman(process, grid, gamma)

    def mean(self, Theta: FloatArray) -> FloatArray:
        """Ā θ as a matrix: Sigma Theta − E[phi phi'ᵀ Theta B(r)ᵀ], with C Cᵀ behind for PMF."""
        rows = self.Phi @ Theta
        return self.weighted @ self.behind(rows - self._bellman.linear(rows))

    def behind(self, rows: FloatArray) -> FloatArray:
        """What the rule does to error rows (..., K): nothing, or multiplication by C Cᵀ."""
        if not self.pmf:
            return rows
        suffix = np.cumsum(rows[..., ::-1], axis=-1)[..., ::-1]
        return np.cumsum(suffix, axis=-1)


def _deterministic(update: _Update) -> tuple[float, FloatArray]:
    """The largest step of the mean update, and the direction that grows beyond it."""
    d, K = update.shape
    size = d * K

    def apply(v: FloatArray) -> FloatArray:
        return update.mean(v.reshape(d, K)).ravel()

    if size <= _DENSE:
        values, vectors = np.linalg.eig(np.array([apply(row) for row in np.eye(size)]).T)
        return _smallest_limit(values, vectors)
    # Eigenvalues that are large, then the largest of c I − alpha Ā at the limit so far: it is the
    # one that crosses the unit circle first, once alpha is right. With c = 1 the many small
    # eigenvalues of Ā would crowd near the circle; c = 1/2 moves them inside.
    limit, mode = _smallest_limit(*_largest_eigenpairs(apply, size, 6))
    for _ in range(20):
        factors, vectors = _largest_eigenpairs(partial(_shifted, apply, limit), size, 1)
        found, direction = _smallest_limit((0.5 - factors) / limit, vectors)
        if found >= limit * (1.0 - 1e-9):
            break
        limit, mode = found, direction
    return limit, mode


def _shifted(apply: Callable[[FloatArray], FloatArray], alpha: float, v: FloatArray) -> FloatArray:
    return 0.5 * v - alpha * apply(v)


def _largest_eigenpairs(
    apply: Callable[[FloatArray], FloatArray], size: int, count: int
) -> tuple[FloatArray, FloatArray]:
    operator = LinearOperator((size, size), apply, dtype=np.float64)
    start = np.random.Generator(np.random.Philox(0)).normal(size=size)
    try:
        values, vectors = eigs(operator, k=count, ncv=60, v0=start, tol=1e-10, maxiter=300)
    except ArpackNoConvergence as error:
        if len(error.eigenvalues) == 0:
            raise
        values, vectors = error.eigenvalues, error.eigenvectors
    return values, vectors


def _smallest_limit(values: FloatArray, vectors: FloatArray) -> tuple[float, FloatArray]:
    """min over λ of 2 Re(λ)/|λ|², where |1 − alpha λ| = 1, and the real part of its vector."""
    with np.errstate(all="ignore"):  # of eigenvalues that are zero, or too small to have squares
        limits = 2.0 * values.real / np.abs(values) ** 2
    if not 0.0 < limits.min() < np.inf:
        raise fail("process", "a mean update that is stable for small steps", "one that is not")
    worst = int(np.argmin(limits))
    return float(limits[worst]), np.asarray(vectors[:, worst].real)


def _crossing(growth: Callable[[float], float], guess: float) -> float:
    """The step at which the rate of growth turns positive, near ``guess``."""
    width = 0.01
    low, high = guess * (1.0 - width), guess * (1.0 + width)
    while growth(high) <= 0.0:
        low, width = high, 2.0 * width
        high *= 1.0 + width
    while growth(low) > 0.0:
        high, width = low, 2.0 * width
        low /= 1.0 + width
    return float(brentq(growth, low, high, xtol=1e-12 * guess, rtol=2e-4))


def _growth_rate(update: _Update, batch_size: int, seed: int) -> Callable[[float], float]:
    """The rate of one long product as a function of the step, with common random numbers."""
    process = update.process
    total = (_BATCHES + _BURN_IN) * batch_size
    drawn = process.sample_outcomes(total, seed=seed, kind="generative")
    delta = process.discounts(update.gamma)
    rho = reward_shifts(process.reward, delta, update.grid)
    start = np.random.Generator(np.random.Philox(seed)).normal(size=update.shape)

    def growth(alpha: float) -> float:
        rates = np.empty(_BATCHES + _BURN_IN)
        Theta = start / np.linalg.norm(start)
        kernels.product.log_growth(
            rates,
            Theta,
            update.Phi,
            drawn,
            process.state,
            process.next_state,
            rho,
            delta,
            alpha,
            batch_size,
            update.pmf,
        )
        return float(rates[_BURN_IN:].mean())

    return growth


def _outcomes_by_push(update: _Update) -> list[tuple[int, Any, IntArray, FloatArray]]:
    """Outcomes of a state that share B(r): (state, B, next states, their probabilities)."""
    process = update.process
    chance = process.stationary[process.state] * process.probability
    keys = np.stack([process.state, process.reward, process.discounts(update.gamma)], axis=1)
    seen = chance > 0.0
    distinct, member = np.unique(keys[seen], axis=0, return_inverse=True)
    return [
        (
            int(state),
            scipy.sparse.csr_array(bellman_matrix(update.grid, reward, discount)),
            process.next_state[seen][member.ravel() == g],
            chance[seen][member.ravel() == g],
        )
        for g, (state, reward, discount) in enumerate(distinct)
    ]


def _moment_growth(update: _Update, batch_size: int, mode: FloatArray) -> Callable[[float], float]:
    """log of the spectral radius of the second-moment operator as a function of the step.

    X ↦ X − alpha (ĀX + XĀᵀ) + alpha² ((1 − 1/B) ĀXĀᵀ + E[A X Aᵀ]/B), applied to X as an array
    (d, K, d, K); for one transition A X Aᵀ = phi phiᵀ ⊗ (M X Mᵀ) with M of only K rows.
    """
    d, K = update.shape
    if d * K > _LARGEST_MOMENT:
        raise fail(
            "notion",
            f"'mean_square' only up to d * K = {_LARGEST_MOMENT}",
            d * K,
            "use notion='almost_sure'",
        )
    stationary, groups = update.process.stationary, _outcomes_by_push(update)

    def left(X: FloatArray) -> FloatArray:
        """Ā X, Ā acting on the first two axes; X is (d, K, n)."""
        states = np.tensordot(update.Phi, X, axes=1)
        error = states * stationary[:, None, None]
        for s, push, ahead, chance in groups:
            error[s] -= push @ np.tensordot(chance, states[ahead], axes=1)
        moved = np.moveaxis(update.behind(np.moveaxis(error, 1, -1)), -1, 1)
        return np.asarray(np.tensordot(update.Phi.T, moved, axes=1))

    def scatter(X: FloatArray) -> FloatArray:
        """E[A X Aᵀ] for symmetric X (d, K, d, K)."""
        half = np.tensordot(update.Phi, X, axes=1)  # (S, K, d, K)
        both = np.einsum("skjl,tj->stkl", half, update.Phi, optimize=True)
        by_state = np.zeros((len(stationary), K, K))
        for s, push, ahead, chance in groups:
            cross = push @ np.tensordot(chance, both[ahead, s], axes=1)
            pushed = push @ (push @ np.tensordot(chance, both[ahead, ahead], axes=1)).T
            by_state[s] += chance.sum() * both[s, s] - cross - cross.T + pushed.T
        by_state = update.behind(by_state)
        by_state = update.behind(by_state.swapaxes(1, 2)).swapaxes(1, 2)
        return np.asarray(
            np.einsum("si,sj,skl->ikjl", update.Phi, update.Phi, by_state, optimize=True)
        )

    moment = np.multiply.outer(mode.reshape(d, K), mode.reshape(d, K))
    moment /= np.trace(moment.reshape(d * K, d * K))

    def growth(alpha: float) -> float:
        nonlocal moment  # the last one is a good start for the next step size
        rates: list[float] = []
        for _ in range(1000):
            first = left(moment.reshape(d, K, -1)).reshape(d * K, d * K)
            second = left(first.T.reshape(d, K, -1)).reshape(d * K, d * K)
            new = moment.reshape(d * K, d * K) - alpha * (first + first.T)
            new += alpha**2 * (1.0 - 1.0 / batch_size) * second
            new += alpha**2 / batch_size * scatter(moment).reshape(d * K, d * K)
            new = (new + new.T) / 2.0  # an antisymmetric rounding error would grow by itself
            trace = float(np.trace(new))
            moment = (new / trace).reshape(d, K, d, K)
            rates.append(float(np.log(trace)))
            # Complex modes make the rate swing: wait until it has been still for a while.
            if len(rates) >= _STILL and np.ptp(rates[-_STILL:]) <= 5e-5:
                break
        return float(np.mean(rates[-_STILL:]))

    return growth
