"""A bounded sample of the observations that episodes began with."""

from __future__ import annotations

from typing import Any

import numpy as np


class Starts:
    """Keep at most ``capacity`` first observations of episodes, each as likely as any other.

    Examples
    --------
    >>> from lincat.data.starts import Starts
    >>> starts = Starts(capacity=2)
    >>> for state in [3, 3, 3, 3]:
    ...     starts.add(state)
    >>> starts.seen, starts.sample()
    (4, array([3, 3]))
    """

    def __init__(self, capacity: int = 256, seed: int = 0) -> None:
        self.capacity = capacity
        self.seen = 0
        self._kept: list[Any] = []
        self._rng = np.random.default_rng(seed)

    def add(self, observation: Any) -> None:
        """Show one first observation, as it stands in :class:`Steps`."""
        self.add_many([observation])

    def add_many(self, observations: Any) -> None:
        """Show several: the rows of an array, or a list."""
        room = self.capacity - len(self._kept)
        for observation in observations[:room]:
            self._kept.append(_own(observation))
        self.seen += min(room, len(observations))
        late = observations[room:]
        if len(late) == 0:
            return
        # Reservoir sampling: the k-th one seen stays with probability capacity / k.
        places = self._rng.integers(np.arange(self.seen, self.seen + len(late)) + 1)
        self.seen += len(late)
        for i in np.flatnonzero(places < self.capacity):
            self._kept[places[i]] = _own(late[i])

    def sample(self) -> Any:
        """Return what was kept: points (k, m) or ids (k,); empty before the first episode."""
        if self._kept and not isinstance(self._kept[0], np.ndarray | np.number | int | float):
            rows = np.empty(len(self._kept), dtype=object)
            rows[:] = self._kept
            return rows
        return np.array(self._kept)


def _own(observation: Any) -> Any:
    """A row of a batch would keep the whole batch alive."""
    return observation.copy() if isinstance(observation, np.ndarray) else observation
