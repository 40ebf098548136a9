"""Mean, second moment and widening of the return, from the sums of a data set: d x d solves only.

With δ_g the discount of group g, every one of them is a value function v(s) = phi(s)·x that solves

    (Sigma − Σ_g η_g N_g) x = y

    mean            η = δ,    y = Σ_g r_g c_g                             (Eq. (linear_TD_equation))
    second moment   η = δ²,   y = Σ_g r_g² c_g + 2 δ_g r_g N_g psi        (the square of r + δ G')
    widening        η = δ²,   y = Σ w phi E[u(1 − u)]

    steps           η = δ,    y = Σ w phi

The widening is the variance that a grid adds, in units of spacing²: u is the fractional position of
r + δ x on the grid, and projecting a point between two atoms adds u(1 − u) spacing² of variance.
The steps, each counted by its discount, are those that a return sums: so often its figures are
rounded, and a variance, which is a difference of two large numbers, is told no better than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

from lincat._arguments import check_array, check_number
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf
from lincat.solvers.spectrum import no_single_solution
from lincat.solvers.whitening import Whitening, whiten
from lincat.statistics.totals import Totals

_EPS = float(np.finfo(np.float64).eps)
_SINGULAR = 1e-13  # reciprocal condition number below which a matrix has no inverse to speak of


@dataclass(frozen=True)
class Moments:
    """Weights of mean, second moment and discounted steps of the return, each of shape (d,).

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.moments import Moments
    >>> rounded = Moments(np.array([770.0]), np.array([592900.00000001]), np.array([100.0]))
    >>> rounded.variance(np.ones((1, 1))), rounded.pooled_variance(np.ones((1, 1)))
    (array([0.]), 0.0)
    """

    value: FloatArray
    second: FloatArray
    steps: FloatArray

    def mean(self, Phi: FeatureMatrix) -> FloatArray:
        """Return the mean of the return for each row of features."""
        return np.asarray(Phi @ self.value)

    def variance(self, Phi: FeatureMatrix) -> FloatArray:
        """Return its variance; features that are not exact may make it negative.

        It is zero where it is no larger than what rounding alone may leave of what is certain.
        """
        second, square = np.asarray(Phi @ self.second), self.mean(Phi) ** 2
        return _unless_rounding(second - square, self._rounding(Phi) * (np.abs(second) + square))

    def pooled_variance(self, Phi: FeatureMatrix) -> float:
        """Return the variance of the return from any of these states, whichever it is."""
        mean = self.mean(Phi)
        between = mean - mean.mean()
        between = _unless_rounding(between, self._rounding(Phi) * np.abs(mean))
        within = np.maximum(self.variance(Phi), 0.0)
        return float(np.mean(within) + np.var(between))

    def _rounding(self, Phi: FeatureMatrix) -> FloatArray:
        """The share of a moment that may be rounding: that of a number, once for each step."""
        return np.asarray(_EPS * np.maximum(np.asarray(Phi @ self.steps), 1.0))

    def arrays(self) -> dict[str, FloatArray]:
        """Return the weights as named arrays, for files."""
        return {"value": self.value, "second": self.second, "steps": self.steps}

    @classmethod
    def from_arrays(cls, arrays: dict[str, FloatArray], n_features: int) -> Moments:
        """Return what :meth:`arrays` took apart."""
        kept = {"steps": np.zeros(n_features), **arrays}  # older files know none
        value, second, steps = (
            check_array(kept[name], name, shape=(n_features,))
            for name in ("value", "second", "steps")
        )
        return cls(value, second, steps)


def _unless_rounding(figure: FloatArray, rounding: FloatArray) -> FloatArray:
    return np.where(np.abs(figure) <= rounding, 0.0, figure)


def solve_moments(
    totals: Totals, gamma: float, *, ridge: float = 0.0, whitening: Whitening | None = None
) -> Moments:
    """Return the weights of mean and second moment of the return.

    Parameters
    ----------
    totals : Totals
    gamma : float
        In [0, 1]; 1 where episodes end from wherever they are.
    ridge : float
        Added to the diagonal of Sigma, relative to its mean.
    whitening : Whitening, optional
        Of ``totals.Sigma``, if it is there already; ``ridge`` is then not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.moments import solve_moments
    >>> from lincat.statistics.totals import Totals
    >>> one = np.ones((2, 1))  # one state; rewards 0 and 1, seen once each
    >>> totals = Totals(np.array([0.0, 1.0]), np.array([1, 1]), np.full(2, np.nan),
    ...                 one[..., None], one, 2.0 * one[:1], count=2, weight=2.0)
    >>> moments = solve_moments(totals, gamma=0.5)
    >>> moments.mean(one[:1]), moments.variance(one[:1]).round(12)  # uniform on [0, 2]
    (array([1.]), array([0.33333333]))
    """
    discount = totals.discount(check_number(gamma, "gamma", low=0.0, high=1.0))
    whitening = whitening or whiten(totals.Sigma, ridge=ridge)
    reward = totals.reward
    pull, mean, second = _pooled(totals, discount, whitening)
    right = np.stack([totals.phi_sum.T @ reward + mean * pull, totals.phi_sum.sum(axis=0)], axis=1)
    value, steps = np.ascontiguousarray(
        solve_linear(totals, discount, right, whitening=whitening).T
    )
    ahead = cross_sum(totals, (2.0 * discount * reward)[:, None] * value)
    right = totals.phi_sum.T @ reward**2 + ahead + second * pull
    return Moments(value, solve_linear(totals, discount**2, right, whitening=whitening), steps)


def _pooled(
    totals: Totals, discount: FloatArray, whitening: Whitening
) -> tuple[FloatArray, float, float]:
    """What a ridge draws towards: the moments of all states as one, if features span a constant.

    Returns the ridge's pull for a value of 1, shape (d,), and the two moments.
    """
    nothing = np.zeros(totals.n_features), 0.0, 0.0
    if whitening.added == 0.0:
        return nothing
    plain = whiten(totals.Sigma)
    phi_sum = totals.phi_sum.sum(axis=0)
    constant = plain.up(plain.down(phi_sum))
    weight, reward = totals.phi_sum @ constant, totals.reward
    lost = weight @ (1.0 - discount)
    if abs(phi_sum @ constant - totals.weight) > 1e-9 * totals.weight or lost <= 0.0:
        return nothing
    mean = float(weight @ reward / lost)
    gained = weight @ (reward**2 + 2.0 * discount * reward * mean)
    second = float(gained / (weight @ (1.0 - discount**2)))
    return whitening.added * constant, mean, second


def solve_linear(
    totals: Totals,
    discounts: FloatArray,
    targets: FloatArray,
    *,
    ridge: float = 0.0,
    whitening: Whitening | None = None,
) -> FloatArray:
    """Return x with (Sigma − Σ_g discounts_g N_g) x = targets, of least norm.

    ``discounts`` is (G,); ``targets`` is (d,), or (d, m) for m of them.
    """
    targets = check_array(targets, "targets")
    whitening = whitening or whiten(totals.Sigma, ridge=ridge)
    matrix = -whitening.inner(weighted_cross(totals, discounts))
    right = whitening.down(targets.T).T
    if scipy.sparse.issparse(matrix):
        matrix = scipy.sparse.csc_array(matrix + scipy.sparse.eye_array(matrix.shape[0]))
        try:
            solution = splu(matrix).solve(right)
        except RuntimeError:
            raise no_single_solution(discounts) from None
    else:
        matrix.flat[:: len(matrix) + 1] += 1.0
        solution = solve_square(matrix, right, discounts)
    return np.asarray(whitening.up(solution.T).T)


def solve_square(matrix: FloatArray, right: FloatArray, discounts: FloatArray) -> FloatArray:
    """Return x with matrix x = right; these discounts are named where there is no single x."""
    factors, pivots, zero_pivot = lapack.dgetrf(matrix)
    condition, _ = lapack.dgecon(factors, np.abs(matrix).sum(axis=0).max())
    if zero_pivot or condition < _SINGULAR:
        raise no_single_solution(discounts)
    return np.asarray(scipy.linalg.lu_solve((factors, pivots), right))


def widening(
    totals: Totals, gamma: float, *, average: float = 1.0 / 6.0, whitening: Whitening | None = None
) -> FloatArray:
    """Return weights (d,) of the variance that any grid adds, in units of its spacing².

    ``average`` stands for E[u(1 − u)]: 1/6 where r + δ x lies anywhere between atoms, 1/4 at worst.
    """
    discount = totals.discount(check_number(gamma, "gamma", low=0.0, high=1.0))
    right = average * totals.phi_sum.sum(axis=0)
    return solve_linear(totals, discount**2, right, whitening=whitening)


def exact_widening(
    totals: Totals,
    gamma: float,
    grid: Grid,
    Theta: FloatArray,
    *,
    whitening: Whitening | None = None,
) -> FloatArray:
    """Return weights (d,) of the variance that this grid adds, in units of its spacing².

    ``Theta`` (d, K) is the fixed point on it (:func:`lincat.solvers.batch.solve_totals`). With
    features that span a constant, its variance less that of :func:`solve_moments` is spacing² times
    phi·x, as long as no mass leaves the grid.
    """
    discount = totals.discount(check_number(gamma, "gamma", low=0.0, high=1.0))
    place = grid.position(totals.reward[:, None] + discount[:, None] * grid.atoms)
    u = np.where((place >= 0.0) & (place <= grid.intervals), place - np.floor(place), 0.0)
    spread = u * (1.0 - u)
    # Σ_j spread_j p_j by parts, over F_k(s') = phi'·Theta_k + uniform_k.
    change = -np.diff(spread, axis=1)
    constant = spread[:, -1] + change @ uniform_cdf(grid.intervals)
    right = totals.phi_sum.T @ constant + cross_sum(totals, change @ Theta.T)
    return solve_linear(totals, discount**2, right, whitening=whitening)


def weighted_cross(totals: Totals, weight: FloatArray) -> FeatureMatrix:
    """Return Σ_g weight_g N_g, shape (d, d)."""
    if not scipy.sparse.issparse(totals.cross):
        return np.tensordot(weight, totals.cross, 1)
    d = totals.n_features
    entries = scipy.sparse.coo_array(totals.cross)
    group, row = np.divmod(entries.row, d)
    return scipy.sparse.csr_array((weight[group] * entries.data, (row, entries.col)), shape=(d, d))


def cross_sum(totals: Totals, values: FloatArray) -> FloatArray:
    """Return Σ_g N_g values_g, shape (d,), for values of shape (G, d)."""
    if not scipy.sparse.issparse(totals.cross):
        return np.asarray(np.matmul(totals.cross, values[:, :, None])[:, :, 0].sum(axis=0))
    d = totals.n_features
    entries = scipy.sparse.coo_array(totals.cross)
    group, row = np.divmod(entries.row, d)
    return np.bincount(row, entries.data * values[group, entries.col], d).astype(np.float64)
