"""A policy-evaluation problem: a process with its features, its discount factor and a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lincat._arguments import check_features, check_gamma, check_integer, fail
from lincat._typing import FeatureMatrix
from lincat.core.grid import Grid
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.undiscounted import check_ends, undiscounted_grid


@dataclass(frozen=True)
class Problem:
    """What one wants to know: the return distribution of a process, discounted by gamma.

    Parameters
    ----------
    name : str
    process : MarkovRewardProcess
    gamma : float
        The discount factor, in [0, 1]; 1 if episodes end from every state.
    Phi : array or CSR matrix of shape (S, d), optional
        One row of features per state; one-hot (a table) by default.
    state_names : sequence of str, optional
        By default the states' numbers.
    note : str, optional
        Where the problem is from.
    """

    name: str
    process: MarkovRewardProcess
    gamma: float
    Phi: FeatureMatrix = None
    state_names: Sequence[str] = ()
    note: str = ""

    def __post_init__(self) -> None:
        S = self.process.n_states
        if check_gamma(self.gamma, one=True) == 1.0:
            check_ends(self.process)
        Phi = scipy.sparse.eye_array(S, format="csr") if self.Phi is None else self.Phi
        object.__setattr__(self, "Phi", check_features(Phi, "features", rows=S))
        names = tuple(self.state_names) or tuple(str(s) for s in range(S))
        if len(names) != S:
            raise fail("states", f"{S} names, one per state", f"{len(names)} names")
        object.__setattr__(self, "state_names", names)

    def grid(self, intervals: int) -> Grid:
        """Return a grid that loses no mass (``MarkovRewardProcess.invariant_range``).

        Without episodes that end it is the paper's, the range of rewards over 1 - gamma. A return
        that is certain gets a grid around it. At gamma = 1 it is the range of all possible returns,
        with room for what projection adds.
        """
        if self.gamma == 1.0:
            return undiscounted_grid(self.process, check_integer(intervals, "intervals", low=1))
        low, high = self.process.invariant_range(self.gamma)
        margin = 0.0 if low < high else max(1.0, abs(low)) / 2.0
        return Grid(low - margin, high + margin, intervals)

    @property
    def is_tabular(self) -> bool:
        """Whether every state has a feature of its own, and nothing else."""
        if self.Phi.shape[0] != self.Phi.shape[1]:
            return False
        identity = scipy.sparse.eye_array(self.Phi.shape[0], format="csr")
        return bool(np.abs(scipy.sparse.csr_array(self.Phi) - identity).max() == 0.0)
