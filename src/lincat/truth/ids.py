"""Problems whose observations are ids: few states, each with its own name."""

from __future__ import annotations

import numpy as np

from lincat._typing import ArrayLike, FloatArray, IntArray
from lincat.truth.problem import Layout, Problem
from lincat.truth.simulation import Moved, Random, Restart, never

_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Chain:
    """Draws the next state of a finite chain from its transition matrix, shape (S, S)."""

    def __init__(self, matrix: ArrayLike) -> None:
        probabilities = np.asarray(matrix, float)
        self._cumulative = np.cumsum(probabilities / probabilities.sum(1, keepdims=True), axis=1)

    def __call__(self, ids: IntArray, rng: Random) -> FloatArray:
        """Return the next states of n walkers, shape (n, 1)."""
        draw = rng.random(len(ids))[:, None]
        following: FloatArray = (draw >= self._cumulative[ids, :-1]).sum(1, dtype=np.float64)
        return following[:, None]


def _begin_at(state: int) -> Restart:
    return lambda n, rng: np.full((n, 1), float(state))


def _begin_in(n_states: int) -> Restart:
    return lambda n, rng: rng.integers(0, n_states, (n, 1)).astype(float)


def _ids(state: FloatArray) -> IntArray:
    return state[:, 0].astype(np.int64)


_HEAVY = Chain(0.5 * np.eye(5) + 0.4 * np.roll(np.eye(5), 1, axis=1) + 0.02)
_HEAVY_MEAN = np.array([2.0, 1.0, 0.0, -1.0, 0.5])
_HEAVY_SPREAD = np.array([0.2, 0.5, 1.0, 0.5, 2.0])


def _heavy(state: FloatArray, rng: Random) -> Moved:
    i = _ids(state)
    reward = 1e6 * (_HEAVY_MEAN[i] + _HEAVY_SPREAD[i] * rng.standard_t(3.0, len(i)))
    return Moved(reward, _HEAVY(i, rng), never(state))


_SHIFTS = Chain(0.9 * np.roll(np.eye(4), 1, axis=1) + 0.1 * np.eye(4))
_HIT = np.array([0.0005, 0.001, 0.001, 0.0015])


def _rare(state: FloatArray, rng: Random) -> Moved:
    i = _ids(state)
    reward = np.where(rng.random(len(i)) < _HIT[i], 50.0, 0.0)
    return Moved(reward, _SHIFTS(i, rng), never(state))


def _ring(state: FloatArray, rng: Random) -> Moved:
    reward = 1e-3 * (1.0 + np.sin(state[:, 0] * 2.0) + (state[:, 0] == 7.0))
    return Moved(reward, (state + 1.0) % 12.0, never(state))


_DAY = np.array([20.0, 22.0, 21.0, 25.0, 40.0, 70.0, -15.0])


def _weekly(state: FloatArray, rng: Random) -> Moved:
    noise = 6.0 * rng.standard_normal(len(state))
    return Moved(_DAY[_ids(state)] + noise, (state + 1.0) % 7.0, never(state))


_MOOD = Chain([[0.97, 0.03, 0, 0], [0.04, 0.93, 0.03, 0], [0, 0.06, 0.9, 0.04], [0, 0, 0.1, 0.9]])
_RUIN = np.array([0.0, 1e-4, 4e-4, 1.5e-3])


def _ruin(state: FloatArray, rng: Random) -> Moved:
    i = _ids(state)
    lost = rng.random(len(i)) < _RUIN[i]
    reward = np.where(lost, -300.0, 1.0 + 0.5 * rng.standard_normal(len(i)))
    return Moved(reward, _MOOD(i, rng), lost)


def _fifty() -> tuple[Chain, FloatArray]:
    """A chain of fifty states, each with five neighbours, and their mean rewards."""
    rng = np.random.default_rng(50)
    matrix = np.zeros((50, 50))
    for i in range(50):
        matrix[i, rng.choice(50, 5, replace=False)] = rng.dirichlet(np.ones(5))
        matrix[i, (i + 1) % 50] += 0.1  # every state can be reached
    return Chain(matrix), 1000.0 + rng.normal(0.0, 5.0, 50)


_FIFTY, _FIFTY_MEAN = _fifty()


