"""Finite Markov reward processes: what a policy makes of a decision process.

A process is a *table of outcomes*. One outcome is a row

    (state, reward, next_state, probability given the state, terminated),

so rewards may be random, and may depend on where the process goes. ``terminated`` marks outcomes
that end the episode: nothing follows, the discount is 0, and a stream of experience starts again
from the ``initial`` distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._arguments import (
    check_array,
    check_choice,
    check_flags,
    check_gamma,
    check_indices,
    check_integer,
    check_probability_groups,
    fail,
)
from lincat._room import check_room
from lincat._typing import ArrayLike, BoolArray, FloatArray, IntArray
from lincat.processes.stationary import stationary_distribution
from lincat.processes.undiscounted import return_bounds

#: How to draw: one walk, or independent transitions from the stationary distribution.
Sampling = Literal["markov", "generative"]

_DRAWN = 4  # numbers for each transition that is drawn: where it is in the table, what is there


class StateTransitions(NamedTuple):
    """Sampled transitions between state numbers, each field an array of shape (n,)."""

    state: IntArray
    reward: FloatArray
    next_state: IntArray
    terminated: BoolArray


class MarkovRewardProcess:
    """A finite Markov reward process: what the return depends on once the policy is fixed.

    Parameters
    ----------
    state, reward, next_state, probability : arrays of shape (n,)
        One row per outcome; probabilities are *given the state*, and sum to 1 for every state.
    terminated : array of bool, shape (n,), optional
        Outcomes that end the episode.
    terminal : list of states, optional
        States that end the episode when entered; they need no outcomes of their own.
    initial : array of shape (S,), optional
        Where an episode starts; needed for the stationary distribution and for walks if anything
        terminates.
    n_states : int, optional
        By default one more than the largest state mentioned.

    Examples
    --------
    >>> from lincat import MarkovRewardProcess
    >>> coin = MarkovRewardProcess(
    ...     state=[0, 0], reward=[0.0, 1.0], next_state=[0, 0], probability=[0.5, 0.5])
    >>> coin.n_states, coin.stationary
    (1, array([1.]))
    >>> coin.sample(5, seed=1).reward
    array([0., 0., 0., 1., 1.])
    """

    def __init__(
        self,
        state: ArrayLike,
        reward: ArrayLike,
        next_state: ArrayLike | None = None,
        probability: ArrayLike | None = None,
        *,
        terminated: ArrayLike | None = None,
        terminal: ArrayLike = (),
        initial: ArrayLike | None = None,
        n_states: int | None = None,
    ) -> None:
        if next_state is None or probability is None:
            raise fail(
                "MarkovRewardProcess",
                "a table of outcomes: state, reward, next_state, probability",
                "less than that",
                "of matrices, MarkovRewardProcess.from_matrices(P, R) makes one",
            )
        origin = check_indices(state, "state")
        n = len(origin)
        gain = check_array(reward, "reward", shape=(n,))
        target = check_indices(next_state, "next_state", length=n)
        chance = check_array(probability, "probability", shape=(n,))
        ends = np.zeros(n, bool) if terminated is None else check_flags(terminated, "terminated", n)
        absorbing = np.unique(check_indices(terminal, "terminal"))

        mentioned = 1 + max(int(a.max(initial=-1)) for a in (origin, target, absorbing))
        self.n_states = (
            mentioned if n_states is None else check_integer(n_states, "n_states", low=1)
        )
        if mentioned > self.n_states or n == 0:
            raise fail(
                "n_states", f"at least {max(mentioned, 1)}, the states mentioned", self.n_states
            )

        _check_described(origin, absorbing, self.n_states)
        is_terminal = np.zeros(self.n_states, bool)
        is_terminal[absorbing] = True
        ends = ends | is_terminal[target]
        # Nothing happens in a terminal state: it stays, for reward 0, and that is the end.
        alive = ~is_terminal[origin]
        origin = np.concatenate([origin[alive], absorbing])
        target = np.concatenate([target[alive], absorbing])
        gain = np.concatenate([gain[alive], np.zeros(len(absorbing))])
        chance = np.concatenate([chance[alive], np.ones(len(absorbing))])
        ends = np.concatenate([ends[alive], np.ones(len(absorbing), bool)])

        sums = sum_by(origin, chance, self.n_states)
        check_probability_groups(chance, sums, "probability", "state")
        # Sort by state, add up outcomes that are the same, and drop impossible ones.
        order = np.lexsort((ends, target, gain, origin))
        keys = (origin[order], gain[order], target[order], ends[order])
        first = np.ones(len(order), bool)
        first[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        chance = sum_by(np.cumsum(first) - 1, chance[order])
        rows = order[first][chance > 0.0]
        self.state: IntArray = origin[rows]
        self.reward: FloatArray = gain[rows]
        self.next_state: IntArray = target[rows]
        self.terminated: BoolArray = ends[rows]
        #: Probability of each outcome given its state, normalised to sum to one exactly.
        self.probability: FloatArray = chance[chance > 0.0] / sums[self.state]
        #: Outcomes of state s are rows offsets[s]:offsets[s + 1].
        self.offsets: IntArray = np.searchsorted(self.state, np.arange(self.n_states + 1))
        self.initial: FloatArray | None = None
        if initial is not None:
            start = check_array(initial, "initial", shape=(self.n_states,))
            check_probability_groups(start, np.array([start.sum()]), "initial", "distribution")
            self.initial = start / start.sum()
        for array in (self.state, self.reward, self.next_state, self.terminated, self.probability):
            array.flags.writeable = False

    @classmethod
    def from_matrices(cls, P: Any, R: ArrayLike, **options: Any) -> MarkovRewardProcess:
        """Build a process from a transition matrix and expected or per-transition rewards.

        Parameters
        ----------
        P : array or sparse matrix of shape (S, S)
            Transition probabilities, rows summing to 1.
        R : array of shape (S,) or (S, S)
            Reward for leaving a state, or for each transition.
        **options
            ``terminal``, ``initial`` as for the class.

        Examples
        --------
        >>> from lincat import MarkovRewardProcess
        >>> chain = MarkovRewardProcess.from_matrices([[0.9, 0.1], [0.5, 0.5]], [0.0, 1.0])
        >>> chain.stationary
        array([0.83333333, 0.16666667])
        """
        if not scipy.sparse.issparse(P):
            dense = check_array(P, "P", shape=(None, None))
            P = scipy.sparse.coo_array(dense)
        S = P.shape[0]
        if P.shape != (S, S):
            raise fail("P", "a square matrix", f"shape {P.shape}")
        entries = scipy.sparse.coo_array(P)
        origin, target = entries.coords
        rewards = check_array(R, "R")
        if rewards.shape == (S,):
            gain = rewards[origin]
        elif rewards.shape == (S, S):
            gain = rewards[origin, target]
        else:
            raise fail("R", f"shape ({S},) or ({S}, {S}) to match P", f"shape {rewards.shape}")
        return cls(origin, gain, target, entries.data, n_states=S, **options)

    def __repr__(self) -> str:
        return f"MarkovRewardProcess({self.n_states} states, {len(self.state)} outcomes)"

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest reward."""
        return float(self.reward.min()), float(self.reward.max())

    def invariant_range(self, gamma: float) -> tuple[float, float]:
        """Return the smallest interval that holds r + δx for every outcome and each of its x.

        A grid over it loses no mass. Without episodes that end, this is the range of rewards over
        1 − gamma, the paper's grid; a reward that ends an episode counts once, not for ever. At
        gamma = 1 there is no such interval, and this is the range of all possible returns.

        Examples
        --------
        >>> from lincat import catalog
        >>> catalog.frozen_lake().process.invariant_range(0.95)
        (0.0, 1.0)
        """
        if check_gamma(gamma, one=True) == 1.0:
            low, high = return_bounds(self)
            return float(low.min()) + 0.0, float(high.max()) + 0.0
        reach = self.reward / (1.0 - self.discounts(gamma))
        return float(reach.min()) + 0.0, float(reach.max()) + 0.0

    def discounts(self, gamma: float) -> FloatArray:
        """Return the discount of each outcome: gamma, or 0 where the episode terminates."""
        return np.where(self.terminated, 0.0, gamma)

    def transition_matrix(self) -> scipy.sparse.csr_array:
        """Return the chain of the states that a stream of experience visits, (S, S) sparse.

        An outcome that ends the episode leads to a state drawn from ``initial``.
        """
        S = self.n_states
        goes_on = ~self.terminated
        chain = scipy.sparse.csr_array(
            (self.probability[goes_on], (self.state[goes_on], self.next_state[goes_on])),
            shape=(S, S),
        )
        if not self.terminated.any():
            return chain
        ending = sum_by(self.state, self.probability * self.terminated, S)
        restart = scipy.sparse.csr_array(ending[:, None]) @ scipy.sparse.csr_array(
            self._initial_or_fail()[None, :]
        )
        return scipy.sparse.csr_array(chain + restart)

    @cached_property
    def stationary(self) -> FloatArray:
        """The stationary distribution mu, shape (S,); an error unless it is unique and reached."""
        return self.stationary_distribution()

    def stationary_distribution(self, *, allow_periodic: bool = False) -> FloatArray:
        """Return the long-run share of time spent in each state, shape (S,).

        Transient states get 0. More than one closed class is an error, and so is a periodic one
        unless ``allow_periodic``.
        """
        return stationary_distribution(self.transition_matrix(), allow_periodic=allow_periodic)

    def sample(self, n: int, *, seed: int = 0, kind: Sampling = "markov") -> StateTransitions:
        """Draw n transitions.

        Parameters
        ----------
        n : int
        seed : int
            Of a Philox generator: the same seed gives the same transitions on every machine.
        kind : "markov" or "generative"
            One walk, started in the stationary distribution (from ``initial`` if episodes end); or
            independent transitions, each from a state drawn from the stationary distribution.

        Returns
        -------
        StateTransitions
            Arrays ``state``, ``reward``, ``next_state``, ``terminated`` of shape (n,).
        """
        return self._rows(self.sample_outcomes(n, seed=seed, kind=kind))

    def sample_outcomes(self, n: int, *, seed: int = 0, kind: Sampling = "markov") -> IntArray:
        """Draw the same n transitions as :meth:`sample`, as rows of the table of outcomes."""
        return next(self._stream(n, seed, kind, None), np.empty(0, np.int64))

    def stream(
        self, n: int, *, seed: int = 0, kind: Sampling = "markov", chunk: int | None = None
    ) -> Iterator[StateTransitions]:
        """Yield the same n transitions as :meth:`sample`, in chunks, in bounded memory."""
        return map(self._rows, self._stream(n, seed, kind, chunk))

    def _stream(self, n: int, seed: int, kind: Sampling, chunk: int | None) -> Iterator[IntArray]:
        n = check_integer(n, "n", low=0)
        whole = chunk is None
        size = max(n if chunk is None else min(n, check_integer(chunk, "chunk", low=1)), 1)
        remedy = "stream(n, chunk=...) takes them in pieces" if whole else "take smaller pieces"
        check_room(_DRAWN * size, "n" if whole else "chunk", size, remedy)
        check_choice(kind, "kind", get_args(Sampling))
        # One stream of random numbers per purpose, so that chunks of any size draw alike.
        states, outcomes, restarts = (
            np.random.Generator(np.random.Philox(s))
            for s in np.random.SeedSequence(check_integer(seed, "seed", low=0)).spawn(3)
        )
        cumulative, restart_cumulative = self._cumulative, np.ones(1)
        episodic = bool(self.terminated.any())
        if episodic:
            restart_cumulative = _cumulate(self._initial_or_fail())
        start = 0
        if kind == "generative" or not episodic:
            state_cumulative = _cumulate(self.stationary)
        if kind == "markov":
            first = restart_cumulative if episodic else state_cumulative
            start = int(np.searchsorted(first, states.random(), side="right"))
        for begin in range(0, n, size):
            m = min(size, n - begin)
            index = np.empty(m, np.int64)
            uniform = outcomes.random(m)
            if kind == "generative":
                drawn = np.searchsorted(state_cumulative, states.random(m), side="right")
                kernels.sampling.draw_outcomes(index, drawn, self.offsets, cumulative, uniform)
            else:
                restart = restarts.random(m if episodic else 0)
                start = kernels.sampling.walk(
                    index,
                    start,
                    self.offsets,
                    cumulative,
                    self.next_state,
                    self.terminated,
                    restart_cumulative,
                    uniform,
                    restart,
                )
            yield index

    def _rows(self, index: IntArray) -> StateTransitions:
        return StateTransitions(
            self.state[index], self.reward[index], self.next_state[index], self.terminated[index]
        )

    @cached_property
    def _cumulative(self) -> FloatArray:
        """Cumulative probabilities of the outcomes within each state."""
        total = np.cumsum(self.probability)
        before = np.concatenate([[0.0], total])[self.offsets[self.state]]
        cumulative: FloatArray = total - before
        cumulative[self.offsets[1:] - 1] = 1.0
        return cumulative

    def _initial_or_fail(self) -> FloatArray:
        if self.initial is None:
            raise fail(
                "initial",
                "a distribution of start states, because episodes end",
                "none",
                "pass initial= when you build the process",
            )
        return self.initial


def _check_described(origin: IntArray, absorbing: IntArray, n_states: int) -> None:
    """Refuse states without outcomes, before anything has the size of the largest of them."""
    known = np.unique(np.concatenate([origin, absorbing]))
    if len(known) < n_states:
        gaps = np.flatnonzero(known != np.arange(len(known)))
        missing = int(gaps[0]) if len(gaps) else len(known)
        raise fail(
            "probability",
            "a sum of 1 for every state",
            f"0 for state {missing}",
            f"outcomes name {len(known):,} of {n_states:,} states, which are numbered from 0",
        )


def sum_by(index: IntArray, values: FloatArray, size: int = 0) -> FloatArray:
    """Add up the values of each index."""
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)


def _cumulate(distribution: FloatArray) -> FloatArray:
    """Cumulative probabilities whose last positive entry is exactly 1."""
    cumulative = np.cumsum(distribution)
    cumulative[np.flatnonzero(distribution)[-1] :] = 1.0
    return cumulative
