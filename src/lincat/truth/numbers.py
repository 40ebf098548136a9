"""Problems whose observations are one to four numbers."""

from __future__ import annotations

import math

import numpy as np

from lincat._typing import FloatArray
from lincat.truth.problem import Layout, Problem
from lincat.truth.simulation import Moved, Random, never

PERSISTENCE = 0.95  # of the level from one step to the next; its shocks have variance 1
PERSISTENT_NOISE = 0.5  # of the reward about the level


def _level(n: int, rng: Random) -> FloatArray:
    return rng.normal(0.0, 1.0 / math.sqrt(1.0 - PERSISTENCE**2), (n, 1))


def _persistent(state: FloatArray, rng: Random) -> Moved:
    noise = rng.standard_normal((2, len(state)))
    following = PERSISTENCE * state + noise[0][:, None]
    return Moved(state[:, 0] + PERSISTENT_NOISE * noise[1], following, never(state))


def _stake(n: int, rng: Random) -> FloatArray:
    return rng.uniform(0.3, 0.7, (n, 1))


def _gamble(state: FloatArray, rng: Random) -> Moved:
    following = state + 0.12 * rng.standard_normal(state.shape)
    won, lost = following[:, 0] >= 1.0, following[:, 0] <= 0.0
    reward = np.where(won, 1000.0, np.where(lost, -20.0, 0.0))
    return Moved(reward, np.clip(following, 0.0, 1.0), won | lost)


_MEMORY = np.array([0.9, 0.7])


def _weather(n: int, rng: Random) -> FloatArray:
    return rng.normal(0.0, 1.0, (n, 2))


def _uneven(state: FloatArray, rng: Random) -> Moved:
    noise = rng.standard_normal((len(state), 3))
    following = _MEMORY * state + np.sqrt(1.0 - _MEMORY**2) * noise[:, :2]
    reward = -5.0 + state[:, 1] + np.exp(0.7 * state[:, 0]) * noise[:, 2]
    return Moved(reward, following, never(state))


def _order(n: int, rng: Random) -> FloatArray:
    return np.stack([rng.uniform(5.0, 15.0, n), np.zeros(n)], axis=1)


def _deliver(state: FloatArray, rng: Random) -> Moved:
    """A way to go and whether there is a jam; a step takes a minute or so."""
    draw, minutes = rng.random(len(state)), rng.gamma(4.0, 0.25, len(state))
    jam = state[:, 1] > 0.5
    left = state[:, 0] - np.where(jam, 0.4, 1.5) * rng.uniform(0.5, 1.5, len(state))
    jam_next = np.where(jam, draw >= 0.2, draw < 0.1).astype(float)
    return Moved(-minutes, np.stack([np.maximum(left, 0.0), jam_next], axis=1), left <= 0.0)


def _shelf(n: int, rng: Random) -> FloatArray:
    return np.stack([rng.integers(5, 20, n).astype(float), np.zeros(n)], axis=1)


def _inventory(state: FloatArray, rng: Random) -> Moved:
    """Stock and what arrives after this step; fifteen are ordered when both are below twelve."""
    demand = rng.poisson(5.0, len(state)).astype(float)
    sold = np.minimum(state[:, 0], demand)
    left = state[:, 0] - sold
    ordered = np.where(left + state[:, 1] < 12.0, 15.0, 0.0)
    reward = 30.0 * sold - 2.0 * left - 8.0 * (demand - sold) - 60.0 * (ordered > 0.0)
    return Moved(reward, np.stack([left + state[:, 1], ordered], axis=1), never(state))


def _square(n: int, rng: Random) -> FloatArray:
    return rng.random((n, 2))


def _plane(state: FloatArray, rng: Random) -> Moved:
    further = np.abs(state + 0.1 * rng.standard_normal(state.shape)) % 2.0
    x, y = state[:, 0], state[:, 1]
    reward = 1e-3 * (np.sin(2.0 * math.pi * x) * np.cos(math.pi * y))
    reward += 3e-4 * rng.standard_normal(len(state))
    return Moved(reward, np.minimum(further, 2.0 - further), never(state))


