"""Problems at whose edges figures are asked for: where records begin, before a jump, in corners.

`make truth` leaves them out unless they are named (``--problems fishery game drone robot``): plans
of numbers were changed after these had come out wrong, so that they no longer say how it does on
problems that nobody has seen.
"""

from __future__ import annotations

import math

import numpy as np

from lincat._typing import FloatArray
from lincat.truth.problem import Layout, Problem
from lincat.truth.simulation import Moved, Random, never


def _biomass(n: int, rng: Random) -> FloatArray:
    return rng.uniform(0.1, 1.2, (n, 1))


def _fish(state: FloatArray, rng: Random) -> Moved:
    """Below 0.15, after the catch, a stock hardly grows; only records that begin there show it."""
    stock = state[:, 0]
    catch = np.where(stock > 0.4, 0.3, 0.05) * stock
    left = stock - catch
    growth = np.where(left > 0.15, 0.8 * left * (1.0 - left), 0.1 * left)
    shock = np.exp(0.2 * rng.standard_normal(len(stock)) - 0.02)
    following = np.clip((left + growth) * shock + 0.005, 0.005, 3.0)
    reward = 100.0 * catch * rng.uniform(0.8, 1.2, len(stock)) - 2.0
    return Moved(reward, following[:, None], never(state))


def _healthy(n: int, rng: Random) -> FloatArray:
    return np.tile([1.0, 1.0, 6.0], (n, 1))


def _duel(state: FloatArray, rng: Random) -> Moved:
    """Two healths and ammunition, which is reloaded when a shot is not taken."""
    own, other, shots = state.T
    n = len(own)
    shoots = (shots > 0.0) & (rng.random(n) < 0.8)
    other = other - shoots * (rng.random(n) < 0.4) * rng.uniform(0.1, 0.4, n)
    own = own - (rng.random(n) < 0.3) * rng.uniform(0.05, 0.35, n)
    won = other <= 0.0
    lost = ~won & (own <= 0.0)
    reloaded = np.where(rng.random(n) < 0.5, 6.0, shots)
    shots = np.where(shoots, shots - 1.0, reloaded)
    following = np.stack([np.maximum(own, 0.0), np.maximum(other, 0.0), shots], axis=1)
    return Moved(won.astype(float) - lost, following, won | lost)


_GUSTS = np.array([0.3, 0.1, 0.5])


def _hovering(n: int, rng: Random) -> FloatArray:
    return _GUSTS * rng.standard_normal((n, 3))


def _hover(state: FloatArray, rng: Random) -> Moved:
    """Offset, speed and wind; too far off it crashes, and now and then it is called back."""
    offset, speed, wind = state.T
    n = len(offset)
    gust, jolt = rng.standard_normal((2, n))
    speed = 0.85 * speed - 0.1 * offset + 0.14 * wind + 0.03 * jolt
    further = offset + 0.5 * speed
    crashed = np.abs(further) > 2.6
    landed = ~crashed & (rng.random(n) < 1.0 / 150.0)
    reward = np.where(crashed, -500.0, np.where(landed, 10.0, 1.0 - 0.2 * np.abs(offset)))
    following = np.stack([further, speed, 0.95 * wind + 0.18 * gust], axis=1)
    return Moved(reward, following, crashed | landed)


def _sensed(
    place: FloatArray, speed: FloatArray, slow: FloatArray, noise: FloatArray
) -> FloatArray:
    """Place and speed, and four sensors that say nothing of the return."""
    return np.stack([place, speed, slow, noise[0], 20.0 + 5.0 * noise[1], noise[2] ** 2], axis=1)


def _docked(n: int, rng: Random) -> FloatArray:
    noise = rng.standard_normal((4, n))
    return _sensed(rng.uniform(-1.0, 1.0, n), np.zeros(n), noise[3], noise[:3])


def _steer(state: FloatArray, rng: Random) -> Moved:
    place, speed, slow = state[:, 0], state[:, 1], state[:, 2]
    noise = rng.standard_normal((5, len(state)))
    reward = (np.abs(place) < 0.25) - 0.5 * speed**2
    speed = 0.8 * speed - 0.3 * np.tanh(2.0 * place) + 0.15 * noise[4]
    slow = 0.97 * slow + math.sqrt(1.0 - 0.97**2) * noise[3]
    return Moved(reward, _sensed(place + 0.4 * speed, speed, slow, noise[:3]), never(state))


PROBLEMS = (
    Problem(
        name="fishery",
        gamma=0.95,
        note="A stock of fish that collapses from below 0.158, where only records begin.",
        start=_biomass,
        step=_fish,
        layout=Layout("episodes", observation="obs", episode="trajectory_id"),
        limit=100,
    ),
    Problem(
        name="game",
        gamma=0.995,
        note="Two healths and ammunition; won or lost, 1 or −1, in the end.",
        start=_healthy,
        step=_duel,
        layout=Layout("episodes"),
    ),
    Problem(
        name="drone",
        gamma=0.99,
        note="Offset, speed and wind; a rare crash costs 500.",
        start=_hovering,
        step=_hover,
        layout=Layout("episodes"),
        samples=40_000,
    ),
    Problem(
        name="robot",
        gamma=0.95,
        note="Six sensors, of which four are noise; records begin in corners.",
        start=_docked,
        step=_steer,
        layout=Layout("episodes", episode="trajectory", step="t"),
        limit=300,
    ),
)
