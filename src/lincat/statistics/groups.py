"""Groups: numbers for the pairs of a reward node and a discount."""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._arguments import fail
from lincat._typing import FloatArray, IntArray
from lincat.statistics.reward_nodes import RewardNodes

Shares = list[tuple[tuple[int, float], ...]]  # of each group: which groups get how much of it
_MOST_DISCOUNTS = 256
_NONE = -1.0  # where no discount was given


class Groups:
    """Reward, power of gamma and given discount of each group, in the order of their numbers.

    ``power`` is 1 where the discount is gamma, 0 where nothing follows, -1 where it was given.
    """

    def __init__(self, keys: list[tuple[float, int, float]] | None = None) -> None:
        self._numbers = {key: i for i, key in enumerate(keys or [])}
        self._table: tuple[IntArray, FloatArray, IntArray, FloatArray] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> list[tuple[float, int, float]]:
        """Reward, power and discount (-1 if none was given) of each group."""
        return list(self._numbers)

    def copy(self) -> Groups:
        """Return groups that can be added to without changing these."""
        return Groups(self.keys)

    def number(self, reward: float, power: int, given: float) -> int:
        """Return the number of a group, a new one if need be."""
        # 0.0 and -0.0 are the same reward, and must look so.
        return self._numbers.setdefault((reward + 0.0, power, given), len(self._numbers))

    def numbers(self, reward: FloatArray, kinds: list[tuple[int, float]]) -> IntArray:
        """Return the numbers of groups: rewards (n, parts), and n pairs of power and discount."""
        asked = zip(reward.tolist(), kinds, strict=True)
        found = [[self.number(r, *kind) for r in rewards] for rewards, kind in asked]
        return np.array(found, dtype=np.int64).reshape(reward.shape)

    def discount_kinds(self, discount: FloatArray) -> tuple[IntArray, list[tuple[int, float]]]:
        """Return the kind of discount of each row, and (power, given discount) of each kind."""
        kinds = [(1, _NONE), (0, _NONE)]
        kind = np.empty(len(discount), dtype=np.int64)
        if kernels.placement.discount_kinds(kind, discount):
            given = discount > 0.0  # False for NaN
            values, number = np.unique(discount[given], return_inverse=True)
            kind[given] = number + 2
            kinds += [(-1, value) for value in values.tolist()]
            known = {key[2] for key in self._numbers} | set(values.tolist())
            if len(known - {_NONE}) > _MOST_DISCOUNTS:
                raise fail(
                    "discount",
                    f"at most {_MOST_DISCOUNTS} distinct discounts",
                    f"more, {values[0]:g} and {values[-1]:g} among them",
                    "round them, or use a streaming learner",
                )
        return kind, kinds

    def shares(self, nodes: RewardNodes, groups: Groups) -> Shares:
        """Return which of ``groups``, on these nodes, gets how much of each of these groups."""
        if not self._numbers:
            return []
        keys = self.keys
        rewards = np.array([key[0] for key in keys])
        where = np.searchsorted(nodes.values, rewards)
        first, split = nodes.place(rewards)
        shares: Shares = []
        for i, (reward, power, given) in enumerate(keys):
            at_node = where[i] < len(nodes.values) and nodes.values[where[i]] == reward
            if at_node or split is None:
                shares.append(((groups.number(reward, power, given), 1.0),))
                continue
            three = nodes.values[first[i] : first[i] + 3].tolist()
            shares.append(
                tuple(
                    (groups.number(value, power, given), float(part))
                    for value, part in zip(three, split[i], strict=True)
                )
            )
        return shares

    def table(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Return the numbers of all groups in an order that does not depend on how they came.

        And in that order their rewards, powers and given discounts (NaN for none): first those
        discounted by gamma, then by what was given, then those that ended; by reward within.
        """
        if self._table is not None and len(self._table[0]) == len(self):
            return self._table  # groups are added, never changed
        keys = self.keys
        ranks = [(_RANK[power], given, reward) for reward, power, given in keys]
        order = np.array(sorted(range(len(keys)), key=ranks.__getitem__), dtype=np.int64)
        reward = np.array([keys[i][0] for i in order])
        power = np.array([keys[i][1] for i in order], dtype=np.int64)
        given = np.array([np.nan if keys[i][2] == _NONE else keys[i][2] for i in order])
        self._table = order, reward, power, given
        return self._table


_RANK = {1: 0, -1: 1, 0: 2}
