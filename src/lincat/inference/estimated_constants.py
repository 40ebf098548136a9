"""The constants of the paper's bounds as data tell them, each with its own error.

From the block sums of a :class:`lincat.CategoricalLSTD` and nothing else. Eigenvalues of Sigma have
the error that leaving out one block at a time gives (jackknife); norms of θ*, the trace of S and
the asymptotic error have that of the slow sums behind the intervals (solvers/influence.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from lincat._arguments import fail
from lincat._typing import FloatArray
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.solvers.influence import cosines
from lincat.solvers.moments import weighted_cross
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.totals import Totals
from lincat.theory.constants import ErrorBounds, error_bounds

# Eigenvalues of Sigma below this share of the largest are directions without data.
_NEGLIGIBLE = 1e-10
_STRETCHES = 16  # of time that are left out, one after another
_MOST = 1000  # states of a table whose memory is looked at: the most frequent ones


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class EstimatedConstants:
    """What :class:`lincat.ErrorConstants` holds, from data.

    Attributes
    ----------
    gamma : float
    intervals, count : int
        K, and the transitions that the estimates rest on.
    width : float
        Of the grid, high − low.
    lambda_min, lambda_max : Estimate
        Of Sigma, in the directions that have data.
    max_squared_norm : float
        The largest ‖phi‖² seen.
    max_norm_A : float
        (1 + √gamma) times that, which bounds every ‖A_t‖.
    norm_theta, norm_theta_Sigma : Estimate
    trace_S : Estimate
        Of the long-run covariance of the noise at the fixed point; tr(Sigma_e) where features are
        exact, as the noise is then uncorrelated.
    asymptotic : Estimate
        lim N E[ℓ2,mu²] as the data came, walks included.
    mixing_time : float
        log 4/−log|λ|, λ the second eigenvalue of Sigma⁻¹ E[phi phi'ᵀ]: how long features remember.
    """

    gamma: float
    intervals: int
    count: int
    width: float
    lambda_min: Estimate
    lambda_max: Estimate
    max_squared_norm: float
    max_norm_A: float
    norm_theta: Estimate
    norm_theta_Sigma: Estimate
    trace_S: Estimate
    asymptotic: Estimate
    mixing_time: float

    @property
    def C_A(self) -> float:
        """An upper bound for both ‖A_t‖ and ‖A_t − E A_t‖."""
        return 2.0 * self.max_norm_A

    @property
    def C_e(self) -> float:
        """An upper bound for ‖A_t θ* − b_t‖; sums know no largest noise, so it is the paper's."""
        return self.paper.C_e

    @property
    def paper(self) -> ErrorBounds:
        """What Lemma upper_bound_error_quantities says of them, at the estimated norms."""
        norms = (self.norm_theta.value, self.norm_theta_Sigma.value)
        return error_bounds(self.gamma, self.intervals, *norms)


def estimate_constants(model: CategoricalLSTD) -> EstimatedConstants:
    """Return the constants that the data behind a batch solution tell, with their errors.

    Examples
    --------
    >>> import lincat
    >>> p = lincat.catalog.paper("unit_norm")
    >>> seen = p.process.sample(20_000, seed=1)
    >>> model = lincat.CategoricalLSTD(gamma=p.gamma, grid=p.grid(20))
    >>> model = model.fit(p.Phi[seen.state], seen.reward, p.Phi[seen.next_state])
    >>> found = lincat.estimate_constants(model)
    >>> abs(found.lambda_min.value - 0.010165) < 3 * found.lambda_min.error  # the true one
    True
    """
    statistics, grid = model.statistics_, model.grid_
    blocks = statistics.n_blocks
    if blocks < 4:
        expected = "data in at least 4 blocks of time, for errors of the estimates"
        raise fail("model", expected, f"{statistics.count} transitions in {blocks}", "give more")
    totals = statistics.totals()
    Sigma = totals.Sigma / totals.weight
    Theta, Psi = model.Theta_, model.ensemble_.Psi
    left_out = np.array([_extremes(part) for part in _left_out(statistics, totals)])
    ends, groups = _extremes(Sigma), len(left_out)
    spread = np.sqrt((groups - 1) / groups * ((left_out - left_out.mean(0)) ** 2).sum(axis=0))
    weighted = Sigma @ Theta
    norm, norm_Sigma = (
        float(np.linalg.norm(Theta)),
        math.sqrt(max(float((Theta * weighted).sum()), 0.0)),
    )
    squares = grid.spacing * np.array([(one * (Sigma @ one)).sum() for one in Psi])
    largest = statistics.largest_norm
    return EstimatedConstants(
        gamma=model.gamma,
        intervals=grid.intervals,
        count=statistics.count,
        width=grid.high - grid.low,
        lambda_min=Estimate(float(ends[0]), float(spread[0])),
        lambda_max=Estimate(float(ends[1]), float(spread[1])),
        max_squared_norm=largest,
        max_norm_A=(1.0 + math.sqrt(model.gamma)) * largest,
        norm_theta=Estimate(norm, _along(Psi, Theta / max(norm, 1e-300))),
        norm_theta_Sigma=Estimate(norm_Sigma, _along(Psi, weighted / max(norm_Sigma, 1e-300))),
        trace_S=_trace(model, len(Psi)),
        asymptotic=_mean(squares * statistics.count),
        mixing_time=_mixing_time(totals),
    )


def _left_out(statistics: Statistics, totals: Totals) -> Iterator[Any]:
    """Sigma without one stretch of time after another."""
    edges = np.linspace(0, statistics.n_blocks, min(statistics.n_blocks, _STRETCHES) + 1)
    for first, last in pairwise(edges.round().astype(int).tolist()):
        part = statistics.window(first, last)
        yield (totals.Sigma - part.Sigma) / max(totals.weight - part.weight, 1e-300)


def _extremes(Sigma: Any) -> FloatArray:
    """The smallest and the largest eigenvalue in directions that have data."""
    values = np.sort(diagonal(Sigma)) if is_diagonal(Sigma) else np.linalg.eigvalsh(dense(Sigma))
    known = values[values > _NEGLIGIBLE * values[-1]]
    return np.array([known[0], known[-1]])


def is_diagonal(Sigma: Any) -> bool:
    """Whether features are a table: one for each state, and no other."""
    if scipy.sparse.issparse(Sigma):
        return int(np.count_nonzero(Sigma.data)) == int(np.count_nonzero(Sigma.diagonal()))
    return int(np.count_nonzero(Sigma)) == int(np.count_nonzero(np.diagonal(Sigma)))


def diagonal(Sigma: Any) -> FloatArray:
    """Return the diagonal of a matrix, sparse or not."""
    return np.asarray(Sigma.diagonal(), dtype=np.float64)


def dense(matrix: Any) -> FloatArray:
    """Return a matrix as an array."""
    return np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)


