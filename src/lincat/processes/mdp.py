"""Finite Markov decision processes, which a policy turns into Markov reward processes."""

from __future__ import annotations

import numpy as np

from lincat._arguments import (
    check_array,
    check_flags,
    check_indices,
    check_integer,
    check_probability_groups,
    fail,
)
from lincat._typing import ArrayLike, IntArray
from lincat.processes.finite import MarkovRewardProcess, sum_by


class FiniteMDP:
    """A finite Markov decision process as a table of outcomes of (state, action).

    Parameters
    ----------
    state, action, reward, next_state, probability : arrays of shape (n,)
        One row per outcome; probabilities are given the state *and* the action.
    terminated, terminal, initial, n_states
        As for :class:`MarkovRewardProcess`.
    n_actions : int, optional
        By default one more than the largest action mentioned.

    Examples
    --------
    >>> from lincat import FiniteMDP
    >>> mdp = FiniteMDP(
    ...     state=[0, 0], action=[0, 1], reward=[0.0, 1.0], next_state=[0, 0], probability=[1, 1])
    >>> mdp.under([[0.25, 0.75]]).probability
    array([0.25, 0.75])
    """

    def __init__(
        self,
        state: ArrayLike,
        action: ArrayLike,
        reward: ArrayLike,
        next_state: ArrayLike,
        probability: ArrayLike,
        *,
        terminated: ArrayLike | None = None,
        terminal: ArrayLike = (),
        initial: ArrayLike | None = None,
        n_states: int | None = None,
        n_actions: int | None = None,
    ) -> None:
        self.state = check_indices(state, "state")
        n = len(self.state)
        self.action = check_indices(action, "action", length=n)
        self.reward = check_array(reward, "reward", shape=(n,))
        self.next_state = check_indices(next_state, "next_state", length=n)
        self.probability = check_array(probability, "probability", shape=(n,))
        flags = np.zeros(n) if terminated is None else terminated
        self.terminated, self.initial = check_flags(flags, "terminated", n), initial
        self.terminal = check_indices(terminal, "terminal")
        mentioned = np.concatenate([self.state, self.next_state, self.terminal])
        self.n_states = _count(mentioned, n_states, "n_states")
        self.n_actions = _count(self.action, n_actions, "n_actions")

        # Only pairs that have outcomes: a number may be large without being one of many.
        (states, row), (actions, column) = (
            np.unique(x, return_inverse=True) for x in (self.state, self.action)
        )
        pairs, which = np.unique(row * len(actions) + column, return_inverse=True)
        self._described = states[pairs // len(actions)], actions[pairs % len(actions)]
        check_probability_groups(
            self.probability,
            sum_by(which, self.probability),
            "probability",
            "state-action pair",
            name=self._number_of_pair,
        )

    def __repr__(self) -> str:
        return (
            f"FiniteMDP({self.n_states} states, {self.n_actions} actions, "
            f"{len(self.state)} outcomes)"
        )

    def _number_of_pair(self, i: int) -> int:
        state, action = (int(x[i]) for x in self._described)
        return state * self.n_actions + action

    def under(self, policy: ArrayLike) -> MarkovRewardProcess:
        """Return the Markov reward process that a policy, an array of shape (S, A), makes."""
        pi = check_array(policy, "policy", shape=(self.n_states, self.n_actions))
        check_probability_groups(pi, pi.sum(axis=1), "policy", "state")
        playable = np.zeros(pi.shape, dtype=bool)
        playable[self._described] = True
        playable[self.terminal] = True
        if (pi[~playable] > 0.0).any():
            s, a = (int(i) for i in np.argwhere((pi > 0.0) & ~playable)[0])
            raise fail(
                "policy",
                "probability only on actions that have outcomes",
                f"{pi[s, a]:g} on action {a} in state {s}",
                "add its outcomes to the table or set the probability to 0",
            )
        return MarkovRewardProcess(
            self.state,
            self.reward,
            self.next_state,
            self.probability * pi[self.state, self.action],
            terminated=self.terminated,
            terminal=self.terminal,
            initial=self.initial,
            n_states=self.n_states,
        )


def _count(mentioned: IntArray, given: int | None, argument: str) -> int:
    return max(1 + int(mentioned.max(initial=-1)), check_integer(given or 1, argument, low=1))
