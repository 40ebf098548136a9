"""Copies of environments: the random numbers inside them, and what they know."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np

from lincat._typing import FloatArray

_EXCHANGES = 1000  # of returns between visits, none of which may set these as far apart as they are
_ROUNDING = 1e-20  # share of the squares of returns up to which these are the same


def copied(env: Any) -> tuple[Any, list[Any]]:
    """Return a copy, with all the random number generators inside it, wherever they hide."""
    memo: dict[int, Any] = {}
    inner = env.unwrapped
    # Nobody changes these as an episode proceeds, and copying them takes most of the time.
    for name in ("spec", "metadata", "observation_space", "action_space", "P"):
        constant = getattr(inner, name, None)
        if constant is not None:
            memo[id(constant)] = constant
    shared = set(memo)
    made = copy.deepcopy(env, memo)
    kinds = (np.random.Generator, np.random.RandomState, random.Random)
    copies = [thing for key, thing in memo.items() if key not in shared]
    return made, [thing for thing in copies if isinstance(thing, kinds)]


def reseed(generator: Any, seed: int) -> None:
    """Begin the random numbers of a generator again."""
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        bits.state = type(bits)(seed).state
    elif isinstance(generator, np.random.RandomState):
        generator.seed(seed % 2**32)
    else:
        generator.seed(seed)


def knows_more(observation: Any, returns: FloatArray) -> bool:
    """Whether copies of an environment know more than its observations tell.

    Their returns then differ between visits to the same observation by more than chance: by more
    than after any of a thousand exchanges of all returns from the same observation.

    Parameters
    ----------
    observation : array of n rows
        Of each visit.
    returns : array of shape (n, R)
        Of rollouts from a copy that was made there.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.environments.copies import knows_more
    >>> coins = np.random.default_rng(0).integers(0, 2, (4, 50)).astype(float)
    >>> here = np.array([7, 7, 8, 8])
    >>> knows_more(here, coins), knows_more(here, coins + np.array([[0.0], [5.0], [1.0], [1.0]]))
    (False, True)
    """
    n, per_visit = returns.shape
    rows = np.asarray(observation).reshape(n, -1).astype(str)
    _, label = np.unique(rows, axis=0, return_inverse=True)
    label = label.reshape(-1)
    again = np.bincount(label)[label] > 1
    if per_visit < 2 or not again.any():
        return False
    order = np.argsort(label[again], kind="stable")
    group = np.repeat(label[again][order], per_visit)
    values = returns[again][order].ravel()
    centred = values - (np.bincount(group, values) / np.maximum(np.bincount(group), 1))[group]

    def apart(order: Any) -> float:
        """The sum of squares of the visits' own means, but for a factor."""
        return float((centred[order].reshape(-1, per_visit).sum(axis=1) ** 2).sum())

    seen = apart(slice(None))
    if seen <= _ROUNDING * float((values**2).sum()):
        return False
    rng = np.random.default_rng(0)
    # Groups stay where they are, as their numbers come first.
    return all(apart(np.lexsort((rng.random(len(group)), group))) < seen for _ in range(_EXCHANGES))
