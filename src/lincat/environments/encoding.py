"""From what a Gymnasium environment observes to the points and ids of :class:`Steps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lincat._arguments import fail
from lincat._typing import FloatArray
from lincat.data.starts import Starts
from lincat.data.steps import ObservationSpace

#: Bounds beyond this mean "none": CartPole has had 3.4e38, the largest float32.
_AS_GOOD_AS_INFINITE = 1e30

#: What the numbers mean, from the environments' own documentation.
_KNOWN_NAMES = {
    "CartPole": ("cart position", "cart velocity", "pole angle", "pole angular velocity"),
    "MountainCar": ("position", "velocity"),
    "MountainCarContinuous": ("position", "velocity"),
    "Blackjack": ("player's sum", "dealer's card", "usable ace"),
    "Pendulum": ("cos(angle)", "sin(angle)", "angular velocity"),
    "Acrobot": (
        *("cos(angle 1)", "sin(angle 1)", "cos(angle 2)", "sin(angle 2)"),
        *("angular velocity 1", "angular velocity 2"),
    ),
}


class Observations:
    """How the observations of a Gymnasium space become rows.

    Discrete: numbers from 0. Text: ids. Box, MultiDiscrete, MultiBinary: points, flattened.
    Tuple and Dict: points; whole numbers as they are where there is nothing else (Blackjack: sum,
    card, ace), so that they can have a table; else as :func:`gymnasium.spaces.flatten` makes them.

    Examples
    --------
    >>> from gymnasium.spaces import Box, Discrete
    >>> from lincat.environments.encoding import Observations
    >>> Observations(Discrete(3, start=5)).one(6)
    1
    >>> Observations(Box(0, 1, (2, 2))).one([[0.0, 0.5], [1.0, 0.25]])
    array([0.  , 0.5 , 1.  , 0.25])
    >>> from gymnasium.spaces import Tuple
    >>> Observations(Tuple([Discrete(32), Discrete(11), Discrete(2)])).one((14, 10, 0))
    array([14., 10.,  0.])
    """

    def __init__(self, space: Any, *, env_name: str = "") -> None:
        from gymnasium import spaces

        self.gym_space = space
        self._start = 0
        self.kind: Literal["number", "text", "point", "counts", "flat"]
        low: FloatArray | None = None
        high: FloatArray | None = None
        n_states: int | None = None
        names: tuple[str, ...] = ("observation",)
        if isinstance(space, spaces.Discrete):
            self.kind, n_states, self._start = "number", int(space.n), int(space.start)
        elif isinstance(space, spaces.Text):
            self.kind = "text"
        elif isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
            self.kind = "point"
            low, high = _bounds(space)
            names = _numbered("observation", low.size)
        elif isinstance(space, spaces.Tuple | spaces.Dict) and _counts_only(space):
            self.kind = "counts"
            leaves = [(name, *_bounds(leaf)) for name, leaf in _leaves(space, "")]
            low = np.concatenate([least for _, least, _ in leaves])
            high = np.concatenate([most for _, _, most in leaves])
            names = tuple(n for name, least, _ in leaves for n in _numbered(name, least.size))
        elif isinstance(space, spaces.Tuple | spaces.Dict) and space.is_np_flattenable:
            self.kind = "flat"
            low, high = _bounds(spaces.flatten_space(space))
            names = tuple(_leaf_names(space))
        else:
            raise fail(
                "observation space",
                "Box, Discrete, MultiDiscrete, MultiBinary, Text, or a Tuple or Dict of those",
                space,
                "wrap the environment, with gymnasium.wrappers.TransformObservation for example",
            )
        known = _KNOWN_NAMES.get(env_name, ())
        names = known if len(known) == len(names) else names
        self.width = 1 if low is None else low.size
        self.space = ObservationSpace(names=names, n_states=n_states, low=low, high=high)

    def empty(self, *shape: int) -> Any:
        """Return room for observations: points have one axis more."""
        if self.kind == "number":
            return np.empty(shape, np.int64)
        if self.kind == "text":
            return np.empty(shape, object)
        return np.empty((*shape, self.width))

    def one(self, observation: Any) -> Any:
        """Return a single observation: a number, a text, or a point of shape (m,)."""
        if self.kind == "point":
            return np.asarray(observation, np.float64).reshape(-1)
        if self.kind == "number":
            return int(observation) - self._start
        if self.kind == "text":
            return str(observation)
        if self.kind == "counts":
            return np.array(_counted(self.gym_space, observation), np.float64)
        from gymnasium.spaces import flatten

        return np.asarray(flatten(self.gym_space, observation), np.float64)

    def many(self, observations: Any, n: int) -> Any:
        """Return n observations that came as one batch, as vector environments give them."""
        if self.kind == "point":
            return np.asarray(observations, np.float64).reshape(n, self.width)
        if self.kind == "number":
            return np.asarray(observations, np.int64).reshape(n) - self._start
        from gymnasium.vector.utils import batch_space, iterate

        rows = self.empty(n)
        if self.kind == "text":
            rows[:] = [str(text) for text in observations]
            return rows
        # A batch of Dict is a Dict of batches.
        for i, row in enumerate(iterate(batch_space(self.gym_space, n), observations)):
            rows[i] = self.one(row)
        return rows

    def problem(self, rows: Any) -> tuple[int, str] | None:
        """Return the first row that no learner could use, and what is wrong with it."""
        if self.kind == "text" or len(rows) == 0:
            return None
        if self.kind == "number":
            bad = (rows < 0) | (rows >= (self.space.n_states or 0))
        else:
            bad = ~np.isfinite(rows).all(axis=1)
        if not bad.any():
            return None
        i = int(np.argmax(bad))
        if self.kind == "number":
            return i, f"{rows[i] + self._start}, which is not in {self.gym_space}"
        j = int(np.argmax(~np.isfinite(rows[i])))
        return i, f"{rows[i, j]} for {self.space.names[j]}"

    def check(self, place: Callable[[int], str], reward: FloatArray, *tables: Any) -> None:
        """Refuse observations and rewards that would poison a learner; ``place`` names a step."""
        for rows in tables:
            found = self.problem(rows)
            if found is not None:
                expected = "an observation that is finite and in its space"
                raise fail(place(found[0]), expected, found[1])
        if not np.isfinite(reward).all():
            i = int(np.argmax(~np.isfinite(reward)))
            raise fail(place(i), "a finite reward", reward[i])


class EncodedSource:
    """What sources share whose observations are of a Gymnasium space."""

    skipped_rows = 0

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        self._starts = Starts()

    @property
    def space(self) -> ObservationSpace:
        """What is known of the observations."""
        return self._observations.space

    @property
    def starts(self) -> Any:
        """The first observations of at most 256 of the episodes seen so far."""
        return self._starts.sample()


def _bounds(space: Any) -> tuple[FloatArray, FloatArray]:
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    elif isinstance(space, spaces.Discrete):
        low = np.array([space.start], np.float64)
        high = low + space.n - 1
    elif isinstance(space, spaces.MultiDiscrete):
        low = space.start.astype(np.float64)
        high = low + space.nvec - 1
    else:
        low, high = np.zeros(space.shape), np.ones(space.shape)
    low = np.where(low < -_AS_GOOD_AS_INFINITE, -np.inf, low).reshape(-1)
    high = np.where(high > _AS_GOOD_AS_INFINITE, np.inf, high).reshape(-1)
    return low, high


def _numbered(name: str, n: int) -> tuple[str, ...]:
    return (name,) if n == 1 else tuple(f"{name}[{i}]" for i in range(n))


def _parts(space: Any, name: str) -> list[tuple[str, Any]]:
    """What a Dict or a Tuple consists of, with names."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return [(f"{name}.{key}".lstrip("."), part) for key, part in space.spaces.items()]
    return [(f"{name}[{i}]", part) for i, part in enumerate(space.spaces)]


