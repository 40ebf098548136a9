"""One tree in which numbered statistics are added, whoever made them and whenever they came.

Sums of floating-point numbers depend on their order in the last bits. So parts have numbers, 0, 1,
2, ..., and are added in a tree that depends on these alone: 0 and 1, 2 and 3, then the first of
these pairs and the second, and so on; a part without a neighbour moves up as it is. The same parts
give the same bits, in whatever order they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from lincat._arguments import check_integer, fail
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.reward_nodes import RewardNodes


class MergeTree:
    """Adds numbered statistics as they arrive, and holds no more of them than it must.

    Where parts arrive in order, about log2 n are held at once.

    Examples
    --------
    >>> import lincat
    >>> from lincat.statistics.merging import MergeTree
    >>> one = lincat.Statistics(n_features=1).update(lincat.Transitions([0], [0.1], [0]))
    >>> tree = MergeTree()
    >>> for number in (2, 0, 1):
    ...     tree.add(number, one)
    >>> tree.merged().count
    3
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], Statistics] = {}  # by level and place on it
        self._numbers: set[int] = set()

    def __len__(self) -> int:
        """How many parts were added."""
        return len(self._numbers)

    def add(self, number: int, part: Statistics) -> None:
        """Add a part, which stays as it is."""
        number = check_integer(number, "number", low=0)
        if number in self._numbers:
            raise fail("number", "a part that was not added before", number)
        self._numbers.add(number)
        level, place = 0, number
        while (other := self._waiting.pop((level, place ^ 1), None)) is not None:
            part = _sum(other, part) if place & 1 else _sum(part, other)
            level, place = level + 1, place >> 1
        self._waiting[level, place] = part

    def merged(self) -> Statistics:
        """Return the sum of all parts, of which none may be missing."""
        n = len(self._numbers)
        if not n:
            raise fail("parts", "at least one", "none")
        if max(self._numbers) >= n:
            lost = next(i for i in range(n) if i not in self._numbers)
            raise fail("parts", f"all from 0 to {max(self._numbers)}", f"none with number {lost}")
        # What is left lies side by side: the larger subtrees first, each alone on its level.
        *left, whole = (self._waiting[at] for at in sorted(self._waiting, reverse=True))
        for part in reversed(left):
            whole = _sum(part, whole)
        return whole


def _sum(first: Statistics, second: Statistics) -> Statistics:
    return first.copy().merge(second)


def merge_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Return the sum of statistics, in a tree by their order; none of them changes.

    In any other order it is the same to rounding: rewards of all parts get their nodes first, so
    that which parts meet first does not matter for these.

    Examples
    --------
    >>> import lincat
    >>> from lincat.statistics.merging import merge_statistics
    >>> parts = [lincat.Statistics(n_features=1).update(lincat.Transitions([0], [r], [0]))
    ...          for r in (0.5, 1.0, 0.5)]
    >>> merge_statistics(parts).totals().phi_sum.ravel()
    array([2., 1.])
    """
    nodes = agreed_nodes(parts)
    tree = MergeTree()
    for number, part in enumerate(parts):
        tree.add(number, part if nodes is None else part.on_nodes(nodes))
    return tree.merged()


def agreed_nodes(parts: Iterable[Statistics]) -> RewardNodes | None:
    """Return nodes for the rewards of all parts; None where every reward is kept as it is."""
    seen = [part.reward_nodes for part in parts if len(part)]
    both = RewardNodes(max((nodes.number for nodes in seen), default=0))
    both.most_exact = max((nodes.most_exact for nodes in seen), default=both.most_exact)
    for nodes in (nodes for nodes in seen if not nodes.exact):
        both = both.agreed(nodes)
    exact = [nodes for nodes in seen if nodes.exact]
    if exact:  # all at once: nodes that are chosen from some of them are not those of the others
        both.cover(
            np.concatenate([nodes.values for nodes in exact]),
            np.concatenate([nodes.counts for nodes in exact]),
        )
    return None if both.exact else both
