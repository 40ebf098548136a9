"""The processes on which intervals are counted; their fixed points are exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtr

from lincat._arguments import check_choice
from lincat._typing import FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import cdf_from_theta
from lincat.processes import catalog
from lincat.processes.finite import MarkovRewardProcess
from lincat.solvers.exact import solve_categorical


@dataclass(frozen=True)
class Case:
    """A process, features, and the states whose intervals are looked at."""

    name: str
    #: What makes it hard.
    note: str
    process: MarkovRewardProcess
    Phi: FloatArray
    gamma: float
    grid: Grid
    probes: tuple[int, ...]
    threshold: float  # of P(G < c)


def _paper() -> Case:
    problem = catalog.paper()
    return Case(
        "paper",
        "the paper's three states, gamma 0.75, features that are exact",
        problem.process,
        np.asarray(problem.Phi),
        problem.gamma,
        problem.grid(30),
        (0, 1, 2),
        1.8,
    )


def _slow() -> Case:
    problem = catalog.random_process(20, n_features=5, branching=3, gamma=0.9, seed=3)
    return Case(
        "slow features",
        "20 states, 5 features that cannot tell them apart, some directions slow",
        problem.process,
        np.asarray(problem.Phi),
        problem.gamma,
        problem.grid(40),
        (0, 7, 13),
        5.0,
    )


def _hidden() -> Case:
    """Two regimes of 40 steps on average, three places; features see the places alone."""
    stay, places = 0.975, 3
    move = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    P = np.kron([[stay, 1.0 - stay], [1.0 - stay, stay]], move)
    R = np.array([0.0, 0.2, 0.5, 0.5, 0.8, 1.0])
    return Case(
        "hidden regime",
        "rewards depend on a regime of 40 steps that features do not see",
        MarkovRewardProcess.from_matrices(P, R),
        np.tile(np.eye(places), (2, 1)),
        0.9,
        Grid.for_rewards(0.0, 1.0, gamma=0.9, intervals=40),
        (0, 1, 2),
        4.0,
    )


def _episodic() -> Case:
    """Up by one or two for a reward of 1 or 2, now and then back to the bottom, until the top."""
    S = 9
    s = np.arange(S - 1)
    up = np.minimum(np.stack([s + 1, s + 2, np.zeros_like(s)]), S - 1)
    process = MarkovRewardProcess(
        state=np.tile(s, 3),
        reward=np.repeat([1.0, 2.0, -1.0], len(s)),
        next_state=up.ravel(),
        probability=np.repeat([0.5, 0.3, 0.2], len(s)),
        terminal=[S - 1],
        initial=np.eye(S)[0],
    )
    height = np.arange(S) / (S - 1.0)
    return Case(
        "episodes",
        "a climb of eight steps with falls, three features, episodes of about 20 steps",
        process,
        np.stack([np.ones(S), height, height**2], axis=1),
        0.95,
        Grid(-20.0, 40.0, 60),
        (0, 3, 6),
        6.0,
    )


def _continuous() -> Case:
    """Rewards normal given the state, on a fine lattice so that the truth is exact."""
    edges = np.linspace(-4.0, 4.0, 202)
    mass = np.diff(ndtr(edges)) / (ndtr(4.0) - ndtr(-4.0))
    noise = (edges[1:] + edges[:-1]) / 2.0
    chain = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    centre, spread = np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.6, 1.0])
    s, t, m = (a.ravel() for a in np.meshgrid(range(3), range(3), range(len(mass)), indexing="ij"))
    process = MarkovRewardProcess(s, centre[s] + spread[s] * noise[m], t, chain[s, t] * mass[m])
    return Case(
        "continuous rewards",
        "normal rewards, of which 64 nodes are kept",
        process,
        np.eye(3),
        0.8,
        Grid(-12.0, 22.0, 68),
        (0, 1, 2),
        3.0,
    )


def _patient() -> Case:
    problem = catalog.random_process(10, n_features=4, branching=3, gamma=0.99, seed=5)
    return Case(
        "gamma 0.99",
        "10 states, 4 features, returns of a hundred steps",
        problem.process,
        np.asarray(problem.Phi),
        problem.gamma,
        Grid(30.0, 70.0, 100),
        (0, 4, 8),
        50.0,
    )


_MAKERS: dict[str, Callable[[], Case]] = {
    "paper": _paper,
    "slow features": _slow,
    "hidden regime": _hidden,
    "episodes": _episodic,
    "continuous rewards": _continuous,
    "gamma 0.99": _patient,
}
CASES = tuple(_MAKERS)


@cache
def case_named(name: str) -> Case:
    """Return a case by its name."""
    return _MAKERS[check_choice(name, "case", CASES)]()


@cache
def fixed_point(name: str) -> FloatArray:
    """Return the CDF values at the probes that ever more data lead to, shape (probes, K)."""
    case = case_named(name)
    Theta = solve_categorical(case.process, case.Phi, case.grid, case.gamma)
    return cdf_from_theta(case.Phi[list(case.probes)], Theta)