def _chain(state: FloatArray, rng: Random) -> Moved:
    i = _ids(state)
    reward = _FIFTY_MEAN[i] + 3.0 * rng.standard_normal(len(i))
    return Moved(reward, _FIFTY(i, rng), never(state))


def _sale(state: FloatArray, rng: Random) -> Moved:
    """Six stages of a sale: 60 % of steps lead on, 20 % lose the customer."""
    draw, size = rng.random(len(state)), rng.lognormal(3.0, 0.7, len(state))
    lost, forward = draw < 0.2, draw >= 0.4
    won = forward & (state[:, 0] == 5.0)
    reward = np.where(won, size, np.where(lost, -5.0, -1.0))
    following = np.where(forward & ~won, state[:, 0] + 1.0, state[:, 0])
    return Moved(reward, following[:, None], lost | won)


_WEAR = Chain([[0.99, 0.01, 0.0], [0.0, 0.98, 0.02], [0.05, 0.0, 0.95]])
_YIELD = np.array([10.0, 8.0, -30.0])


def _machine(state: FloatArray, rng: Random) -> Moved:
    i = _ids(state)
    reward = _YIELD[i] + 2.0 * rng.standard_normal(len(i))
    return Moved(reward, _WEAR(i, rng), never(state))


def _queue(state: FloatArray, rng: Random) -> Moved:
    draw = rng.random(len(state))
    change = (draw < 0.40).astype(float) - (draw > 0.55)
    following = np.clip(state[:, 0] + change, 0.0, 30.0)
    return Moved(-state[:, 0], following[:, None], never(state))


PROBLEMS = (
    Problem(
        name="heavy tails",
        gamma=0.95,
        note="Five ids, rewards in millions with the tails of Student's t with 3 degrees.",
        start=_begin_in(5),
        step=_heavy,
        layout=Layout("transitions", observation="state", next_observation="next_state"),
        ids=True,
        samples=200_000,  # the fourth moment is infinite, so a standard deviation takes many
    ),
    Problem(
        name="rare rewards",
        gamma=0.99,
        note="Four ids in rotation; nothing, but 50 about once in a thousand steps.",
        start=_begin_in(4),
        step=_rare,
        layout=Layout("episodes", observation="s", reward="r", episode="trajectory", step="t"),
        ids=True,
        walkers=8,
    ),
    Problem(
        name="deterministic",
        gamma=0.97,
        note="Twelve ids in a ring, rewards of thousandths, and no chance at all.",
        start=_begin_at(0),
        step=_ring,
        layout=Layout("record", observation="state"),
        ids=True,
    ),
    Problem(
        name="weekly",
        gamma=0.98,
        note="Days of the week by name, one long record, a good Saturday and a bad Sunday.",
        start=_begin_at(0),
        step=_weekly,
        layout=Layout("record", observation="observation", step="t"),
        ids=True,
        labels=_WEEK,
    ),
    Problem(
        name="rare ruin",
        gamma=0.99,
        note="Four moods; a step earns 1, or ends all with −300, which early rows do not show.",
        start=_begin_at(0),
        step=_ruin,
        layout=Layout("episodes", observation="state"),
        ids=True,
        walkers=1,
        longest_first=True,
        samples=100_000,  # the tail is made of a few
    ),
    Problem(
        name="chain",
        gamma=0.9,
        note="Fifty ids with five neighbours each: few rows a state, rewards far from 0.",
        start=_begin_in(50),
        step=_chain,
        layout=Layout("transitions", observation="s", next_observation="s_next", reward="r"),
        ids=True,
    ),
    Problem(
        name="short episodes",
        gamma=0.95,
        note="Six stages of a sale that takes about four steps, lost or won (lognormal).",
        start=_begin_at(0),
        step=_sale,
        layout=Layout("episodes", observation="state", terminated="done", episode="episode_id"),
        ids=True,
    ),
    Problem(
        name="patient",
        gamma=0.999,
        note="A machine, good, worn or broken, in one record: returns of a thousand steps.",
        start=_begin_at(0),
        step=_machine,
        layout=Layout("record", observation="state"),
        ids=True,
        labels=("good", "worn", "broken"),
    ),
    Problem(
        name="queue",
        gamma=0.99,
        note="A queue of 0 to 30 that moves slowly; each customer who waits costs 1 a step.",
        start=_begin_at(0),
        step=_queue,
        layout=Layout("record", observation="state"),
        ids=True,
    ),
)