def _along(Psi: FloatArray, direction: FloatArray) -> float:
    """Standard error of a linear function of Theta."""
    return float(np.sqrt(np.mean((Psi * direction).sum(axis=(1, 2)) ** 2)))


def _mean(squares: FloatArray) -> Estimate:
    """A mean of independent squares, and its error."""
    return Estimate(float(squares.mean()), float(squares.std(ddof=1) / math.sqrt(len(squares))))


def _trace(model: CategoricalLSTD, orders: int) -> Estimate:
    """tr S from the slow sums of block scores: N times the mean of ‖L_j/N‖²."""
    statistics = model.statistics_
    weights = cosines(statistics.block_weights, orders)
    sums = np.zeros((orders, *model.Theta_.shape))
    parts = (statistics.block_totals(i) for i in range(statistics.n_blocks))
    for i, score in enumerate(model.solution_.scores(parts)):
        sums += weights[:, i, None, None] * score
    return _mean((sums**2).sum(axis=(1, 2)) / statistics.weight**2 * statistics.count)


def _mixing_time(totals: Totals) -> float:
    """How long features remember, from the eigenvalues of Sigma⁻¹ E[phi phi'ᵀ]."""
    following = weighted_cross(totals, np.ones(len(totals.reward))) / totals.weight
    Sigma = totals.Sigma / totals.weight
    if is_diagonal(Sigma):
        shares = diagonal(Sigma)
        kept = np.argsort(-shares, kind="stable")[:_MOST]
        kept = kept[shares[kept] > _NEGLIGIBLE * shares.max()]
        root = 1.0 / np.sqrt(shares[kept])
        whitened = root[:, None] * dense(following[kept][:, kept]) * root
    else:
        values, vectors = np.linalg.eigh(dense(Sigma))
        known = values > _NEGLIGIBLE * values[-1]
        basis = vectors[:, known] / np.sqrt(values[known])
        whitened = basis.T @ dense(following) @ basis
    sizes = np.sort(np.abs(np.linalg.eigvals(whitened)))[::-1]
    # A constant among the features has the eigenvalue 1, which is not about memory.
    second = next((x for x in sizes if x < 1.0 - 1e-6), 0.0)
    return math.log(4.0) / -math.log(second) if second > 0.0 else 0.0
