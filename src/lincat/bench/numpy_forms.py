"""NumPy, one transition at a time: a good form without K x K matrices, and the paper's, literal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lincat._typing import FloatArray
from lincat.bench.cases import GAMMA, Case, Data
from lincat.bench.contender import Contender


def contenders(data: Data) -> list[Contender]:
    """Return "NumPy good" and "NumPy literal", on fewer transitions: they are slow."""
    case, batch = data.case, data.case.batch
    if batch > 1:
        return [_contender("NumPy good", _good_batches, data, 20 * batch)]
    literal = max(3, int(1e6 / case.K**2))
    return [
        _contender("NumPy good", _good, data, 500),
        _contender("NumPy literal", _literal, data, literal),
    ]


def _contender(
    label: str, function: Callable[[FloatArray, Data], None], data: Data, count: int
) -> Contender:
    part = data.first(min(count, len(data)))
    Theta = np.zeros((data.case.d, data.case.K))
    return Contender(label, lambda: function(Theta, part), len(part), lambda: Theta)


def _read(case: Case, Theta: FloatArray, phi: Any) -> FloatArray:
    """phi·Theta."""
    if case.kind == "dense":
        return np.asarray(phi @ Theta)
    return np.asarray(Theta[phi] if case.kind == "states" else case.value * Theta[phi].sum(axis=0))


def _subtract(
    case: Case, Theta: FloatArray, phi: Any, error: FloatArray, space: FloatArray
) -> None:
    """Theta -= phi ⊗ error."""
    if case.kind == "dense":
        Theta -= np.multiply(phi[:, None], error, out=space)
    elif case.kind == "states":
        Theta[phi] -= error
    else:
        Theta[phi] -= case.value * error


def _good(Theta: FloatArray, data: Data) -> None:
    """The target by prefix sums, which np.interp reads: every operation is O(K) or O(dK)."""
    case, K = data.case, data.case.K
    offset, k = np.arange(1, K + 1) / (K + 1), np.arange(K + 1.0)
    H, space = np.zeros(K + 1), np.empty(Theta.shape if case.kind == "dense" else 0)
    for t in range(len(data)):
        delta = data.delta[t]
        np.cumsum(_read(case, Theta, data.phi_next[t]) + offset, out=H[1:])
        u = k - data.rho[t]
        u /= delta
        at = np.interp(u, k, H)
        at += np.maximum(u - K, 0.0)
        error = _read(case, Theta, data.phi[t]) + offset
        error -= delta * (at[1:] - at[:-1])
        error *= data.step[t]
        _subtract(case, Theta, data.phi[t], error, space)


def _good_batches(Theta: FloatArray, data: Data) -> None:
    """Mini-batches by matrix products."""
    K, batch = data.case.K, data.case.batch
    offset, k = np.arange(1, K + 1) / (K + 1), np.arange(K + 1)
    for first in range(0, len(data), batch):
        b = slice(first, first + batch)
        delta = data.delta[b, None]
        ahead = data.phi_next[b] @ Theta + offset
        H = np.zeros((len(ahead), K + 1))
        np.cumsum(ahead, axis=1, out=H[:, 1:])
        u = (k - data.rho[b, None]) / delta
        m = np.clip(np.floor(u).astype(int), 0, K - 1)
        at = np.take_along_axis(H, m, 1)
        at += (np.clip(u, 0, K) - m) * np.take_along_axis(ahead, m, 1)
        at += np.maximum(u - K, 0.0)
        error = data.phi[b] @ Theta + offset - delta * np.diff(at, axis=1)
        Theta -= data.phi[b].T @ (data.step[b, None] * error)


def _literal(Theta: FloatArray, data: Data) -> None:
    """Eq. (linear_CTD) as it is printed: C, C⁻¹, g_j(r), G̃(r), all as matrices."""
    case, K, atoms = data.case, data.case.K, data.grid.atoms
    C = np.tril(np.ones((K, K)))
    C_inverse = np.linalg.inv(C)
    space = np.empty(Theta.shape if case.kind == "dense" else 0)
    for t in range(len(data)):
        pushed = data.reward[t] + GAMMA * atoms
        distance = np.abs(pushed[:, None] - atoms[None, :]) / data.grid.spacing
        g = np.maximum(1.0 - distance, 0.0)  # g[j, k]
        G_tilde = g[:K, :K].T - g[K, :K][:, None]
        B = C @ G_tilde @ C_inverse
        b = C @ (g[:, :K].sum(axis=0) - 1.0) / (K + 1)
        row, ahead = (_read(case, Theta, phi[t]) for phi in (data.phi, data.phi_next))
        _subtract(case, Theta, data.phi[t], data.step[t] * (row - B @ ahead - b), space)
