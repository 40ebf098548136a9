"""Inverses, exact or approximate, of the operator of a BatchEquation, by name.

dense     LU of the matrix written down: tiny equations
sparse    LU of the matrix as it is: tables in which a state has few successors, or short logs
incomplete LU without small numbers: such tables on many intervals, a quarter of the memory
banded    LU of block diagonals (blocks.py): K steps, cost like the square of the band
sweeps    the part of a table that leads to states before (sweeps.py): days that follow each other
multigrid grids that are coarser and coarser (multigrid.py): bands about as wide as the grid
stein     the mean of the Bellman matrices, and the operator itself in slow directions (stein.py)
krylov    none, and BiCGSTAB instead of GMRES: more features than a d x d matrix is wanted for
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import spilu, splu

from lincat._arguments import fail
from lincat._typing import FloatArray
from lincat.solvers.blocks import BlockBandedLU, band_bytes, band_flops
from lincat.solvers.equation import BatchEquation
from lincat.solvers.gmres import RESTART
from lincat.solvers.krylov import ConvergenceError
from lincat.solvers.multigrid import Level, MultigridSolver, on_intervals
from lincat.solvers.stein import SlowFastSolver, SteinSolver, slow_directions
from lincat.solvers.sweeps import SweepSolver, share_before, successors_first

METHODS = ("dense", "sparse", "incomplete", "banded", "sweeps", "stein", "multigrid", "krylov")
Inverse = Callable[[FloatArray], FloatArray]

_DENSE = 400  # unknowns up to which the matrix is written down
_SUCCESSORS = 3  # outcomes of a state, on average, up to which factors stay sparse
_SINGLE = 5e9  # operations from which factors in float32 are enough, as GMRES refines them
_BAND_BYTES = 3e9
_WIDE = 0.25  # share of the grid from which a band is hardly one
_MANY = 2.0**24  # numbers in banded factors up to which elimination is tried where others stalled
_STEPS = 4e5  # of banded factors, some microseconds each however small blocks are
_FEW = 32  # features up to which steps cost more than products; intervals that tell of more
# Numbers in sparse factors, in single precision, and the power of intervals by which they grow.
_HELD, _GROWTH = 5e7, 1.35
_SMALL = 1e-2  # share of a column's norm, below which incomplete factors hold a number as zero
_ITERATIONS = 20.0  # that "stein" takes, about
_SLOW = (256, 192, 128, 96, 64, 48, 32, 24, 16, 8)  # how many slow directions it may take
_SLOW_BYTES = 3e8
_STEIN_FEATURES = 1500
_SWEPT_FEATURES = 5000
_SWEPT = 0.8  # of all that follows must lead to states before, for sweeps to be quick


def choose_method(equation: BatchEquation) -> str:
    """Return the method that is likely to be the fastest."""
    K, r = equation.intervals, equation.size
    if K * r <= _DENSE:
        return "dense"
    if equation.is_sparse:
        if equation.is_table and r <= _SWEPT_FEATURES:
            N = equation.mean_matrix
            if share_before(N, successors_first(N)) >= _SWEPT:
                return "sweeps"
        held = _in_factors(equation)
        if held <= _HELD:  # the small numbers left out where GMRES keeps less than there are
            return "sparse" if held <= _kept_by_iteration(equation) else "incomplete"
        return "stein" if r <= _STEIN_FEATURES else "krylov"
    outcomes = np.count_nonzero(equation.cross)
    if outcomes > r and _is_wide(equation):  # a single outcome of each fills no factors in
        return "multigrid"
    if outcomes <= _SUCCESSORS * r:
        return "sparse"
    if r <= _FEW and K * equation.bandwidth[0] > _STEPS:
        return "multigrid"
    lu, band = band_flops(K, r, *equation.bandwidth), (K, r, *equation.bandwidth)
    # A complex Schur form runs at a fraction of the speed of products.
    stein = _ITERATIONS * (_operator_flops(equation) + 24.0 * r**2 * K) + 200.0 * r**3
    fits = band_bytes(*band, itemsize=4 if lu > _SINGLE else 8) <= _BAND_BYTES
    return "banded" if fits and lu <= max(stein, _SINGLE) else "stein"


def _is_wide(equation: BatchEquation) -> bool:
    """Whether the Bellman matrices are no band to speak of, and larger than what GMRES keeps.

    Payoffs that lie far from where most returns do make them so, and discounts far below 1. Below,
    "stein" takes a third of the products.
    """
    width = 1 + sum(equation.bandwidth)
    return width > _WIDE * equation.intervals and width > RESTART * equation.size


def is_eliminated(equation: BatchEquation, tried: str = "") -> bool:
    """Whether sparse factors of the whole equation take little memory, and were not yet tried.

    States of a short log have few successors, and most of them are followed by one another.
    """
    if tried in ("dense", "sparse", "banded"):
        return False
    if equation.is_table:
        return _in_factors(equation) <= _HELD
    band = band_bytes(equation.intervals, equation.size, *equation.bandwidth, 8)
    return band <= 8.0 * _MANY


def _in_factors(equation: BatchEquation) -> float:
    """About how many numbers sparse factors of a table hold; infinite where there are none.

    Seen on few intervals: they grow a little faster than these do.
    """
    held = 0.0
    for fewest in (1, _FEW):
        few = on_intervals(equation, min(fewest, equation.intervals))
        try:
            factors = splu(_system(few))
        except RuntimeError:  # singular, as far as single precision tells
            return math.inf
        held = float(factors.L.nnz + factors.U.nnz)
        # A state that is joined to another at one atom may be so at all of them.
        if fewest == 1 and held * min(_FEW, equation.intervals) ** 2 > _HELD:
            return math.inf
    return float(held * max(equation.intervals / _FEW, 1.0) ** _GROWTH)


def _kept_by_iteration(equation: BatchEquation) -> float:
    """How many numbers GMRES keeps."""
    return float(RESTART * equation.intervals * equation.size)


def build_inverse(equation: BatchEquation, method: str) -> Inverse | None:
    """Return R ↦ about X with X − Σ_g B_g X Ñ_gᵀ = R, for R of shape (K, r) or (m, K, r).

    "dense", "sparse" and "banded" are as exact as their precision; None for "krylov".
    """
    if method == "dense":
        return _dense(equation)
    if method == "sparse":
        return _sparse(equation)
    if method == "incomplete":
        return _sparse(equation, complete=False)
    if method == "banded":
        return _banded(equation)
    if method == "sweeps":
        if not equation.is_table:
            raise fail("method", "'sweeps' for tables alone", "other features")
        return SweepSolver(equation, successors_first(equation.mean_matrix)).solve
    if method == "multigrid":
        return _multigrid(equation)
    return _stein(equation) if method == "stein" else None


def _operator_flops(equation: BatchEquation) -> float:
    entries = equation.entries if equation.is_sparse else equation.cross.size
    return 2.0 * entries * equation.intervals


def _dense(equation: BatchEquation) -> Inverse:
    K, r = equation.intervals, equation.size
    cross = equation.projected(np.eye(r)) if equation.is_sparse else equation.cross
    entries = scipy.sparse.coo_array(equation.stack)
    group, k = np.divmod(entries.row, K)
    # Block (k, m) is Σ_g B_g[k, m] Ñ_g.
    coefficients = scipy.sparse.csr_array(
        (entries.data, (k * K + entries.col, group)), shape=(K * K, len(cross))
    )
    blocks = np.asarray(coefficients @ cross.reshape(len(cross), r * r)).reshape(K, K, r, r)
    matrix = np.eye(K * r) - blocks.transpose(0, 2, 1, 3).reshape(K * r, K * r)
    factors = scipy.linalg.lu_factor(matrix)
    return lambda R: np.asarray(
        scipy.linalg.lu_solve(factors, R.reshape(-1, K * r).T).T.reshape(R.shape)
    )


def _multigrid(equation: BatchEquation) -> Inverse:
    fewest = max(_DENSE // equation.size, 1)
    levels, coarser = [], equation
    while coarser.intervals > fewest:
        finer = coarser
        coarser = on_intervals(finer, max(-(-finer.intervals // 2), fewest))
        levels.append(Level(finer, coarser))
    return MultigridSolver(levels, _dense(coarser)).solve


def _sparse(equation: BatchEquation, *, complete: bool = True) -> Inverse:
    n, r = equation.intervals * equation.size, equation.size
    system = _system(equation)
    try:
        if complete:
            factors = splu(system)
        else:
            most = max(_kept_by_iteration(equation) / system.nnz, 1.0)
            factors = spilu(system, drop_tol=_SMALL, fill_factor=most)
    except RuntimeError:
        raise ConvergenceError(
            "the fixed point was not reached: its factors are singular"
        ) from None

    def solve(right: FloatArray) -> FloatArray:
        if not equation.is_sparse:
            return np.asarray(factors.solve(right.reshape(-1, n).T).T.reshape(right.shape))
        # State by state, in the precision of the factors: GMRES refines.
        columns = right.reshape(-1, equation.intervals, r).transpose(2, 1, 0).reshape(n, -1)
        solved: FloatArray = factors.solve(np.ascontiguousarray(columns, dtype=np.float32))
        shape = (r, equation.intervals, -1)
        return solved.reshape(shape).transpose(2, 1, 0).astype(np.float64).reshape(right.shape)

    return solve


def _system(equation: BatchEquation) -> scipy.sparse.csc_array:
    """The matrix of X ↦ X − Σ_g B_g X Ñ_gᵀ: of X atom by atom, or of a table state by state."""
    K, r = equation.intervals, equation.size
    if not equation.is_sparse:
        matrix = scipy.sparse.eye_array(K * r, format="csr")
        for g, cross in enumerate(equation.cross):
            push = equation.stack[g * K : (g + 1) * K]
            matrix = matrix - scipy.sparse.kron(push, scipy.sparse.csr_array(cross), format="csr")
        return scipy.sparse.csc_array(matrix)
    parts = [scipy.sparse.eye_array(K * r, format="coo", dtype=np.float32)]
    for g in range(len(equation.discount)):
        push = -equation.stack[g * K : (g + 1) * K].astype(np.float32)
        N = equation.group(g).astype(np.float32)
        parts.append(scipy.sparse.kron(N, push, format="coo"))
    place = tuple(np.concatenate([getattr(x, axis) for x in parts]) for axis in ("row", "col"))
    entries = np.concatenate([x.data for x in parts])
    return scipy.sparse.csc_array((entries, place), shape=(K * r, K * r))


def _banded(equation: BatchEquation) -> Inverse:
    single = band_flops(equation.intervals, equation.size, *equation.bandwidth) > _SINGLE
    factors = _block_factors(equation, equation.cross, np.float32 if single else np.float64)
    n = equation.intervals * equation.size
    return lambda R: factors.solve(R.reshape(-1, n)).astype(np.float64).reshape(R.shape)


def _stein(equation: BatchEquation) -> Inverse:
    N, B, K = equation.mean_matrix, equation.mean_bellman, equation.intervals
    N = N.toarray() if scipy.sparse.issparse(N) else N
    allowed = 2.0 * _operator_flops(equation) + 20.0 * float(equation.size) ** 3 + 1e9
    band = equation.bandwidth
    fitting = [
        s
        for s in _SLOW
        if band_flops(K, s, *band) <= allowed and band_bytes(K, s, *band, 8) <= _SLOW_BYTES
    ]
    slow, T, U = slow_directions(N, fitting[0] if fitting else 0)
    fast = SteinSolver(B, T, U)
    if slow.shape[1] == 0:
        return fast.solve
    factors = _block_factors(equation, equation.projected(slow), np.float64)
    return SlowFastSolver(B, N, slow, factors, fast).solve


def _block_factors(equation: BatchEquation, cross: FloatArray, dtype: type) -> BlockBandedLU:
    """Factorise X ↦ X − Σ_g B_g X cross_gᵀ, cross of shape (G', s, s)."""
    K, s = equation.intervals, cross.shape[-1]
    below, above = equation.bandwidth
    width = below + 1 + above
    # Coefficients of cross_g in block (k, k + offset), one row for each (k, offset).
    entries = scipy.sparse.coo_array(equation.stack)
    group, k = np.divmod(entries.row, K)
    coefficients = scipy.sparse.csr_array(
        (-entries.data, (k * width + entries.col - k + below, group)),
        shape=(K * width, len(cross)),
    )
    blocks: FloatArray = np.ascontiguousarray(cross.transpose(0, 2, 1), dtype=dtype).reshape(
        -1, s * s
    )
    rows = np.empty((K, width * s, s), dtype)
    chunk = max(1, 64 // width)
    for begin in range(0, K, chunk):
        part = coefficients[begin * width : (begin + chunk) * width].toarray().astype(dtype)
        np.matmul(part, blocks, out=rows[begin : begin + chunk].reshape(-1, s * s))
    diagonal = np.arange(s)
    rows[:, below * s + diagonal, diagonal] += 1.0
    return BlockBandedLU(rows, below=below, above=above)
