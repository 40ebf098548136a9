"""The smallest and the largest return that a process can give at all."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from lincat._typing import FloatArray
from lincat._validation import check_gamma
from lincat.processes.finite import MarkovRewardProcess

__all__ = ["return_range", "return_ranges"]


def return_ranges(process: MarkovRewardProcess, gamma: float) -> FloatArray:
    """Return the (smallest, largest) return from each state, shape (S, 2).

    The largest solves g(s) = max over outcomes of r + δ g(s'): a control problem in which every
    outcome can be had, solved by policy iteration.
    """
    check_gamma(gamma)
    highest = _best_return(process, process.reward, gamma)
    lowest = -_best_return(process, -process.reward, gamma)
    return np.stack([lowest, highest], axis=1)


def return_range(process: MarkovRewardProcess, gamma: float) -> tuple[float, float]:
    """Return the smallest and the largest return from any state.

    Examples
    --------
    >>> from lincat import catalog, return_range
    >>> coin = catalog.uniform_coin()
    >>> return_range(coin.process, coin.gamma)
    (0.0, 2.0)
    """
    ranges = return_ranges(process, gamma)
    return float(ranges[:, 0].min()), float(ranges[:, 1].max())


def _best_return(process: MarkovRewardProcess, reward: FloatArray, gamma: float) -> FloatArray:
    S, starts = process.n_states, process.offsets[:-1]
    discount = process.discounts(gamma)
    choice = starts.copy()
    while True:
        chain = scipy.sparse.csc_array(
            (discount[choice], (np.arange(S), process.next_state[choice])), shape=(S, S)
        )
        best = splu(scipy.sparse.csc_array(scipy.sparse.eye_array(S) - chain)).solve(reward[choice])
        candidate = reward + discount * best[process.next_state]
        top = np.maximum.reduceat(candidate, starts)
        # Only a real gain changes the choice: rounding must not make the iteration cycle.
        gain = top > best + 1e-12 * (1.0 + np.abs(best))
        if not gain.any():
            return np.asarray(best)
        is_top = candidate == top[process.state]
        first = np.flatnonzero(is_top)[np.unique(process.state[is_top], return_index=True)[1]]
        choice = np.where(gain, first, choice)