def _market(n: int, rng: Random) -> FloatArray:
    return np.stack([50.0 + 8.0 * rng.standard_normal(n), np.zeros(n)], axis=1)


def _trade(state: FloatArray, rng: Random) -> Moved:
    """Buys a thousand units when the price is below 45 and sells them when it is above 55."""
    price, held = state[:, 0], state[:, 1] > 0.5
    buys, sells = ~held & (price < 45.0), held & (price > 55.0)
    reward = 1000.0 * price * (sells.astype(float) - buys) - 20.0 * held
    further = 50.0 + 0.93 * (price - 50.0) + 3.0 * rng.standard_normal(len(price))
    holds = ((held & ~sells) | buys).astype(float)
    return Moved(reward, np.stack([further, holds], axis=1), never(state))


_SERVO = np.array(
    [[1.0, 0.1, 0.0, 0.0], [-0.2, 0.9, 0.1, 0.0], [0.0, 0.0, 1.0, 0.1], [0.1, 0.0, -0.3, 0.85]]
)
_SERVO_COST = np.array([1.0, 0.1, 2.0, 0.1])


def _disturbed(n: int, rng: Random) -> FloatArray:
    return np.array([0.6, 0.7, 0.4, 0.6]) * rng.standard_normal((n, 4))


def _servo(state: FloatArray, rng: Random) -> Moved:
    following = state @ _SERVO.T
    following[:, 1::2] += 0.3 * rng.standard_normal((len(state), 2))
    return Moved(-(state**2) @ _SERVO_COST, following, never(state))


PROBLEMS = (
    Problem(
        name="persistent",
        gamma=0.99,
        note="The reward's level is the state, and stays for twenty steps: one long record.",
        start=_level,
        step=_persistent,
        layout=Layout("record", observation="state"),
    ),
    Problem(
        name="bimodal",
        gamma=0.995,
        note="A gambler's stake between 0 and 1: in the end 1000, or −20, and nothing before.",
        start=_stake,
        step=_gamble,
        layout=Layout("episodes", observation="obs"),
    ),
    Problem(
        name="heteroscedastic",
        gamma=0.9,
        note="Two numbers: one moves the mean, the other the spread, sevenfold and more.",
        start=_weather,
        step=_uneven,
        layout=Layout("transitions"),
    ),
    Problem(
        name="undiscounted",
        gamma=1.0,
        note="Deliveries of 5 to 15 km with jams, minutes as costs, episodes to their end.",
        start=_order,
        step=_deliver,
        layout=Layout("episodes", observation="state", terminated="terminal"),
    ),
    Problem(
        name="inventory",
        gamma=0.95,
        note="Stock and orders under way as two numbers, with sales, holding and order costs.",
        start=_shelf,
        step=_inventory,
        layout=Layout("episodes", observation="observation", lists=True, episode="trajectory_id"),
        walkers=20,
        limit=1000,
    ),
    Problem(
        name="plane",
        gamma=0.97,
        note="A random walk in a square with reflecting borders, rewards of thousandths.",
        start=_square,
        step=_plane,
        layout=Layout(
            "transitions",
            observation="observation",
            next_observation="next_observation",
            lists=True,
        ),
        walkers=10,
    ),
    Problem(
        name="price",
        gamma=0.99,
        note="A price that returns to its mean, and a trader who buys low and sells high.",
        start=_market,
        step=_trade,
        layout=Layout("record", observation="obs", step="t"),
    ),
    Problem(
        name="servo",
        gamma=0.95,
        note="Four numbers: two coupled oscillators, disturbed, with quadratic costs.",
        start=_disturbed,
        step=_servo,
        layout=Layout("episodes", observation="state", episode="episode_index"),
        limit=400,
    ),
)
