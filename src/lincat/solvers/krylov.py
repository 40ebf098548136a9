"""Solving x − A x = b where A is a contraction that can only be applied, not written down."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, bicgstab, gmres

from lincat._typing import FloatArray

# Products with A before the true residual is computed again, and how often that may happen.
_CYCLE = 60
_CYCLES = 500
_SEEN = 10  # of those, after which their pace is looked at
_GMRES = {"restart": _CYCLE // 2, "maxiter": 2}


class ConvergenceError(RuntimeError):
    """An iteration did not reach its fixed point."""


def solve_contraction(
    apply: Callable[[FloatArray], FloatArray], offset: FloatArray, *, tolerance: float
) -> FloatArray:
    """Return x with ‖x − apply(x) − offset‖ <= tolerance * ‖offset‖, of the shape of ``offset``.

    Short runs of BiCGSTAB (a handful of vectors of memory) on the true residual, so rounding does
    not pile up; where a run fails to help, which BiCGSTAB may, one of GMRES takes its place.
    """
    shape, size = offset.shape, offset.size
    scale = float(np.linalg.norm(offset))
    if scale == 0.0:
        return np.zeros(shape)
    operator = LinearOperator(
        (size, size), lambda v: v - apply(v.reshape(shape)).ravel(), dtype=np.float64
    )
    x = offset.ravel().copy()  # one step of the fixed-point iteration from zero
    residual = offset.ravel() - operator @ x
    norm = float(np.linalg.norm(residual))
    first = norm
    for cycle in range(_CYCLES):
        if norm <= tolerance * scale:
            return x.reshape(shape)
        # A run may do little, but ten of them show a pace at which the limit will do, or not.
        if cycle >= _SEEN and norm / first > (tolerance * scale / first) ** (cycle / _CYCLES):
            break
        reduction = max(0.1 * tolerance * scale / norm, 1e-3)
        for method, options in ((bicgstab, {"maxiter": _CYCLE // 2}), (gmres, _GMRES)):
            step, _ = method(operator, residual, rtol=reduction, **options)
            candidate = x + step
            left = offset.ravel() - operator @ candidate
            left_norm = float(np.linalg.norm(left))
            if left_norm < norm:
                break
        else:
            break  # neither helps: rounding, or no contraction
        x, residual, norm = candidate, left, left_norm
    raise ConvergenceError(
        f"the fixed point was not reached: relative residual {norm / scale:.3g}, wanted "
        f"{tolerance:.3g}; with weights= other than the stationary distribution the equation need "
        "not be a contraction"
    )
