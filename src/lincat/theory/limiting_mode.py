"""Why noise lowers the largest step: the mode of the mean update that grows first.

At the largest noise-free step alpha one eigenvalue λ of Ā has |1 − alpha λ| = 1. Noise adds, to
first order in 1/B, the share

    alpha² (E|uᴴ A v|² − |λ|²) / B,        uᴴ v = 1,

of the second moment of that mode in each update, u and v its left and right eigenvectors. The
largest step in mean square is lower by this over the rate 2 alpha Re(λ) at which |1 − alpha λ|²
grows with the logarithm of alpha. It is large where the eigenvalue is ill conditioned, ‖u‖‖v‖ ≫ 1:
on the paper's process that is so at K = 375, where a pair of complex eigenvalues comes first, and
at none of the other K of its tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from lincat._arguments import check_gamma, check_integer, fail
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.bellman import bellman_target
from lincat.core.grid import Grid
from lincat.processes.finite import MarkovRewardProcess
from lincat.theory.mean_update import mean_update

_LARGEST = 3000  # unknowns up to which Ā is written down


@dataclass(frozen=True)
class LimitingMode:
    """The mode that grows first when the step of Linear-CTD is too large.

    Attributes
    ----------
    eigenvalue : complex
        λ of Ā.
    limit : float
        The largest noise-free step, twice the real part of λ over its squared size.
    condition : float
        Of the eigenvalue: norms of its left and right eigenvector over their product, 1 for a
        normal matrix.
    lowered : float
        The share by which noise lowers the limit in mean square, to first order.
    """

    eigenvalue: complex
    limit: float
    condition: float
    lowered: float


def limiting_mode(
    process: MarkovRewardProcess, Phi: FeatureMatrix, grid: Grid, gamma: float, batch_size: int = 1
) -> LimitingMode:
    """Return the mode that limits the step, and what noise does to it.

    Examples
    --------
    >>> from lincat import catalog, max_step_size
    >>> from lincat.theory.limiting_mode import limiting_mode
    >>> p = catalog.paper()
    >>> mode = limiting_mode(p.process, p.Phi, p.grid(30), p.gamma, batch_size=25)
    >>> in_mean_square = max_step_size(p.process, p.Phi, p.grid(30), p.gamma, 25)
    >>> round(mode.lowered, 4), round(1.0 - in_mean_square / mode.limit, 4)
    (0.0006, 0.0008)
    """
    batch_size = check_integer(batch_size, "batch_size", low=1)
    update = mean_update(process, Phi, grid, check_gamma(gamma))
    if len(update.matrix) > _LARGEST:
        raise fail("grid", f"at most {_LARGEST} unknowns d * K", len(update.matrix), "fewer atoms")
    values, left, right = scipy.linalg.eig(update.matrix, left=True)
    limits = 2.0 * values.real / np.abs(values) ** 2
    worst = int(np.argmin(limits))
    value, u, v = values[worst], left[:, worst], right[:, worst]
    product = np.vdot(u, v)
    d, K = update.shape
    rows = update.Phi @ v.reshape(d, K)
    moves = rows[process.state] - _pushed(rows[process.next_state], process, grid, gamma)
    along = update.Phi[process.state] @ u.reshape(d, K).conj()
    chance = process.stationary[process.state] * process.probability
    second = float(chance @ np.abs((along * moves).sum(axis=1) / product) ** 2)
    alpha = float(limits[worst])
    growth = alpha**2 * (second - abs(value) ** 2) / batch_size
    return LimitingMode(
        eigenvalue=complex(value),
        limit=alpha,
        condition=float(np.linalg.norm(u) * np.linalg.norm(v) / abs(product)),
        lowered=float(growth / (2.0 * alpha * value.real)),
    )


def _pushed(rows: FloatArray, process: MarkovRewardProcess, grid: Grid, gamma: float) -> FloatArray:
    """B(r) times complex rows, one for each outcome: what is linear in a target."""
    discount = process.discounts(gamma)
    zero = bellman_target(np.zeros(rows.shape), process.reward, discount, grid)
    parts = (
        bellman_target(np.ascontiguousarray(part), process.reward, discount, grid) - zero
        for part in (rows.real, rows.imag)
    )
    real, imaginary = parts
    return np.asarray(real + 1j * imaginary)
