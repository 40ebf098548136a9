"""Reward nodes: the few values that stand for all rewards.

While there are few distinct rewards, the nodes are these values, and nothing is approximated.
Otherwise nodes lie close where rewards do, wherever that is (what an end pays, say, far from the
costs on the way), and a reward r is split over the three nodes a < b < c about its nearest one:

    w_a = (r − b)(r − c) / ((a − b)(a − c)), and so on

the weights of quadratic interpolation, so that Σ w = 1, Σ w x = r and Σ w x² = r² (a weight may be
negative, since only signed weights keep r² where r is no node). Rewards nearest to an end have
nodes added beyond it, each 1.5 times as far from the last as that from the one before. Those depend
on the two last nodes alone, and a reward is split in the same way wherever the nodes end, so that
sums on nodes that grew apart from the same ones still add up.
"""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, fail
from lincat._typing import ArrayLike, BoolArray, FloatArray, IntArray

_FEWEST, _MOST = 64, 256  # distinct rewards that are kept as they are, whatever they take
_NUMBERS = 2**19  # that the sums of a block may have for more than the fewest
_GROWTH = 1.5
_WIDER = 4.0  # than the next a gap between nodes may be, at most
_MOST_NODES = 512
_TINY = 1e-300  # of the range: no smaller scale, so that quotients by it are numbers
_FURTHEST = 1e150  # between the ends: its square is a number


class RewardNodes:
    """The nodes of a stream so far: the rewards themselves while they are few.

    Attributes
    ----------
    values : array of shape (M,)
        Ascending.
    exact : bool
        Whether they are the rewards themselves.
    counts : array of shape (M,)
        How often each occurred; used for exact values only.
    most_exact : int
        As many distinct rewards are kept as they are.
    """

    most_exact: int = _FEWEST

    def __init__(self, number: int, values: FloatArray | None = None) -> None:
        self.number = number  # of nodes, once there are too many values
        self.exact = values is None
        self.values = np.zeros(0) if values is None else values
        self.counts = np.zeros(len(self.values))

    def copy(self) -> RewardNodes:
        """Return nodes that can be changed without changing these."""
        other = RewardNodes(self.number, self.values)
        other.exact, other.counts = self.exact, self.counts.copy()
        other.most_exact = self.most_exact
        return other

    def cover(self, rewards: FloatArray, counts: FloatArray | None = None) -> IntArray | None:
        """Make sure that these rewards have nodes; exact ones become spaced ones if too many.

        ``counts`` says how often each was seen; without it, they are as they came, in any order.
        Returns the nodes of the rewards if all of them were there, exactly.
        """
        if self.exact:
            known = np.minimum(np.searchsorted(self.values, rewards), len(self.values) - 1)
            if len(self.values) and (self.values[known] == rewards).all():
                self.counts += np.bincount(known, counts, len(self.values))
                return known
            if counts is None:  # sorted without their places, which takes a third of the time
                rewards, number = np.unique(rewards, return_counts=True)
                counts = number.astype(np.float64)
            values, total = _counted(
                np.concatenate([self.values, rewards]), np.concatenate([self.counts, counts])
            )
            if len(values) <= self.most_exact:
                self.values, self.counts = values, total
                return None
            self.values, self.exact = spaced_nodes(values, total, self.number), False
            self.counts = np.zeros(0)
            rewards = values
        self.values = grown(self.values, float(rewards.min()), float(rewards.max()))
        return None

    def place(self, rewards: FloatArray) -> tuple[IntArray, FloatArray | None]:
        """Return the first node of each reward, and how it is split over three; None if exact."""
        if self.exact:
            return np.searchsorted(self.values, rewards), None
        return three_way(self.values, rewards)

    def agreed(self, other: RewardNodes) -> RewardNodes:
        """Return nodes for the rewards of both."""
        both = self.copy()
        if other.exact:
            if len(other.values):
                both.cover(other.values, other.counts)
        elif self.exact:
            both = other.agreed(self)
            both.number = self.number
        else:
            values = common_nodes(self.values, other.values)
            if values is None:
                raise fail(
                    "nodes",
                    f"the same reward nodes on both sides, here {_shown(self.values)}",
                    _shown(other.values),
                    "give nodes=other.nodes_ before the first update",
                )
            both.values = values
        return both


