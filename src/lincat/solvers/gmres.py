"""GMRES with a preconditioner on the right: Saad and Schultz (1986).

The residual that it watches is that of the equation itself, and every restart computes it again, so
that a preconditioner of any precision leads to the answer in full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from lincat._typing import FloatArray

_RESTART = 80
_LIMIT = 2000
# A cycle asks for no more than this: beyond it the residual that GMRES carries along is rounding.
_REDUCTION = 1e-9


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
    residual: the caller reads ``residual``.

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
        goal = max(0.5 * tolerance * scale / norm, _REDUCTION)
        step, used = _cycle(apply, precondition, left / norm, goal)
        candidate = x + norm * step
        left = right - apply(candidate)
        iterations += used
        left_norm = float(np.linalg.norm(left))
        if not left_norm < norm:
            break  # rounding, or a matrix that is singular
        stalls, norm, x = left_norm > 0.9 * norm, left_norm, candidate
        if stalls:
            break
    return GmresResult(x, norm / scale, iterations)


def _cycle(
    apply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    goal: float,
) -> tuple[FloatArray, int]:
    """Return the step of one cycle for a right-hand side of norm 1, and its length."""
    shape = right.shape
    basis = np.empty((_RESTART + 1, right.size))
    basis[0] = right.ravel()
    H = np.zeros((_RESTART + 1, _RESTART))
    Q, R, residual = np.eye(1), np.zeros((0, 0)), np.ones(1)
    for j in range(_RESTART):
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
