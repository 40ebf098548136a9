"""The fixed point of the data themselves, from their sums.

    Sigma Theta − Σ_g N_g Theta B(r_g, δ_g)ᵀ = Σ_g c_g b(r_g, δ_g)ᵀ

(Thm linear_cate_TD_equation, sums for expectations). Every method (preconditioners.py) is one of a
GMRES on the whitened equation (equation.py), whose residual decides when the answer is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import spsolve

from lincat._arguments import check_array, check_choice, check_number, fail
from lincat._typing import ArrayLike, BoolArray, FeatureMatrix, FloatArray, IntArray
from lincat.core.grid import Grid
from lincat.solvers.equation import BatchEquation
from lincat.solvers.gmres import REDUCTION, GmresResult, cycle_of_many, gmres
from lincat.solvers.krylov import ConvergenceError, solve_contraction
from lincat.solvers.preconditioners import (
    METHODS,
    Inverse,
    build_inverse,
    choose_method,
    is_eliminated,
)
from lincat.solvers.spectrum import MeanSpectrum, mean_spectrum, no_single_solution
from lincat.solvers.two_grid import finer, two_grid
from lincat.solvers.whitening import whiten
from lincat.statistics.totals import Totals

_ACCEPTED = 1e-9  # residual, where rounding allows no better
_SMALL = 256  # rows of a table that are solved for as dense features
_SMALL_PRODUCT = 2**28  # multiplications by dense sums that cost nothing
_LARGE_SUMS = 2**24  # numbers
_FILLED = 25  # times that dense sums may be larger than sparse ones: products run so much faster
# Steps that factors, in single precision at worst, take to the tolerance; GMRES does what is left.
_REFINEMENTS = 6
_LOOSE = 1e-2  # residuals that factors reach at once, as one of the answers shows
_SHOWN = 1e-4  # that one's
_TOGETHER = 2**20  # numbers in right-hand sides that are solved at once


@dataclass(frozen=True)
class BatchSolution:
    """The fixed point of a data set on a grid, and what is known of its equation.

    Attributes
    ----------
    Theta : array of shape (d, K)
        F_k(s) = phi(s)·Theta[:, k] + (k + 1)/(K + 1).
    residual : float
        ‖right − A Theta‖/‖right‖, in the norm of Sigma⁻¹ over the directions that the data reach.
    method : str
        "dense", "sparse", "incomplete", "banded", "sweeps", "stein", "multigrid", "krylov" or
        "two_grid".
    iterations : int
        Products with the operator.
    rank : int
        Dimensions that the features span on the data, of d.
    null_directions : array or CSR matrix of shape (d, d − rank)
        The others: Theta is zero along them, and says nothing of a state whose features have a part
        there.
    spectrum : MeanSpectrum
        Spectral radius and smallest singular value of the equation of means, and whether it
        contracts.
    """

    Theta: FloatArray
    residual: float
    method: str
    iterations: int
    rank: int
    null_directions: FeatureMatrix
    spectrum: MeanSpectrum
    _equation: BatchEquation = field(repr=False, compare=False)
    _inverse: Inverse | None = field(repr=False, compare=False)
    # Rows of a table that occur, if only those were solved for.
    _kept: IntArray | None = field(default=None, repr=False, compare=False)

    @property
    def has_factors(self) -> bool:
        """Whether further right-hand sides cost little: they are solved by factors."""
        return self.method in ("dense", "sparse", "banded")

    @property
    def added(self) -> float:
        """What a ridge added to the diagonal of Sigma."""
        return self._equation.whitening.added

    @property
    def totals(self) -> Totals:
        """The sums that were solved; of a table, over the rows that occur."""
        return self._equation.totals

    def relative_size(self, right: FloatArray) -> float:
        """Return ‖R‖, shape (d, K), over that of the equation's right-hand side: a residual."""
        scale = float(np.linalg.norm(self._equation.right))
        size = float(np.linalg.norm(self.whitened(right)))
        return size / scale if scale > 0.0 else size

    @property
    def rows(self) -> slice | IntArray:
        """Rows of Theta that were solved for: of a table, those that occur."""
        return slice(None) if self._kept is None else self._kept

    def back_solve(self, right: ArrayLike, *, tolerance: float = 1e-12) -> FloatArray:
        """Return A⁻¹ R for right-hand sides of shape (d, K) or (m, d, K), by the same factors.

        A Theta = Sigma Theta − Σ_g N_g Theta B_gᵀ. What R has in the null directions is dropped. Of
        a table it may be of the :attr:`rows` that occur alone; the answer is of all.
        """
        equation, kept = self._equation, self._kept
        d, K = shape = (len(self.Theta), equation.intervals)
        R = check_array(right, "right")
        occurring = kept is not None and R.shape[-2:] == (len(kept), K)
        if R.ndim not in (2, 3) or not (occurring or R.shape[-2:] == shape):
            raise fail("right", f"an array of shape {shape} or (m, {d}, {K})", R.shape)
        rows = slice(None) if occurring else self.rows
        every = R.reshape(-1, *R.shape[-2:])
        solved = np.zeros((len(every), *shape))  # pages of rows that do not occur take no memory
        size = max(_TOGETHER // max(equation.size * K, 1), 1)
        for first in range(0, len(every), size):
            part = slice(first, first + size)
            each = np.ascontiguousarray(every[part, rows].transpose(0, 2, 1))
            whitened = equation.whitening.down(each)
            found = _solve_some(equation, self._inverse, whitened, tolerance, self.has_factors)
            solved[part, self.rows] = equation.whitening.up(found).transpose(0, 2, 1)
        return solved.reshape(*R.shape[:-2], *shape)

    def scores(self, parts: Iterable[Totals]) -> Iterator[FloatArray]:
        """Yield b − A Theta, (d, K), of parts of the data that was solved, on the same groups.

        Parts of a table may be of the rows that occur, as :attr:`totals`.
        """
        kept = self._kept
        if kept is None:
            yield from self._equation.scores(self.Theta, parts)
            return
        inner = (self._of_rows_that_occur(part, kept) for part in parts)
        for score in self._equation.scores(self.Theta[kept], inner):
            out = np.zeros(self.Theta.shape)
            out[kept] = score
            yield out

    def _of_rows_that_occur(self, part: Totals, kept: IntArray) -> Totals:
        if part.n_features == len(kept) < len(self.Theta) or not scipy.sparse.issparse(part.cross):
            return part  # it is of those already
        return part.restricted(kept, dense=not self._equation.is_sparse)

    def _whitened_Theta(self) -> FloatArray:
        """The X that is Theta in whitened coordinates, (K, r): Wᵀ (Sigma + ridge) W = I."""
        Theta = self.Theta if self._kept is None else self.Theta[self._kept]
        return self._equation.whitening.down(
            (self._equation.totals.Sigma @ Theta + self.added * Theta).T
        )

    def whitened(self, right: FloatArray) -> FloatArray:
        """Return Wᵀ R for R of shape (d, m): its squares are the norm of Sigma⁻¹."""
        rows = right if self._kept is None else right[self._kept]
        return self._equation.whitening.down(rows.T).T

    def mean_errors(self, whitened: FloatArray) -> FloatArray:
        """Return what whitened scores of means, (r, m), do to means: their equation, solved."""
        M = self._equation.mean_matrix
        if scipy.sparse.issparse(M):
            left = scipy.sparse.csc_array(scipy.sparse.eye_array(M.shape[0]) - M)
            return np.asarray(spsolve(left, whitened)).reshape(whitened.shape)
        return np.linalg.solve(np.eye(len(M)) - M, whitened)


def solve_totals(
    totals: Totals,
    grid: Grid,
    gamma: float,
    *,
    ridge: float = 0.0,
    method: str = "auto",
    tolerance: float = 1e-12,
    coarse: BatchSolution | None = None,
) -> BatchSolution:
    """Return the fixed point of the data that ``totals`` sums up.

    Parameters
    ----------
    totals : Totals
    grid : Grid
    gamma : float
        In [0, 1]; 1 where episodes end from wherever they are.
    ridge : float
        Added to the diagonal of Sigma, relative to its mean: draws the distributions of all states
        together (towards the uniform one where the features span no constant). By default there is
        none; directions without data are dropped.
    method : "auto" or one of METHODS
        "auto" takes the one that is likely to be the fastest, and "sparse" where that does not lead
        there and factors take little memory. Only a table has "sweeps".
    tolerance : float
        Residual of the equation, relative to its right-hand side, that is aimed at. Rounding may
        stop it short where gamma is very near to 1; beyond 1e-9 that is an error.
    coarse : BatchSolution, optional
        Of the same totals on half as many intervals: its factors then serve this grid too
        (two_grid.py), which costs a tenth of new ones.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import Grid
    >>> from lincat.solvers.batch import solve_totals
    >>> from lincat.statistics.totals import Totals
    >>> one = np.ones((2, 1))  # one state; rewards 0 and 1, seen once each
    >>> totals = Totals(np.array([0.0, 1.0]), np.array([1, 1]), np.full(2, np.nan),
    ...                 one[..., None], one, 2.0 * one[:1], count=2, weight=2.0)
    >>> solution = solve_totals(totals, Grid(0.0, 2.0, intervals=4), gamma=0.5)
    >>> np.diff(solution.Theta[0] + np.arange(1, 5) / 5, prepend=0.0, append=1.0).round(12)
    array([0.125, 0.25 , 0.25 , 0.25 , 0.125])
    """
    gamma = check_number(gamma, "gamma", low=0.0, high=1.0)
    check_choice(method, "method", ("auto", *METHODS))
    if scipy.sparse.issparse(totals.cross):
        kept = np.flatnonzero(totals.Sigma.diagonal() > 0.0)
        dense = method != "sweeps" and _is_small(totals, kept, grid.intervals)
        if dense or (ridge == 0.0 and _leaves_rows_out(totals, kept)):
            inner = solve_totals(
                totals.restricted(kept, dense=dense),
                grid,
                gamma,
                ridge=ridge,
                method=method,
                tolerance=tolerance,
                coarse=coarse,
            )
            return _spread_out(inner, kept, totals.n_features)
    whitening = whiten(totals.Sigma, ridge=check_number(ridge, "ridge", low=0.0))
    equation = BatchEquation(totals, totals.discount(gamma), grid, whitening)
    spectrum = mean_spectrum(equation.mean_matrix)
    if spectrum.is_singular:
        raise no_single_solution(totals.discount(gamma))
    right, start = _centre(equation, tolerance)
    found = _found(equation, right, start, tolerance, method=method, coarse=coarse)
    if found.result.residual > max(tolerance, _ACCEPTED):
        raise not_reached(found.result.residual, tolerance, method, spectrum)
    return BatchSolution(
        Theta=np.ascontiguousarray(whitening.up(found.result.x).T),
        residual=found.result.residual,
        method=found.method,
        iterations=found.applied,
        rank=whitening.rank,
        null_directions=whitening.null,
        spectrum=spectrum,
        _equation=equation,
        _inverse=found.inverse,
    )


@dataclass(frozen=True)
class _Found:
    """What a method found, and how."""

    result: GmresResult
    method: str
    inverse: Inverse | None
    applied: int  # products with the operator


def _found(
    equation: BatchEquation,
    right: FloatArray,
    start: FloatArray | None,
    tolerance: float,
    *,
    method: str,
    coarse: BatchSolution | None,
) -> _Found:
    """Solve by a coarse grid's factors, or a method; by elimination where an iteration stalls."""

    def by(name: str, inverse: Inverse | None, start: FloatArray | None) -> _Found:
        before = equation.applied
        result = _solve(equation, inverse, right, start, tolerance)
        return _Found(result, name, inverse, equation.applied - before)

    enough = max(tolerance, _ACCEPTED)
    if coarse is not None and coarse._inverse is not None:
        found = by("two_grid", two_grid(coarse._inverse), finer(coarse._whitened_Theta()))
        if found.result.residual <= enough:
            return found
    name = choose_method(equation) if method == "auto" else method
    found = by(name, build_inverse(equation, name), start)
    if method == "auto" and found.result.residual > enough and is_eliminated(equation, name):
        found = by("sparse", build_inverse(equation, "sparse"), start)
    return found


def not_reached(
    residual: float, tolerance: float, method: str, spectrum: MeanSpectrum | None = None
) -> ConvergenceError:
    """Build the error, with a remedy that whoever chose the method, or did not, can take."""
    radius = np.nan if spectrum is None else spectrum.radius
    reason = f"; the equation is no contraction (spectral radius {radius:.6g})"
    remedy = "fewer intervals (--intervals), a lower gamma (--gamma) or fewer features (--features)"
    if method != "auto":
        remedy = "method='dense', a lower gamma or a ridge"
    return ConvergenceError(
        f"the fixed point was not reached: relative residual {residual:.3g}, wanted "
        f"{tolerance:.3g}{reason if radius >= 1.0 else ''}; try {remedy}"
    )


def _leaves_rows_out(totals: Totals, kept: IntArray) -> bool:
    """Whether some rows of a table never occur: a table has room for ids that may come."""
    return 0 < len(kept) < totals.n_features and np.count_nonzero(
        scipy.sparse.coo_array(totals.Sigma).data
    ) == len(kept)


def _is_small(totals: Totals, kept: IntArray, intervals: int) -> bool:
    """Whether dense sums of the rows that occur cost no more than sparse ones.

    They do where most pairs of states and rewards never occur: weekdays of a dozen stores.
    """
    dense = len(totals.reward) * len(kept) ** 2
    filled = _FILLED * scipy.sparse.coo_array(totals.cross).nnz
    most = min(max(filled, _SMALL_PRODUCT // intervals), _LARGE_SUMS)
    return dense <= most and len(kept) <= _SMALL


def _spread_out(inner: BatchSolution, kept: IntArray, d: int) -> BatchSolution:
    """Return a solution for some rows of a table as one for all of them."""
    Theta = np.zeros((d, inner.Theta.shape[1]))
    Theta[kept] = inner.Theta
    others = np.setdiff1d(np.arange(d), kept)
    shape = (d, len(others) + inner.null_directions.shape[1])
    null = scipy.sparse.lil_array(shape)
    null[others, np.arange(len(others))] = 1.0
    if inner.null_directions.shape[1]:
        null[kept, len(others) :] = inner.null_directions
    return replace(inner, Theta=Theta, null_directions=scipy.sparse.csr_array(null), _kept=kept)


def _solve_some(
    equation: BatchEquation,
    inverse: Inverse | None,
    right: FloatArray,
    tolerance: float,
    has_factors: bool,
) -> FloatArray:
    """Solve for all of (m, K, r): at once, and one by one where that does not lead there."""
    found, missing = np.zeros_like(right), np.ones(len(right), dtype=bool)
    if inverse is not None:
        found, missing = _refined(equation, inverse, right, tolerance, has_factors)
    for i in np.flatnonzero(missing):
        start = None if inverse is None else found[i]
        found[i] = _solve(equation, inverse, right[i], start, tolerance).x
    return found


def _refined(
    equation: BatchEquation,
    inverse: Inverse,
    right: FloatArray,
    tolerance: float,
    has_factors: bool,
) -> tuple[FloatArray, BoolArray]:
    """Solve for all of (m, K, r) at once: factors are read, and products made, once for all.

    Without factors, by GMRES in step. The second answer is whether one is not there yet.
    """

    def apply(X: FloatArray) -> FloatArray:
        pushed = equation.apply(np.ascontiguousarray(X.transpose(1, 0, 2)))
        return X - pushed.transpose(1, 0, 2)

    def improve(left: FloatArray) -> FloatArray:
        if has_factors:
            return inverse(left)
        return cycle_of_many(apply, inverse, left, tolerance=max(0.5 * tolerance, REDUCTION))

    goal = tolerance * np.linalg.norm(right, axis=(1, 2))
    X = improve(right)
    if has_factors and tolerance >= _LOOSE and len(X) > 1:
        # They are far nearer, or off for all: the product for one of them tells, at a share of the
        # time that the others' take.
        one = np.linalg.norm(right[0] - apply(X[:1])[0])
        if one <= _SHOWN * np.linalg.norm(right[0]):
            return X, np.zeros(len(X), dtype=bool)
    for turn in range(_REFINEMENTS):
        left = right - apply(X)
        missing = np.linalg.norm(left, axis=(1, 2)) > goal
        if turn == _REFINEMENTS - 1 or not missing.any():
            break
        X = X + improve(np.ascontiguousarray(left))
    return X, missing


def _solve(
    equation: BatchEquation,
    inverse: Inverse | None,
    right: FloatArray,
    start: FloatArray | None,
    tolerance: float,
) -> GmresResult:
    if inverse is not None:
        return gmres(
            lambda X: X - equation.apply(X), inverse, right, start=start, tolerance=tolerance
        )
    X = np.zeros_like(right) if start is None else start
    left, scale = right - X + equation.apply(X), float(np.linalg.norm(right))
    norm = float(np.linalg.norm(left))
    if norm > tolerance * scale:
        X = X + solve_contraction(equation.apply, left, tolerance=tolerance * scale / norm)
    norm = float(np.linalg.norm(right - X + equation.apply(X)))
    return GmresResult(X, norm / scale if scale > 0.0 else 0.0, 0)


def _centre(equation: BatchEquation, tolerance: float) -> tuple[FloatArray, FloatArray | None]:
    """Return the right-hand side, and where to start: the fixed point of an intercept alone.

    If phi·e = 1 on all rows, that is Theta = e (f − u)ᵀ, f the fixed point of all rows as one
    state. A ridge then draws towards it instead of the uniform distribution: it is the D of
    F = f + phi·D that is kept small.
    """
    totals, whitening = equation.totals, equation.whitening
    plain = whiten(totals.Sigma) if whitening.added > 0.0 else whitening
    phi_sum = totals.phi_sum.sum(axis=0)
    constant = plain.up(plain.down(phi_sum))
    if abs(phi_sum @ constant - totals.weight) > 1e-9 * totals.weight:
        return equation.right, None
    pooled = _pooled(equation, totals.phi_sum @ constant / totals.weight, tolerance)
    penalty = whitening.added * whitening.down(constant)
    start = np.outer(pooled, whitening.down(phi_sum) + penalty)
    return equation.right + np.outer(pooled, penalty), start


def _pooled(equation: BatchEquation, share: FloatArray, tolerance: float) -> FloatArray:
    """The fixed point f − u, (K,), of one state with such shares of rows in each group.

    The same equation with a single feature, by the same methods: no matrix of K² numbers.
    """
    one = replace(
        equation.totals, cross=share[:, None, None], phi_sum=share[:, None], Sigma=np.ones((1, 1))
    )
    pooled = BatchEquation(one, equation.all_discounts, equation.grid, whiten(one.Sigma))
    inverse = build_inverse(pooled, choose_method(pooled))
    found = _solve(pooled, inverse, pooled.right, None, tolerance)
    # Where nothing draws to it, it is only where to start.
    if equation.whitening.added > 0.0 and found.residual > max(tolerance, _ACCEPTED):
        raise not_reached(found.residual, tolerance, "auto")
    return np.ascontiguousarray(found.x[:, 0])