def _leaves(space: Any, name: str) -> list[tuple[str, Any]]:
    """What is neither Dict nor Tuple, however deep, with names."""
    from gymnasium import spaces

    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return [(name, space)]
    return [leaf for place, part in _parts(space, name) for leaf in _leaves(part, place)]


def _counts_only(space: Any) -> bool:
    from gymnasium import spaces

    kinds = spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
    return all(isinstance(leaf, kinds) for _, leaf in _leaves(space, ""))


def _counted(space: Any, observation: Any) -> list[int]:
    """The whole numbers of an observation, in the order of ``_leaves``."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        pairs = [(part, observation[key]) for key, part in space.spaces.items()]
    elif isinstance(space, spaces.Tuple):
        pairs = list(zip(space.spaces, observation, strict=True))
    else:
        return list(np.asarray(observation, np.int64).reshape(-1).tolist())
    return [number for part, value in pairs for number in _counted(part, value)]


def _leaf_names(space: Any) -> list[str]:
    """One name for each number of the flattened space."""
    from gymnasium import spaces

    names: list[str] = []
    for name, leaf in _leaves(space, ""):
        if isinstance(leaf, spaces.Discrete):
            names += [f"{name}={leaf.start + i}" for i in range(leaf.n)]
        else:
            names += _numbered(name, spaces.flatdim(leaf))
    return names
