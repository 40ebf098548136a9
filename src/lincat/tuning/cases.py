"""Random processes with random features: what the automatic step size is tried on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix
from lincat.processes import catalog
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.problem import Problem

_GAMMAS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99)
_Rng = np.random.Generator


def random_case(number: int, seed: int) -> tuple[Problem, int]:
    """Return a problem, named by how it moves and its features, and a number of intervals.

    Twenty-four in a row have every gamma with every kind of features, on processes that move in one
    of three ways; their sizes are random.

    Examples
    --------
    >>> from lincat.tuning.cases import random_case
    >>> problem, intervals = random_case(4, seed=0)
    >>> problem.name, problem.gamma, problem.Phi.shape, intervals
    ('line, dense', 0.95, (70, 11), 20)
    """
    rng = np.random.default_rng([seed, number])
    move = list(_PROCESSES)[number // 3 % len(_PROCESSES)]
    kind = list(_FEATURES)[number % len(_FEATURES)]
    states, intervals = _between(rng, 5, 100), _between(rng, 10, 200)
    process = _PROCESSES[move](rng, states)
    Phi = _FEATURES[kind](rng, states)
    gamma = _GAMMAS[number % len(_GAMMAS)]
    return Problem(f"{move}, {kind}", process, gamma, Phi), intervals


def _between(rng: _Rng, low: int, high: int) -> int:
    """A size, small ones as likely as large ones."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


# ------------------------------------------------------------------------------------- processes


def _jumps(rng: _Rng, states: int) -> MarkovRewardProcess:
    """From each state to a few others anywhere: soon forgotten."""
    branching, seed = int(rng.integers(2, 6)), int(rng.integers(2**31))
    return catalog.random_process(states, branching=branching, seed=seed).process


def _line(rng: _Rng, states: int) -> MarkovRewardProcess:
    """Up to three places to the left or right, with a drift that varies: slowly forgotten."""
    return MarkovRewardProcess(*_moves(rng, states))


def _episodes(rng: _Rng, states: int) -> MarkovRewardProcess:
    """The same, ending at either end and beginning in the middle."""
    initial = np.zeros(states)
    initial[states // 2] = 1.0
    return MarkovRewardProcess(*_moves(rng, states), terminal=[0, states - 1], initial=initial)


def _moves(rng: _Rng, states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """State, reward, next state and probability of each outcome of a process on a line."""
    far = int(rng.integers(1, 4))
    moves = np.arange(-far, far + 1)
    state = np.repeat(np.arange(states), len(moves))
    ahead = np.clip(np.arange(states)[:, None] + moves, 0, states - 1).ravel()
    drawn = rng.dirichlet(np.ones(len(moves)), size=states)
    probability = (0.8 * drawn + 0.2 / len(moves)).ravel()
    reward = 0.7 * rng.random(states)[state] + 0.3 * rng.random(len(state))
    return state, reward, ahead, probability


_PROCESSES: dict[str, Callable[[_Rng, int], MarkovRewardProcess]] = {
    "jumps": _jumps,
    "line": _line,
    "episodes": _episodes,
}


# -------------------------------------------------------------------------------------- features


def _table(rng: _Rng, states: int) -> None:
    return None


def _dense(rng: _Rng, states: int) -> FeatureMatrix:
    """An intercept and Gaussian directions, at most 24 in all."""
    d = int(rng.integers(2, min(states, 24) + 1))
    return np.concatenate([np.ones((states, 1)), rng.normal(size=(states, d - 1))], axis=1)


def _tiles(rng: _Rng, states: int) -> FeatureMatrix:
    """Two to five tilings of the states in a row, shifted against each other."""
    width = int(rng.integers(2, max(3, states // 4)))
    tilings = []
    for _ in range(int(rng.integers(2, 6))):
        tile = (np.arange(states) + rng.integers(width)) // width
        tilings.append(scipy.sparse.eye_array(int(tile[-1]) + 1, format="csr")[tile])
    return scipy.sparse.hstack(tilings, format="csr")


_FEATURES: dict[str, Callable[[_Rng, int], FeatureMatrix | None]] = {
    "table": _table,
    "dense": _dense,
    "tiles": _tiles,
}
