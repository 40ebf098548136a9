"""Steps: a batch of transitions as a source saw them, before features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from lincat._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ObservationSpace:
    """What a source knows of its observations before it has seen many of them.

    Attributes
    ----------
    names : tuple of str
        One name for each number of an observation, or a single one for ids.
    n_states : int or None
        For observations that are the numbers 0 .. n_states - 1 of a finite set.
    low, high : arrays of shape (m,), or None
        Bounds of observations that are points; infinite where none is known.
    """

    names: tuple[str, ...]
    n_states: int | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None


@dataclass(frozen=True)
class Steps:
    """n steps in the order in which they were seen. Sources have checked them: nothing is NaN.

    Attributes
    ----------
    observation, next_observation : arrays
        Points: floats of shape (n, m). Ids: shape (n,), integers or objects (strings, tuples, ...).
    reward : array of shape (n,)
    terminated : array of bool, shape (n,)
        The episode ended here: nothing follows.
    truncated : array of bool, shape (n,)
        The record breaks off here although the episode continues: the next step does not follow.
    discount : array of shape (n,), or None
        What the next state's return is multiplied by; the learner's gamma by default.
    weight : array of shape (n,), or None
        How much each step counts: as often as it stands for, or its importance ratio.
    time : int array of shape (n,), or None
        When each step was, in microseconds since 1970, where the record tells.
    action_noise : array of shape (n, k), or None
        What the policy's own chance added to each action: numbers of mean 0 given the observation.
    record : array of shape (n + 1, m), or None
        Points that follow each other without a gap: ``observation`` is ``record[:-1]`` and
        ``next_observation`` is ``record[1:]``, and features need not be made twice.
    ahead : int
        How many rows below a next observation is to be found, as a rule.
    """

    observation: Any
    reward: FloatArray
    next_observation: Any
    terminated: BoolArray
    truncated: BoolArray
    discount: FloatArray | None = None
    weight: FloatArray | None = None
    time: IntArray | None = None
    action_noise: FloatArray | None = None
    record: FloatArray | None = None
    ahead: int = 1

    def __len__(self) -> int:
        return len(self.reward)

    def __getitem__(self, part: slice) -> Steps:
        """Return a slice, without copying."""
        columns: list[Any] = [None if x is None else x[part] for x in self._columns()]
        start, stop, stride = part.indices(len(self))
        record = None
        if self.record is not None and stride == 1 and start < stop:
            record = self.record[start : stop + 1]
        columns += [record, self.ahead]
        return Steps(*columns)

    def copy(self) -> Steps:
        """Return steps that share no memory with these."""
        columns: list[Any] = [None if x is None else x.copy() for x in self._columns()]
        columns += [None, self.ahead]
        return Steps(*columns)

    def both(
        self, transform: Callable[..., Any], *known: tuple[FloatArray, FloatArray]
    ) -> tuple[Any, Any]:
        """Return what ``transform`` makes of observations and next observations, once if it can.

        It has to make of each observation what it makes of it alone, whatever comes with it. What
        is ``known`` of them, numbers of observations and of next ones, is given to it as well.
        """
        if self.record is not None:
            with_last = (np.append(here, there[-1]) for here, there in known)
            made = transform(self.record, *with_last)
            return made[:-1], made[1:]
        n, new = len(self), self._new_points()
        if new is None or len(new) > n // 2:
            here, there = zip((self.observation, self.next_observation), *known, strict=True)
            return transform(*here), transform(*there)
        pairs = ((self.observation, self.next_observation), *known)
        made = transform(*(np.concatenate([here, there[new]]) for here, there in pairs))
        follows = np.arange(self.ahead, n + self.ahead)
        follows[new] = np.arange(n, n + len(new))
        return made[:n], made[follows]

    def _new_points(self) -> IntArray | None:
        """Rows whose next observation is not ``ahead`` rows below; None of what is no point."""
        here, there = self.observation, self.next_observation
        if any(not isinstance(x, np.ndarray) or x.dtype.kind != "f" for x in (here, there)):
            return None
        within = max(len(self) - self.ahead, 0)
        same = there[:within] == here[self.ahead :]
        other = np.flatnonzero(~same.all(axis=tuple(range(1, same.ndim))))
        return np.concatenate([other, np.arange(within, len(self))])

    @property
    def weighted(self) -> bool:
        """Whether the source gave weights; those that balance a policy's actions are none."""
        return self.weight is not None and self.action_noise is None

    def begins(self) -> IntArray:
        """Return the numbers of the steps that records begin with, the first step among them."""
        ends = self.terminated | self.truncated
        return np.concatenate([[0], np.flatnonzero(ends[:-1]) + 1])

    def discounts(self, gamma: float) -> FloatArray:
        """Return the discount of each step: as given, or gamma; 0 where it terminated."""
        given = np.full(len(self), gamma) if self.discount is None else self.discount
        return np.where(self.terminated, 0.0, given)

    def _columns(self) -> list[Any]:
        return [getattr(self, x.name) for x in fields(self) if x.name not in ("record", "ahead")]


def joined(parts: Sequence[Steps]) -> Steps:
    """Return several batches of one source as a single one.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.steps import Steps, joined
    >>> one = Steps(np.array([0]), np.array([1.0]), np.array([1]), np.array([True]),
    ...             np.array([False]))
    >>> joined([one, one]).observation
    array([0, 0])
    """
    if len(parts) == 1:
        return parts[0]
    columns: Any = zip(*(part._columns() for part in parts), strict=True)
    whole: list[Any] = [None if c[0] is None else np.concatenate(c) for c in columns]
    whole += [None, parts[0].ahead]
    return Steps(*whole)
