"""Gymnasium environments, their equations again in NumPy, so that returns are cheap to simulate.

The tests hold each step against Gymnasium's own. lincat makes its rows from the environment by its
name; rivals get as many rows of the simulation. Returns are those without a time limit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lincat._typing import BoolArray, FloatArray
from lincat.truth.problem import Environment, Layout, Problem
from lincat.truth.simulation import Moved, Random

_CLUMSY = 0.35  # how often the policy "balance" of lincat pushes the wrong way
_CARELESS = 0.2  # how often ``push`` does whatever


def _poles(n: int, rng: Random) -> FloatArray:
    return rng.uniform(-0.05, 0.05, (n, 4))


def cartpole(state: FloatArray, right: BoolArray) -> Moved:
    """Move CartPole-v1 by a push to the right or to the left."""
    _, speed, angle, turning = state.T
    force = np.where(right, 10.0, -10.0)
    push = (force + 0.05 * turning**2 * np.sin(angle)) / 1.1
    turn = 9.8 * np.sin(angle) - np.cos(angle) * push
    turn /= 0.5 * (4.0 / 3.0 - 0.1 * np.cos(angle) ** 2 / 1.1)
    slide = push - 0.05 * turn * np.cos(angle) / 1.1
    change = np.stack([speed, slide, turning, turn], axis=1)
    following = state + 0.02 * change
    fell = (np.abs(following[:, 0]) > 2.4) | (np.abs(following[:, 2]) > 12 * 2 * math.pi / 360)
    return Moved(np.ones(len(state)), following, fell)


def _balance(state: FloatArray, rng: Random) -> Moved:
    right = state[:, 2] + 0.2 * state[:, 3] > 0.0
    return cartpole(state, right != (rng.random(len(state)) < _CLUMSY))


def _valley(n: int, rng: Random) -> FloatArray:
    return np.stack([rng.uniform(-0.6, -0.4, n), np.zeros(n)], axis=1)


def mountain_car(state: FloatArray, action: Any) -> Moved:
    """Move MountainCar-v0 by actions 0 (left), 1 (none), 2 (right)."""
    position, speed = state.T
    speed = speed + (action - 1) * 0.001 - 0.0025 * np.cos(3.0 * position)
    speed = np.clip(speed, -0.07, 0.07)
    position = np.clip(position + speed, -1.2, 0.6)
    speed = np.where((position == -1.2) & (speed < 0.0), 0.0, speed)
    there = (position >= 0.5) & (speed >= 0.0)
    return Moved(np.full(len(state), -1.0), np.stack([position, speed], axis=1), there)


def push(observation: Any, rng: Random) -> Any:
    """Push the car the way it is moving, four times in five: a policy for ``lincat evaluate``."""
    speed = np.asarray(observation)[..., 1]
    careless = rng.random(speed.shape) < _CARELESS
    action = np.where(careless, rng.integers(0, 3, speed.shape), np.where(speed < 0.0, 0, 2))
    return action.astype(np.int64) if action.ndim else int(action)


def _drive(state: FloatArray, rng: Random) -> Moved:
    return mountain_car(state, push(state, rng))


def _pendulums(n: int, rng: Random) -> FloatArray:
    angle = rng.uniform(-math.pi, math.pi, n)
    return np.stack([np.cos(angle), np.sin(angle), rng.uniform(-1.0, 1.0, n)], axis=1)


def pendulum(state: FloatArray, torque: FloatArray) -> Moved:
    """Move Pendulum-v1 by torques within [−2, 2]."""
    angle, speed = np.arctan2(state[:, 1], state[:, 0]), state[:, 2]
    reward = -(angle**2 + 0.1 * speed**2 + 0.001 * torque**2)
    speed = np.clip(speed + (15.0 * state[:, 1] + 3.0 * torque) * 0.05, -8.0, 8.0)
    angle = angle + 0.05 * speed
    following = np.stack([np.cos(angle), np.sin(angle), speed], axis=1)
    return Moved(reward, following, np.zeros(len(state), bool))


def _swing(state: FloatArray, rng: Random) -> Moved:
    return pendulum(state, rng.uniform(-2.0, 2.0, len(state)))


PROBLEMS = (
    Problem(
        name="CartPole",
        gamma=0.99,
        note="Gymnasium's, under lincat's clumsy policy: four numbers, 10 to 200 steps.",
        start=_poles,
        step=_balance,
        layout=Layout("episodes"),
        limit=500,
        environment=Environment("gym:CartPole-v1", "balance"),
    ),
    Problem(
        name="MountainCar",
        gamma=0.99,
        note="Gymnasium's, pushed the way it moves, four times in five: nearly no chance.",
        start=_valley,
        step=_drive,
        layout=Layout("episodes"),
        limit=200,
        environment=Environment("gym:MountainCar-v0", "lincat.truth.environments:push"),
    ),
    Problem(
        name="Pendulum",
        gamma=0.95,
        note="Gymnasium's, with random torques: three numbers on a curved surface.",
        start=_pendulums,
        step=_swing,
        layout=Layout("episodes"),
        limit=200,
        environment=Environment("gym:Pendulum-v1", "random"),
    ),
)
