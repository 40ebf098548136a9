"""GMRES with a preconditioner on the right: Saad and Schultz (1986).

The residual that it watches is that of the equation itself, and every restart computes it again, so
that a preconditioner of any precision leads to the answer in full precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from lincat._typing import FloatArray

RESTART = 80  # vectors that are kept, at most
_LIMIT = 2000
# A cycle asks for no more than this: beyond it the residual that GMRES carries along is rounding.
REDUCTION = 1e-9


@dataclass(frozen=True)
class GmresResult:
    """What GMRES found."""

    #: The solution, in the shape of the right-hand side.
    x: FloatArray
    #: ‖right − A x‖/‖right‖, computed from x.
    residual: float
    #: Products with A.
    iterations: int


def gmres(
    apply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    *,
    start: FloatArray | None = None,
    tolerance: float,
) -> GmresResult:
    """Solve A x = right, where ``apply`` is A and ``precondition`` is near to its inverse.

    Stops at ‖right − A x‖ <= tolerance ‖right‖, or where a whole cycle leaves nine tenths of the
    residual, or so much that more than 2,000 products would be needed: the caller reads
    ``residual``.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.gmres import gmres
    >>> A = np.array([[4.0, 1.0], [2.0, 4.0]])
    >>> result = gmres(lambda x: A @ x, lambda x: x / 4.0, np.array([5.0, 6.0]), tolerance=1e-14)
    >>> result.x.round(12), result.iterations
    (array([1., 1.]), 2)
    """
    scale = float(np.linalg.norm(right))
    if scale == 0.0:
        return GmresResult(np.zeros_like(right), 0.0, 0)
    x = np.zeros_like(right) if start is None else start.copy()
    left = right.copy() if start is None else right - apply(x)
    norm, iterations = float(np.linalg.norm(left)), 0
    while norm > tolerance * scale and iterations < _LIMIT:
        goal = max(0.5 * tolerance * scale / norm, REDUCTION)
        step, used = _cycle(apply, precondition, left / norm, goal)
        candidate = x + norm * step
        left = right - apply(candidate)
        iterations += used
        left_norm = float(np.linalg.norm(left))
        if not left_norm < norm:
            break  # rounding, or a matrix that is singular
        before, stalls, norm, x = norm, left_norm > 0.9 * norm, left_norm, candidate
        # At the pace of this cycle: no reason to walk to the limit to learn that it is not enough.
        rest = used * _cycles_left(norm / before, tolerance * scale / max(norm, 1e-300))
        if stalls or iterations + rest > _LIMIT:
            break
    return GmresResult(x, norm / scale, iterations)


def _cycles_left(pace: float, goal: float) -> float:
    """How many cycles like the last one, which left this share, lead to that share."""
    if goal >= 1.0 or pace <= 0.0:
        return 0.0
    return math.log(max(goal, 1e-300)) / math.log(pace)


def cycle_of_many(
    apply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    *,
    tolerance: float,
    most: int = 40,
) -> FloatArray:
    """Return x of one cycle for each of m right-hand sides, (m, ...), all of them in step.

    Each has a Krylov space of its own; products and preconditioner are applied to all at once,
    which costs little more than to one. Ends where every residual, as it is carried along, is below
    the tolerance, or after ``most`` products: the caller looks.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.gmres import cycle_of_many
    >>> A = np.array([[4.0, 1.0], [2.0, 4.0]])
    >>> right = np.array([[5.0, 6.0], [9.0, 8.0], [0.0, 0.0]])
    >>> cycle_of_many(lambda x: x @ A.T, lambda x: x / 4.0, right, tolerance=1e-14).round(12)
    array([[1., 1.],
           [2., 1.],
           [0., 0.]])
    """
    m, shape = len(right), right.shape
    flat = right.reshape(m, -1)
    scale = np.linalg.norm(flat, axis=1)
    basis = [_unit(flat, scale)]
    H = np.zeros((m, most + 1, most))
    for j in range(most):
        w = apply(precondition(basis[j].reshape(shape))).reshape(m, -1)
        for _ in range(2):
            for i, one in enumerate(basis):
                h = np.einsum("mn,mn->m", one, w)
                w -= h[:, None] * one
                H[:, i, j] += h
        H[:, j + 1, j] = np.linalg.norm(w, axis=1)
        inner = H[:, : j + 2, : j + 1]
        y = np.linalg.pinv(inner)[..., 0]  # of a space that is whole already, the rest is zero
        residual = np.linalg.norm(np.eye(j + 2)[0] - (inner @ y[..., None])[..., 0], axis=1)
        if (residual[scale > 0.0] <= tolerance).all():
            break
        basis.append(_unit(w, H[:, j + 1, j], H[:, : j + 1, j]))
    parts = (scale[:, None] * y).T  # of each vector but the last one, where all were made
    steps = sum(part[:, None] * one for part, one in zip(parts, basis, strict=False))
    return precondition(np.asarray(steps).reshape(shape))


def _unit(vectors: FloatArray, norm: FloatArray, before: FloatArray | None = None) -> FloatArray:
    """Vectors (m, n) of length one; zero where there is nothing but rounding left."""
    least = 0.0 if before is None else 1e-14 * np.linalg.norm(before, axis=1)
    there = (norm > least)[:, None]
    return np.divide(vectors, norm[:, None], out=np.zeros_like(vectors), where=there)


def _cycle(
    apply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    goal: float,
) -> tuple[FloatArray, int]:
    """Return the step of one cycle for a right-hand side of norm 1, and its length."""
    shape = right.shape
    basis = np.empty((RESTART + 1, right.size))
    basis[0] = right.ravel()
    H = np.zeros((RESTART + 1, RESTART))
    Q, R, residual = np.eye(1), np.zeros((0, 0)), np.ones(1)
    for j in range(RESTART):
        w = apply(precondition(basis[j].reshape(shape))).ravel()
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            h = basis[: j + 1] @ w
            w -= h @ basis[: j + 1]
            H[: j + 1, j] += h
        H[j + 1, j] = np.linalg.norm(w)
        Q, R = scipy.linalg.qr(H[: j + 2, : j + 1])
        residual = Q[0]
        if H[j + 1, j] <= 1e-14 * np.linalg.norm(H[: j + 1, j]) or abs(residual[-1]) <= goal:
            break
        basis[j + 1] = w / H[j + 1, j]
    y = scipy.linalg.lstsq(R[: j + 1], residual[: j + 1])[0]
    return precondition((y @ basis[: j + 1]).reshape(shape)), j + 1