def most_exact(n_features: int, *, dense: bool) -> int:
    """Return how many distinct rewards are kept as they are: more where that takes little memory.

    Examples
    --------
    >>> from lincat.statistics.reward_nodes import most_exact
    >>> [most_exact(d, dense=True) for d in (16, 60, 200)], most_exact(10_000, dense=False)
    ([256, 145, 64], 256)
    """
    if not dense:  # an entry for each reward of a cell, where nodes take three
        return _MOST
    return min(max(_NUMBERS // n_features**2, _FEWEST), _MOST)


def _counted(values: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values, ascending, and how often each was seen."""
    if (values[1:] > values[:-1]).all():
        return values, counts
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.bincount(place, counts).astype(np.float64)


def _shown(nodes: FloatArray) -> str:
    middle = nodes[len(nodes) // 2]
    return f"{len(nodes)} from {nodes[0]:.6g} to {nodes[-1]:.6g} about {middle:.6g}"


def spaced_nodes(values: FloatArray, weights: FloatArray, n: int) -> FloatArray:
    """Return at most n nodes, from one below the smallest value to one above the largest.

    What is split over nodes h apart moves by h³ in the third moment, so that with f the density of
    the rewards nodes should lie as densely as f^¼; half of them lie as f^⅓ does, which hardly
    differs, and half are spaced like sinh about the median, coarsely in the tails, whatever few
    rewards these have shown. Smallest and largest value, the median and values that occur often
    are nodes themselves, since constant rewards and rare constant losses are common. No space
    between nodes is more than four times as wide as the next, if n allow: a reward that comes to
    lie in a wide one beside a narrow one would get large weights.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.statistics.reward_nodes import spaced_nodes
    >>> rewards = np.concatenate([np.linspace(-1.0, 1.0, 60), np.linspace(99.0, 101.0, 20)])
    >>> spaced_nodes(rewards, np.ones(80), 16).round(1)
    array([ -2. ,  -1. ,  -0.3,   0.3,   0.8,   2.1,   6.1,  15. ,  37.9,
            60.9,  83.8,  95. ,  99.5, 101. , 103.2])
    """
    values, weights = _counted(values, weights)
    if not values[-1] - values[0] <= _FURTHEST:
        raise _unusable(float(values[0]), float(values[-1]))
    along, often = _crowding(values, weights, n), _frequent(values, weights, n)
    inner = n - 2
    for number in range(inner, inner // 2, -1):
        evenly = np.interp(np.linspace(0.0, 1.0, number), along, values)
        nodes, graded = _graded(_moved_to(often, evenly), inner)
        if graded:
            break
    below, above = _GROWTH * (nodes[1] - nodes[0]), _GROWTH * (nodes[-1] - nodes[-2])
    return np.concatenate([[nodes[0] - below], nodes, [nodes[-1] + above]])


def _crowding(values: FloatArray, weights: FloatArray, n: int) -> FloatArray:
    """How much of n nodes should lie below each of the values, from 0 to 1, shape (m,)."""
    whole = values[-1] - values[0]
    gap = np.diff(values) / whole
    near = 0.5 * (weights[1:] + weights[:-1])
    dense = np.cbrt(near * gap**2)  # the integral of f^⅓ over the gap, f = near / gap
    dense = np.minimum(dense, 2.0 / n * dense.sum())  # where there are no rewards, few nodes do
    centre = _median(values, weights)
    away = values != centre
    scale = max(_median(np.abs(values[away] - centre), weights[away]), _TINY * whole)
    wide = np.diff(np.arcsinh((values - centre) / scale))
    return np.concatenate([[0.0], np.cumsum(0.5 * dense / dense.sum() + 0.5 * wide / wide.sum())])


def _frequent(values: FloatArray, weights: FloatArray, n: int) -> FloatArray:
    """The median and both ends, and what makes up more than its share of n nodes."""
    ends = [values[0], _median(values, weights), values[-1]]
    heaviest = np.argsort(-weights, kind="stable")[: (n - 5) // 4]
    often = heaviest[weights[heaviest] > max(weights.sum() / n, 1.0)]
    return np.unique(np.concatenate([ends, values[often]]))


def _moved_to(values: FloatArray, nodes: FloatArray) -> FloatArray:
    """Nodes, of which those nearest to some values are moved there."""
    moved = nodes.copy()
    for value in values:
        moved[np.argmin(np.abs(moved - value))] = value
    return np.unique(np.concatenate([moved, values]))


def _graded(nodes: FloatArray, most: int) -> tuple[FloatArray, bool]:
    """Nodes with others between them, so that no gap is much wider than the next; if most allow."""
    for _ in range(most):
        gap = np.diff(nodes)
        wider = np.diff(np.log(gap))
        at = int(np.abs(wider).argmax()) if len(wider) else 0
        if len(wider) == 0 or abs(wider[at]) <= np.log(_WIDER):
            return nodes, len(nodes) <= most
        if len(nodes) >= most:
            break
        step = 0.75 * _WIDER * (gap[at] if wider[at] > 0.0 else -gap[at + 1])
        nodes = np.unique(np.append(nodes, nodes[at + 1] + step))
    return nodes, False


def _median(values: FloatArray, weights: FloatArray) -> float:
    """Return the smallest value with at least half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(total, total[-1] / 2.0)]])


