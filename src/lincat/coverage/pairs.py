"""Pairs of processes, equal and different, on which differences are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from lincat._arguments import check_choice
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.core.representation import cdf_from_theta
from lincat.coverage.cases import Case, case_named
from lincat.data.transitions import Transitions
from lincat.processes.finite import MarkovRewardProcess
from lincat.solvers.exact import solve_categorical

_OTHER_LOG = 1_000_000  # added to seeds of the second log


@dataclass(frozen=True)
class Pair:
    """Two processes with the same states, and how their logs come about."""

    name: str
    #: What they have in common, and what not.
    note: str
    a: MarkovRewardProcess
    b: MarkovRewardProcess
    Phi: FloatArray
    gamma: float
    grid: Grid
    probes: tuple[int, ...]
    threshold: float  # of P(G < c)
    #: Where both are learned from one log: P(s'|s) under B, for rewards that do not depend on s'.
    shared: FloatArray | None = None

    def logs(self, rows: int, seed: int) -> tuple[Transitions, Transitions]:
        """Return what A and B are learned from: two walks, or one with two next states a row."""
        seen = self.a.sample(rows, seed=seed)
        mine = Transitions(
            self.Phi[seen.state], seen.reward, self.Phi[seen.next_state], seen.terminated
        )
        if self.shared is None:
            other = self.b.sample(rows, seed=seed + _OTHER_LOG)
            return mine, Transitions(
                self.Phi[other.state], other.reward, self.Phi[other.next_state], other.terminated
            )
        u = np.random.default_rng(seed + _OTHER_LOG).random(rows)
        following = (u[:, None] > np.cumsum(self.shared[seen.state], axis=1)).sum(axis=1)
        return mine, Transitions(mine.phi, seen.reward, self.Phi[following])


def _of_case(name: str, word: str, note: str, change: Callable[[FloatArray], FloatArray]) -> Pair:
    """A case beside itself with other rewards, learned from a walk of its own."""
    case: Case = case_named(name)
    one = case.process
    other = MarkovRewardProcess(
        one.state,
        change(one.reward),
        one.next_state,
        one.probability,
        terminated=one.terminated,
        initial=one.initial,
    )
    return Pair(
        f"{name}, {word}", note, one, other, case.Phi, case.gamma, case.grid, case.probes,
        case.threshold,
    )  # fmt: skip


_MOVE = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
_WORSE = np.array([[0.7, 0.25, 0.05], [0.4, 0.5, 0.1], [0.3, 0.4, 0.3]])


def _of_one_log(word: str, note: str, move: FloatArray) -> Pair:
    """Three places, rewards that depend on the place and a coin; B moves in its own way."""
    noise, chance = np.array([-0.3, 0.0, 0.5]), np.array([0.3, 0.5, 0.2])
    s, t, m = (x.ravel() for x in np.meshgrid(range(3), range(3), range(3), indexing="ij"))
    reward = np.array([0.0, 0.5, 1.0])[s] + noise[m]
    a, b = (MarkovRewardProcess(s, reward, t, P[s, t] * chance[m]) for P in (_MOVE, move))
    return Pair(
        f"one log, {word}", note, a, b, np.eye(3), 0.9, Grid(-4.0, 16.0, 50), (0, 1, 2), 4.0,
        shared=move,
    )  # fmt: skip


def _same(reward: FloatArray) -> FloatArray:
    return reward


_MAKERS: dict[str, Callable[[], Pair]] = {
    "paper, equal": lambda: _of_case("paper", "equal", "two walks of one process", _same),
    "hidden regime, equal": lambda: _of_case(
        "hidden regime", "equal", "two walks, features that are not exact", _same
    ),
    "episodes, equal": lambda: _of_case("episodes", "equal", "episodes of two logs", _same),
    "gamma 0.99, equal": lambda: _of_case("gamma 0.99", "equal", "two walks, gamma 0.99", _same),
    "hidden regime, worse": lambda: _of_case(
        "hidden regime", "worse", "rewards of B are nine tenths of A's", lambda r: 0.9 * r
    ),
    "episodes, calmer": lambda: _of_case(
        "episodes", "calmer", "rewards of B are nearer to their middle", lambda r: 0.6 * r + 0.4
    ),
    "continuous rewards, equal": lambda: _of_case(
        "continuous rewards", "equal", "two walks, rewards on 64 nodes of their own", _same
    ),
    "continuous rewards, worse": lambda: _of_case(
        "continuous rewards", "worse", "rewards of B are lower by 0.05", lambda r: r - 0.05
    ),
    "one log, equal": lambda: _of_one_log(
        "equal", "the same rows, for A and B next states of their own", _MOVE
    ),
    "one log, worse": lambda: _of_one_log(
        "worse", "the same rows, B moves to worse places", _WORSE
    ),
}
PAIRS = tuple(_MAKERS)


@cache
def pair_named(name: str) -> Pair:
    """Return a pair by its name."""
    return _MAKERS[check_choice(name, "pair", PAIRS)]()


@cache
def pair_truth(name: str) -> tuple[ReturnDistribution, ReturnDistribution]:
    """Return what ever more data lead to at the probes, for A and for B."""
    pair = pair_named(name)
    found = []
    for process in (pair.a, pair.b):
        Theta = solve_categorical(process, pair.Phi, pair.grid, pair.gamma)
        found.append(
            ReturnDistribution(cdf_from_theta(pair.Phi[list(pair.probes)], Theta), pair.grid)
        )
    return found[0], found[1]
