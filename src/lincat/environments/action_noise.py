"""Actions as numbers: what a policy's own chance added to each is these numbers less their mean.

Such noise has the mean 0 given the observation, so that weights can undo it (see
``runs/balancing.py``). A few numbers stand for an action: which one of several it was, or its
coordinates and their squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lincat._typing import FloatArray

_MOST = 8  # numbers: with more, hardly any observation is near enough to another for each of them


def n_numbers(space: Any) -> int:
    """Return how many numbers stand for an action of a space; 0 where none do.

    Examples
    --------
    >>> from gymnasium.spaces import Box, Discrete, MultiBinary
    >>> from lincat.environments.action_noise import n_numbers
    >>> n_numbers(Discrete(3)), n_numbers(Box(-1, 1, (2,))), n_numbers(Box(-1, 1, (6,)))
    (2, 4, 6)
    >>> n_numbers(MultiBinary(3)), n_numbers(Discrete(100))
    (0, 0)
    """
    from gymnasium.spaces import Box, Discrete

    if isinstance(space, Discrete):
        n = int(space.n) - 1
    elif isinstance(space, Box) and np.issubdtype(space.dtype, np.floating):
        coordinates = int(np.prod(space.shape))
        n = 2 * coordinates if 2 * coordinates <= _MOST else coordinates
    else:
        n = 0
    return n if n <= _MOST else 0


def action_numbers(actions: Any, space: Any, n: int) -> FloatArray:
    """Return the numbers of n actions, a batch as vector environments take them, shape (n, k).

    Discrete: 1 for the action that was taken, 0 for others, all but the last of them. Box: the
    coordinates, from −1 to 1 where they are bounded, and, of up to four, their squares.

    Examples
    --------
    >>> import numpy as np
    >>> from gymnasium.spaces import Box, Discrete
    >>> from lincat.environments.action_noise import action_numbers
    >>> action_numbers(np.array([0, 2]), Discrete(3), 2)
    array([[1., 0.],
           [0., 0.]])
    >>> action_numbers(np.array([[1.0], [2.0]]), Box(-2, 2, (1,)), 2)
    array([[0.5 , 0.25],
           [1.  , 1.  ]])
    """
    from gymnasium.spaces import Discrete

    if isinstance(space, Discrete):
        taken = np.asarray(actions, np.int64).reshape(n, 1) - int(space.start)
        return np.asarray(taken == np.arange(int(space.n) - 1), np.float64)
    a = np.asarray(actions, np.float64).reshape(n, -1)
    if space.is_bounded():
        low, high = (np.asarray(x, np.float64).reshape(-1) for x in (space.low, space.high))
        half = np.where(high > low, (high - low) / 2.0, 1.0)
        a = (a - (low + high) / 2.0) / half
    if n_numbers(space) == a.shape[1]:
        return a
    with np.errstate(over="ignore"):  # of a space without bounds
        return np.hstack([a, a**2])


def uniform_means(space: Any) -> FloatArray | None:
    """Return the means of the numbers of an action that is as likely as any other, shape (k,).

    None where there is no such chance: a space without bounds.
    """
    from gymnasium.spaces import Discrete

    k = n_numbers(space)
    if k == 0:
        return None
    if isinstance(space, Discrete):
        return np.full(k, 1.0 / int(space.n))
    if not space.is_bounded():
        return None
    m = int(np.prod(space.shape))
    varies = np.asarray(space.high > space.low).reshape(-1)  # a coordinate of one value is 0
    return np.concatenate([np.zeros(m), varies / 3.0])[:k]