def grown(nodes: FloatArray, low: float, high: float) -> FloatArray:
    """Return the nodes, with others beyond them if an end is the nearest node of low or high."""
    above = _beyond(float(nodes[-2]), float(nodes[-1]), high)
    below = _beyond(float(-nodes[1]), float(-nodes[0]), -low)
    if len(nodes) + len(above) + len(below) > _MOST_NODES or high - low > _FURTHEST:
        raise _unusable(low, high)
    return np.concatenate([-np.array(below[::-1]), nodes, above])


def _beyond(before: float, last: float, goal: float) -> list[float]:
    found: list[float] = []
    while 0.5 * (before + last) <= goal and len(found) <= _MOST_NODES:
        before, last = last, last + _GROWTH * (last - before)
        found.append(last)
    return found


def three_way(nodes: FloatArray, reward: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the first of the three nodes of each reward, shape (n,), and weights, (n, 3).

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.statistics.reward_nodes import three_way
    >>> first, weight = three_way(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.25]))
    >>> first, weight
    (array([0]), array([[-0.09375,  0.9375 ,  0.15625]]))
    """
    first, weight = np.empty(len(reward), dtype=np.int64), np.empty((len(reward), 3))
    kernels.placement.split_rewards(first, weight, nodes, reward)
    return first, weight


def common_nodes(left: FloatArray, right: FloatArray) -> FloatArray | None:
    """Return the nodes of both, if they are the same wherever both have some; None otherwise."""
    both = np.union1d(left, right)
    low, high = max(left[0], right[0]), min(left[-1], right[-1])
    shared = (both >= low) & (both <= high)
    if shared.sum() >= 2 and all(np.isin(both[shared], x).all() for x in (left, right)):
        return both
    return None


def check_nodes(nodes: ArrayLike) -> FloatArray:
    """Return nodes that a user gave: at least three, ascending."""
    array = check_array(nodes, "nodes", shape=(None,))
    ascending: BoolArray = np.diff(array) > 0.0
    if len(array) < 3 or not ascending.all():
        got = f"{len(array)} numbers" if len(array) < 3 else "numbers in another order"
        raise fail("nodes", "at least three ascending numbers", got)
    if len(array) > _MOST_NODES:
        raise fail("nodes", f"at most {_MOST_NODES} numbers", len(array))
    if not array[-1] - array[0] <= _FURTHEST:
        raise fail("nodes", f"a range of at most {_FURTHEST:g}", f"{array[0]:g} to {array[-1]:g}")
    return array


def _unusable(low: float, high: float) -> Exception:
    return fail(
        "reward",
        f"rewards that {_MOST_NODES} nodes can tell apart",
        f"rewards from {low:g} to {high:g}",
        "rescale or clip them, or pass nodes=",
    )
