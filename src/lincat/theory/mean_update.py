"""Ā of Linear-CTD written down, for sizes at which that is the simplest thing to do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse

from lincat._arguments import check_features
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.processes.expected_bellman import ExpectedBellman
from lincat.processes.finite import MarkovRewardProcess


@dataclass(frozen=True)
class MeanUpdate:
    """Ā as a matrix of size dK, θ stacking the rows of Theta (d, K).

    Attributes
    ----------
    Phi : array of shape (S, d)
    Sigma : array of shape (d, d)
    matrix : array of shape (dK, dK)
    """

    Phi: FloatArray
    Sigma: FloatArray
    matrix: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """(d, K)."""
        d = self.Phi.shape[1]
        return d, len(self.matrix) // d

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        lu, pivots = scipy.linalg.lu_factor(self.matrix)
        return lu, pivots

    def solve(self, rows: FloatArray) -> FloatArray:
        """Return Ā⁻¹ x for each row x of shape (n, d, K)."""
        flat = rows.reshape(len(rows), -1)
        return np.asarray(scipy.linalg.lu_solve(self._factors, flat.T).T.reshape(rows.shape))


def mean_update(
    process: MarkovRewardProcess, Phi: FeatureMatrix, grid: Grid, gamma: float
) -> MeanUpdate:
    """Return Ā: Sigma Theta − E[phi phi'ᵀ Theta B(r)ᵀ], one column for each unit of Theta."""
    features = check_features(Phi, "Phi", rows=process.n_states)
    dense = features.toarray() if scipy.sparse.issparse(features) else np.asarray(features)
    mu, K = process.stationary, grid.intervals
    d = dense.shape[1]
    bellman = ExpectedBellman(process, grid, gamma)
    matrix = np.empty((d * K, d * K))
    # Unit k of feature i moves the rows of all states: row s by phi_i(s) at atom k.
    for i in range(d):
        for k in range(K):
            rows = np.zeros((process.n_states, K))
            rows[:, k] = dense[:, i]
            change = (rows - bellman.linear(rows)) * mu[:, None]
            matrix[:, i * K + k] = (dense.T @ change).ravel()
    return MeanUpdate(dense, (dense * mu[:, None]).T @ dense, matrix)
