"""Simulating a problem in plain NumPy: logs for learners, and the true returns to judge them by.

A problem is a Markov chain over states, rows of numbers of shape (n, m): n walkers are stepped
together. Nothing here knows anything of lincat's algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lincat._typing import BoolArray, FloatArray, IntArray

Random: TypeAlias = np.random.Generator
#: Draws n states in which a record begins, shape (n, m).
Restart: TypeAlias = Callable[[int, Random], FloatArray]


class Moved(NamedTuple):
    """What one step of n walkers gives: rewards (n,), next states (n, m), what terminated (n,)."""

    reward: FloatArray
    state: FloatArray
    terminated: BoolArray


#: Moves n walkers on by a step; states have shape (n, m).
Step: TypeAlias = Callable[[FloatArray, Random], Moved]

_NEGLIGIBLE = 1e-5  # gamma^h from which on nothing counts
_MOST_STEPS = 1_000_000  # of an episode with gamma = 1; more would be an error in the problem


def never(state: FloatArray) -> BoolArray:
    """What terminates where nothing ever does, shape (n,)."""
    return np.zeros(len(state), bool)


@dataclass(frozen=True)
class Log:
    """Transitions in order of time, record after record."""

    observation: FloatArray  # (n, m)
    reward: FloatArray  # (n,)
    following: FloatArray  # (n, m)
    terminated: BoolArray  # (n,)
    last: BoolArray  # (n,): the record ends with this row, because it terminated or broke off

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def record(self) -> IntArray:
        """The number of each row's record, from 0, shape (n,)."""
        return np.concatenate([[0], np.cumsum(self.last[:-1])]).astype(np.int64)

    @property
    def step(self) -> IntArray:
        """The number of each row within its record, from 0, shape (n,)."""
        begins = np.flatnonzero(np.concatenate([[True], self.last[:-1]]))
        steps: IntArray = np.arange(len(self)) - begins[self.record]
        return steps

    def longest_first(self) -> Log:
        """Return the same records, the longest first: what ends records early comes late."""
        length = np.bincount(self.record)
        order = np.lexsort((np.arange(len(self)), self.record, -length[self.record]))
        return Log(
            self.observation[order],
            self.reward[order],
            self.following[order],
            self.terminated[order],
            self.last[order],
        )


def simulate(
    start: Restart,
    step: Step,
    n_rows: int,
    rng: Random,
    *,
    walkers: int = 1,
    limit: int | None = None,
) -> Log:
    """Return a log of ``n_rows`` transitions, made by walkers that begin again where they end.

    Parameters
    ----------
    start, step
        The problem.
    walkers : int
        How many walk at the same time; their records follow each other in the log.
    limit : int, optional
        A record breaks off after so many steps, as by a time limit.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.truth.simulation import Moved, simulate
    >>> def start(n, rng):
    ...     return np.zeros((n, 1))
    >>> def step(state, rng):
    ...     return Moved(state[:, 0], state + 1.0, state[:, 0] == 2.0)
    >>> log = simulate(start, step, 5, np.random.default_rng(0))
    >>> log.reward, log.record, log.step
    (array([0., 1., 2., 0., 1.]), array([0, 0, 0, 1, 1]), array([0, 1, 2, 0, 1]))
    """
    length = -(-n_rows // walkers)
    state = start(walkers, rng)
    observation = np.empty((length, *state.shape))
    following = np.empty_like(observation)
    reward = np.empty((length, walkers))
    terminated = np.empty((length, walkers), bool)
    last = np.empty((length, walkers), bool)
    age = np.zeros(walkers, np.int64)
    for t in range(length):
        moved = step(state, rng)
        age += 1
        ends = moved.terminated if limit is None else moved.terminated | (age >= limit)
        observation[t], following[t] = state, moved.state
        reward[t], terminated[t], last[t] = moved.reward, moved.terminated, ends
        state = moved.state
        if ends.any():
            state = np.where(ends[:, None], start(walkers, rng), state)
            age[ends] = 0
    last[-1] = True

    def in_order(values: Any) -> Any:
        return np.swapaxes(values, 0, 1).reshape(-1, *values.shape[2:])[:n_rows]

    ended = in_order(last).copy()
    ended[-1] = True
    return Log(
        in_order(observation), in_order(reward), in_order(following), in_order(terminated), ended
    )


def known_returns(
    log: Log, gamma: float, residual: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the discounted rewards to the end of the record, the weight of what is not known.

    Parameters
    ----------
    log : Log of n rows
    gamma : float
    residual : float
        A return is *known* if what came after its record weighs at most this: gamma^h after h
        more steps of a record that breaks off, 0 where the record terminated.

    Returns
    -------
    returns : array of shape (n,)
    weight : array of shape (n,)
        What the return after the end of the record is to be multiplied with.
    known : array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.truth.simulation import Log, known_returns
    >>> points, flags = np.zeros((3, 1)), np.array([False, False, True])
    >>> log = Log(points, np.array([1.0, 2.0, 4.0]), points, ~flags & flags, flags)
    >>> known_returns(log, 0.5, residual=0.2)
    (array([3., 4., 4.]), array([0.125, 0.25 , 0.5  ]), array([ True, False, False]))
    """
    returns, weight = np.empty(len(log)), np.empty(len(log))
    sum_, left = 0.0, 0.0
    rewards, last, terminated = log.reward.tolist(), log.last.tolist(), log.terminated.tolist()
    for t in range(len(log) - 1, -1, -1):
        if last[t]:
            sum_, left = 0.0, 0.0 if terminated[t] else 1.0
        sum_ = rewards[t] + gamma * sum_
        left *= gamma
        returns[t], weight[t] = sum_, left
    return returns, weight, weight <= residual


def simulate_returns(step: Step, states: FloatArray, gamma: float, rng: Random) -> FloatArray:
    """Return one return from each state, simulated until nothing more counts.

    That is until gamma^h is below 1e-5, or all have terminated.

    Parameters
    ----------
    states : array of shape (n, m)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.truth.simulation import Moved, simulate_returns
    >>> def step(state, rng):
    ...     return Moved(state[:, 0], state + 1.0, state[:, 0] == 2.0)
    >>> simulate_returns(step, np.array([[0.0], [2.0]]), 0.5, np.random.default_rng(0))
    array([1., 2.])
    """
    most = _MOST_STEPS if gamma == 1.0 else math.ceil(math.log(_NEGLIGIBLE) / math.log(gamma))
    returns = np.zeros(len(states))
    walking, state, discount = np.arange(len(states)), states, 1.0
    for _ in range(most):
        if not len(walking):
            return returns
        moved = step(state, rng)
        returns[walking] += discount * moved.reward
        discount *= gamma
        going = ~moved.terminated
        state = moved.state
        if not going.all():
            walking, state = walking[going], state[going]
    if gamma == 1.0 and len(walking):
        raise RuntimeError(f"an episode did not end within {_MOST_STEPS} steps")
    return returns
