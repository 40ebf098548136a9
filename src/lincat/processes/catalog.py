"""Named problems: the paper's, textbook ones, Gymnasium's tables, and random ones of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lincat._arguments import check_choice, check_integer, fail
from lincat._room import check_room
from lincat._text import one_line
from lincat._typing import ArrayLike, FloatArray
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.mdp import FiniteMDP
from lincat.processes.problem import Problem

_NUMBERS = 10  # for each outcome, while a process checks and sorts them (up to 100 bytes)
_PAPER_NOTE = (
    "The paper does not publish its 3-state process. This one was found by a search for round "
    "numbers whose step-size thresholds agree with the paper's two tables."
)
_PAPER: dict[str, dict[str, list[Any]]] = {
    "main": {
        "P": [[0.5, 0.5, 0.0], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]],
        "R": [0.0, 0.5, 1.0],
        "Phi": [[1.0, 0.1, 0.0], [0.8, 0.6, 0.3], [0.9, 0.1, 0.5]],
    },
    "unit_norm": {
        "P": [[0.5, 0.2, 0.3], [0.3, 0.3, 0.4], [0.4, 0.4, 0.2]],
        "R": [1.0, 0.0, 0.0],
        "Phi": [[0.7, 0.0, 0.7], [0.5, 0.5, 0.7], [0.7, 0.3, 0.5]],
    },
}


def paper(variant: str = "main") -> Problem:
    """Return the 3-state process of the paper's experiments, gamma = 0.75.

    ``"main"`` matches all published step-size brackets, with features slightly longer than 1;
    ``"unit_norm"`` keeps to the theorems' assumption that no feature vector is.

    Examples
    --------
    >>> from lincat import catalog
    >>> catalog.paper().process.stationary
    array([0.27272727, 0.45454545, 0.27272727])
    """
    data = _PAPER[check_choice(variant, "variant", tuple(_PAPER))]
    return Problem(
        name="paper" if variant == "main" else f"paper_{variant}",
        process=MarkovRewardProcess.from_matrices(data["P"], data["R"]),
        gamma=0.75,
        Phi=np.array(data["Phi"]),
        note=_PAPER_NOTE,
    )


def uniform_coin() -> Problem:
    """Return the fair coin: one state, rewards 0 and 1, gamma = 1/2; the return is Uniform[0, 2].

    On a grid of K intervals over [0, 2] the categorical fixed point has the masses 1/(2K) at both
    ends and 1/K between them.
    """
    return Problem(
        name="uniform_coin",
        process=MarkovRewardProcess([0, 0], [0.0, 1.0], [0, 0], [0.5, 0.5]),
        gamma=0.5,
        note="G = Σ 2^-t B_t is uniform: the bits of a random number.",
    )


def boyan_chain(n_states: int = 13, *, gamma: float = 0.95) -> Problem:
    """Return Boyan's chain: down by one or two for reward -3, with interpolated features.

    Boyan, "Technical update: least-squares temporal difference learning", 2002. State 0 ends the
    episode, which starts at the top; a feature peaks at every fourth state.
    """
    n_states = check_integer(n_states, "n_states", low=5)
    if n_states % 4 != 1:
        raise fail("n_states", "4m + 1 states, a feature for every fourth", n_states)
    check_room(n_states * (n_states // 4), "n_states", n_states, "take fewer")
    high, start = np.arange(2, n_states), np.zeros(n_states)
    start[-1] = 1.0
    process = MarkovRewardProcess(
        state=np.concatenate([high, high, [1]]),
        reward=np.concatenate([np.full(2 * len(high), -3.0), [-2.0]]),
        next_state=np.concatenate([high - 1, high - 2, [0]]),
        probability=np.concatenate([np.full(2 * len(high), 0.5), [1.0]]),
        terminal=[0],
        initial=start,
    )
    knots = np.arange(0, n_states, 4)
    Phi = np.maximum(0.0, 1.0 - np.abs(np.arange(n_states)[:, None] - knots[None, :]) / 4.0)
    return Problem(name="boyan_chain", process=process, gamma=gamma, Phi=Phi)


def random_walk(n_states: int = 5, *, gamma: float = 0.9) -> Problem:
    """Return the random walk of Sutton and Barto, Example 6.2: reward 1 at the right end.

    States 1..n lie between two terminal ones; episodes start in the middle.
    """
    n = check_integer(n_states, "n_states", low=1)
    check_room(2 * n * _NUMBERS, "n_states", n, "take fewer")
    inner, start = np.arange(1, n + 1), np.zeros(n + 2)
    start[(n + 1) // 2] = 1.0
    process = MarkovRewardProcess(
        state=np.concatenate([inner, inner]),
        reward=np.concatenate([np.zeros(n), inner == n]),
        next_state=np.concatenate([inner - 1, inner + 1]),
        probability=np.full(2 * n, 0.5),
        terminal=[0, n + 1],
        initial=start,
    )
    names = ("left end", *(str(s) for s in inner), "right end")
    return Problem(name="random_walk", process=process, gamma=gamma, state_names=names)


def toy_text(
    env_id: str, *, policy: ArrayLike | None = None, gamma: float = 0.95, **options: Any
) -> Problem:
    """Return the table behind a Gymnasium toy-text environment, under a policy.

    Parameters
    ----------
    env_id : str
        Such as ``"FrozenLake-v1"`` or ``"CliffWalking-v1"``.
    policy : array of shape (S, A), optional
        Uniformly random by default.
    gamma : float
    **options
        Passed to ``gymnasium.make``.
    """
    import gymnasium

    try:
        environment: Any = gymnasium.make(env_id, **options).unwrapped
    except (gymnasium.error.Error, TypeError) as error:
        raise fail("env_id", "a registered environment", repr(env_id), one_line(error)) from None
    table = getattr(environment, "P", None)
    if table is None:
        raise fail("env_id", "a toy-text environment with a table P", repr(env_id))
    rows = [
        (s, a, probability, next_state, reward, terminated)
        for s, actions in table.items()
        for a, outcomes in actions.items()
        for probability, next_state, reward, terminated in outcomes
    ]
    state, action, probability, next_state, reward, terminated = (
        np.array(c, dtype=float) for c in zip(*rows, strict=True)
    )
    mdp = FiniteMDP(
        state,
        action,
        reward,
        next_state,
        probability,
        terminated=terminated,
        initial=np.asarray(environment.initial_state_distrib, dtype=float),
    )
    uniform: FloatArray = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    process = mdp.under(uniform if policy is None else policy)
    return Problem(name=env_id, process=process, gamma=gamma, note="Gymnasium toy text")


def frozen_lake(*, gamma: float = 0.95) -> Problem:
    """Return FrozenLake-v1 (4x4, slippery) under the uniformly random policy."""
    return toy_text("FrozenLake-v1", gamma=gamma)


def random_process(
    n_states: int = 20,
    *,
    n_features: int | None = None,
    branching: int = 4,
    gamma: float = 0.9,
    seed: int = 0,
) -> Problem:
    """Return a random process of any size (a Garnet with one action).

    Every state leads to ``branching`` states drawn at random, with Dirichlet probabilities and
    rewards uniform in [0, 1]. With ``n_features`` the features are an intercept and Gaussian
    directions, scaled to a norm of at most 1; without, one-hot.
    """
    S = check_integer(n_states, "n_states", low=1)
    b = min(check_integer(branching, "branching", low=1), S)
    check_room(S * (b + 1) * _NUMBERS, "n_states", S, "take fewer")
    rng = np.random.Generator(np.random.Philox(check_integer(seed, "seed", low=0)))
    # A ring through all states, so that none is cut off, and a loop, so that there is no period.
    others = rng.integers(0, S, size=(S, b))
    others[:, 0] = (np.arange(S) + 1) % S
    others[0, -1] = 0
    if b == 1:
        others = np.concatenate([others, np.arange(S)[:, None]], axis=1)
    width = others.shape[1]
    process = MarkovRewardProcess(
        state=np.repeat(np.arange(S), width),
        reward=rng.random(S * width),
        next_state=others.ravel(),
        probability=rng.dirichlet(np.ones(width), size=S).ravel(),
    )
    Phi = None
    if n_features is not None:
        d = check_integer(n_features, "n_features", low=1)
        check_room(2 * S * d, "n_features", d, "take fewer")
        raw = np.concatenate([np.ones((S, 1)), rng.normal(size=(S, d - 1))], axis=1)
        Phi = raw / np.linalg.norm(raw, axis=1).max()
    return Problem(name="random_process", process=process, gamma=gamma, Phi=Phi)


def _paper_unit_norm() -> Problem:
    return paper("unit_norm")


_NAMED: dict[str, Callable[..., Problem]] = {
    "paper": paper,
    "paper_unit_norm": _paper_unit_norm,
    "uniform_coin": uniform_coin,
    "boyan_chain": boyan_chain,
    "random_walk": random_walk,
    "frozen_lake": frozen_lake,
    "random_process": random_process,
}


def names() -> tuple[str, ...]:
    """Return the names that :func:`build` and ``lincat solve`` know."""
    return tuple(_NAMED)


def build(name: str, *, seed: int = 0) -> Problem:
    """Return a problem by its name; ``seed`` matters to random ones only."""
    make = _NAMED[check_choice(name, "name", names())]
    return make(seed=seed) if make is random_process else make()
