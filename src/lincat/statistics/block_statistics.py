"""Statistics: what transitions say, for any gamma, any grid and any number of intervals."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import check_integer, fail
from lincat._room import check_room
from lincat._typing import ArrayLike, FloatArray, IntArray
from lincat.data.rewards import EXPECTED, LARGEST
from lincat.data.transitions import Transitions
from lincat.statistics.blocks import Block, Blocks, Sums
from lincat.statistics.dense import DenseSums
from lincat.statistics.extremes import Extremes
from lincat.statistics.groups import Groups
from lincat.statistics.placement import Buckets, Placement, placed
from lincat.statistics.reward_nodes import RewardNodes, check_nodes, most_exact
from lincat.statistics.rows import Rows, rows_of
from lincat.statistics.sparse import SparseSums
from lincat.statistics.totals import Totals
from lincat.statistics.trace import Trace
from lincat.statistics.waiting import Waiting
from lincat.statistics.workers import workers

_A_FEATURE = 8  # numbers for each, however few of them rows have: solving counts all of them
_NODES = 64
_SMALL = 64  # up to as many features, a table of states is summed in dense matrices


class Statistics:
    """Sums over transitions, by blocks of time, from which the fixed point of the data is solved.

    Nothing in them depends on gamma, on a grid or on its number of intervals (Thm
    linear_cate_TD_equation): with groups g of equal reward and discount,

        N_g = Σ w phi phi'ᵀ,   c_g = Σ w phi,   Sigma = Σ w phi phiᵀ

    for each block. Blocks are added, so statistics of several files or sites give the answer of all
    of them together. Up to 64 distinct rewards, or 256 where that takes little memory, are kept as
    they are; more are split over nodes, so that their sum and their sum of squares stay exact. How
    a stream was cut into updates does not matter, to the last bit.

    Parameters
    ----------
    n_features : int, optional
        The number of features d; found from the first transitions unless states are numbers.
    max_blocks : int
        At most as many blocks; there are at least half as many once there are enough rows.
    nodes : "auto", int, array, or Statistics
        Nodes for rewards that are not kept as they are: 64 or another number of them, chosen from
        the first rewards, or given ones, or those of other statistics (which must agree to be
        merged).
    memory_limit : int
        Bytes that the sums may take. Where they would take more, there are fewer blocks; what does
        not fit as one block is refused.
    keep_last : int, optional
        Keep only the blocks that hold the last so many transitions, for worlds that drift; by
        default all of them. ``count`` counts all.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> statistics = lincat.Statistics(n_features=2)
    >>> statistics.update(lincat.Transitions([0, 1, 1], [1.0, 0.0, 5.0], [1, 1, 0],
    ...                                      terminated=[0, 0, 1])).count
    3
    >>> totals = statistics.totals()
    >>> totals.reward, totals.power
    (array([0., 1., 5.]), array([1, 1, 0]))
    >>> totals.cross[1]
    array([[0., 1.],
           [0., 0.]])
    """

    def __init__(
        self,
        n_features: int | None = None,
        *,
        max_blocks: int = 64,
        nodes: Any = "auto",
        memory_limit: int = 2**31,
        keep_last: int | None = None,
    ) -> None:
        self.keep_last = keep_last
        if keep_last is not None:
            self.keep_last = check_integer(keep_last, "keep_last", low=1)
        self.n_features = n_features
        if n_features is not None:
            self.n_features = check_integer(n_features, "n_features", low=1)
        self.max_blocks = check_integer(max_blocks, "max_blocks", low=1)
        self.memory_limit = check_integer(memory_limit, "memory_limit", low=1)
        self._nodes = _chosen_nodes(nodes)
        self._groups = Groups()
        self._buckets: Buckets | None = None  # of the last rows
        self._blocks = Blocks(self.max_blocks)
        self._dense = True
        self._waiting = Waiting()
        self._settled_copy: Statistics | None = None
        self.count = 0
        self.reward_low, self.reward_high = np.inf, -np.inf
        self._largest_norm = 0.0
        self.trace = Trace()
        #: Of what rewards would come to for ever, where TD errors stand for them.
        self.extremes = Extremes()

    # Adding

    def update(self, transitions: Transitions, truncated: ArrayLike | None = None) -> Statistics:
        """Add transitions, in the order in which they were seen.

        Parameters
        ----------
        transitions : Transitions
        truncated : array of bool, shape (n,), optional
            Where the record of an episode breaks off, so that blocks need not hold what follows;
            by default as the transitions say.
        """
        self._check(transitions)
        rows = rows_of(transitions, transitions.truncated if truncated is None else truncated)
        self._settled_copy = None
        self.count += len(rows)
        self.trace = self.trace.then(transitions.reward_seen, rows.end)
        self.reward_low = min(self.reward_low, float(rows.reward.min()))
        self.reward_high = max(self.reward_high, float(rows.reward.max()))
        if transitions.reach is not None:
            counts = slice(None) if transitions.weight is None else transitions.weight > 0.0
            self.extremes = self.extremes.then(transitions.reach[counts])
        if self._waiting.kind != rows.kind:
            self._flush()
        for chunk in self._waiting.chunks(rows, self._chunk(rows)):
            self._add(chunk)
        return self

    def merge(self, other: Statistics) -> Statistics:
        """Add the blocks of other statistics behind these; ``other`` stays as it is.

        Rewards must have the same nodes, or nodes of which one are the others grown. Statistics
        with few distinct rewards have no nodes yet, and take those of the other side.
        """
        if not isinstance(other, Statistics):
            raise fail("other", "lincat.Statistics", type(other).__name__)
        if not other.count:
            return self
        d = other.n_features
        if self.n_features not in (None, d):
            raise fail("other", f"statistics of {self.n_features} features", d)
        self._flush()
        theirs = other._settled()
        if not self.count:
            self.n_features, self._dense = d, theirs._dense
            self._nodes.most_exact = theirs._nodes.most_exact
        nodes, groups = self._nodes.agreed(theirs._nodes), Groups()
        mine = self._blocks.regrouped(self._groups.shares(nodes, groups))
        added = theirs._blocks.regrouped(theirs._groups.shares(nodes, groups))
        if self._dense or theirs._dense:
            for blocks in (mine, added):
                blocks.items = [block.with_dense_sums(len(groups)) for block in blocks.items]
        mine.append(added)
        if self.keep_last is not None:
            mine.forget(self.keep_last)
        while not mine.fit(self.memory_limit, 0, self._refusal):
            pass
        self._dense = self._dense or theirs._dense
        self._nodes, self._groups, self._blocks, self._buckets = nodes, groups, mine, None
        self._settled_copy = None
        self.count += other.count
        self.trace = self.trace.joined(other.trace)
        self.extremes = self.extremes.joined(other.extremes)
        self.reward_low = min(self.reward_low, other.reward_low)
        self.reward_high = max(self.reward_high, other.reward_high)
        self._largest_norm = max(self._largest_norm, theirs._largest_norm)
        return self

    def copy(self) -> Statistics:
        """Return statistics that can be added to without changing these."""
        other = copy.copy(self)
        other._nodes, other._groups = self._nodes.copy(), self._groups.copy()
        other._blocks, other._waiting = self._blocks.copy(), self._waiting.copy()
        other._settled_copy = None
        return other

    def on_nodes(self, nodes: RewardNodes) -> Statistics:
        """Return the same sums with rewards on nodes that cover all of them."""
        other, groups = self._settled().copy(), Groups()
        other._blocks = other._blocks.regrouped(other._groups.shares(nodes, groups))
        other._nodes, other._groups, other._buckets = nodes.copy(), groups, None
        return other

    def totals(self) -> Totals:
        """Return the sums over all blocks."""
        return self._sum(range(self.n_blocks))

    def block_totals(self, i: int) -> Totals:
        """Return the sums of block i, of 0 .. n_blocks - 1, on the groups of :meth:`totals`."""
        return self._sum([self._number(i)])

    def leave_out(self, i: int) -> Totals:
        """Return the sums of all blocks but i, on the groups of :meth:`totals`."""
        i = self._number(i)
        return self._sum(j for j in range(self.n_blocks) if j != i)

    def window(self, first: int, last: int) -> Totals:
        """Return the sums of blocks first .. last - 1, on the groups of :meth:`totals`."""
        if not 0 <= first < last <= self.n_blocks:
            raise fail("window", f"0 <= first < last <= {self.n_blocks}", (first, last))
        return self._sum(range(first, last))

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self._settled()._blocks.items)

    @property
    def block_counts(self) -> IntArray:
        """The number of transitions in each block, shape (n_blocks,)."""
        return np.array([b.count for b in self._settled()._blocks.items], dtype=np.int64)

    @property
    def block_weights(self) -> FloatArray:
        """The sum of weights in each block, shape (n_blocks,)."""
        return np.array([block.weight for block in self._settled()._blocks.items])

    @property
    def weight(self) -> float:
        """The sum of all weights."""
        return float(self.block_weights.sum())

    @property
    def largest_norm(self) -> float:
        """The largest ‖phi‖² of all transitions."""
        return self._settled()._largest_norm

    @property
    def nodes_(self) -> FloatArray:
        """The values that stand for rewards, ascending."""
        return self._settled()._nodes.values.copy()

    @property
    def reward_nodes(self) -> RewardNodes:
        """The nodes with how they were chosen, for statistics that have to agree on them."""
        return self._settled()._nodes.copy()

    @property
    def exact_rewards(self) -> bool:
        """Whether every reward is kept as it is."""
        return self._settled()._nodes.exact

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._blocks.nbytes + self._waiting.nbytes

    @staticmethod
    def nbytes_for(
        n_features: int, n_nodes: int = _NODES, n_blocks: int = 64, n_discounts: int = 1
    ) -> int:
        """Return the bytes that dense sums take at most, with some discounts beside ends.

        Examples
        --------
        >>> import lincat
        >>> lincat.Statistics.nbytes_for(n_features=64, n_nodes=11, n_blocks=32) / 2**20
        12.34375
        """
        d, groups = n_features, n_nodes * n_discounts
        return 8 * n_blocks * (d * d * (1 + groups) + d * (n_nodes + groups))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"Statistics({self.count} transitions, {self.n_features} features)"

    def save(self, path: str | Path) -> None:
        """Write the statistics to a file: safetensors, no code, written whole or not at all."""
        from lincat.statistics.files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Statistics:
        """Read statistics that :meth:`save` wrote; a file that was changed since is refused."""
        from lincat.statistics.files import load

        return load(path)

    def _chunk(self, rows: Rows) -> int:
        """How many such rows are summed at once: many of each reward, some tens of megabytes.

        A power of two, as most batches are: rows that are left over have to be copied.
        """
        numbers = 1 if rows.kind == "states" else self.n_features or 1
        fit = max(2**22 // numbers, 1024)
        return int(min(2 ** (fit.bit_length() - 1), 2**15))

    def _empty(self) -> Sums:
        d = self.n_features or 0
        return DenseSums(d) if self._dense else SparseSums(d)

    def _check(self, transitions: Transitions) -> None:
        if not isinstance(transitions, Transitions):
            raise fail("transitions", "lincat.Transitions", type(transitions).__name__)
        if not len(transitions):
            raise fail("transitions", "at least one transition", "none")
        large = np.abs(transitions.reward_seen).max()
        if not large <= LARGEST:
            raise fail("reward", EXPECTED, f"{large:g}")
        d = transitions.n_features
        if d is None and self.n_features is None:
            remedy = "pass n_features= to Statistics"
            raise fail("n_features", "the number of states, since states are numbers", None, remedy)
        if d is not None and self.n_features not in (None, d):
            raise fail("phi", f"{self.n_features} features", d)
        if d is None:
            top = int(max(transitions.phi.max(), transitions.phi_next.max()))
            if top >= (self.n_features or 0):
                raise fail("phi", f"states below n_features = {self.n_features}", top)
        if not self.count:
            self.n_features = self.n_features if d is None else d
            small = (self.n_features or 0) <= _SMALL
            self._dense = transitions.kind == "dense" or small
            self._check_room("n_features" if d is None else "phi")
            self._nodes.most_exact = most_exact(self.n_features or 1, dense=self._dense)

    def _check_room(self, argument: str) -> None:
        """Refuse features of which the sums of one block, for one reward, would not fit."""
        d = self.n_features or 0
        numbers = 2 * d * d if self._dense else _A_FEATURE * d
        check_room(numbers, argument, f"{d} features", "use fewer")

    def _settled(self) -> Statistics:
        """Return these statistics with no row waiting; how they continue is not affected."""
        if not self._waiting:
            return self
        if self._settled_copy is None:
            self._settled_copy = self.copy()
            self._settled_copy._flush()
        return self._settled_copy

    def _flush(self) -> None:
        if self._waiting:
            self._add(self._waiting.taken())

    def _add(self, rows: Rows) -> None:
        """Add a chunk to its block, or blocks."""
        placement = self._place(rows)
        self._largest_norm = max(self._largest_norm, rows.largest_norm())
        first = 0
        if not self._blocks.items:
            empty = self._empty()
            size = empty.nbytes + empty.new_bytes(placement)
            self._blocks.begin(len(rows), size, self.memory_limit)
        threads, d, groups = workers(), self.n_features or 0, len(self._groups)
        roomy = self._dense and self.nbytes_for(d, groups, self._blocks.most) <= self.memory_limit
        while first < len(rows):
            rest = placement[first:]
            block = self._blocks.open(self._empty)
            while not roomy and (more := block.sums.new_bytes(rest)):
                if self._blocks.fit(self.memory_limit, more, self._refusal):
                    break
                block = self._blocks.open(self._empty)
            last = first + self._blocks.take(block, rows.weight[first:], rows.end[first:])
            block.sums.add(rows[first:last], placement[first:last], threads)
            first = last
        if self.keep_last is not None:
            self._blocks.forget(self.keep_last)
        # The size of sparse sums is known once they are there.
        while not (self._dense or self._blocks.fit(self.memory_limit, 0, self._refusal)):
            pass

    def _place(self, rows: Rows) -> Placement:
        exact = self._nodes.exact
        known = self._nodes.cover(rows.reward)
        if exact and not self._nodes.exact:
            groups = Groups()
            self._blocks = self._blocks.regrouped(self._groups.shares(self._nodes, groups))
            self._groups, self._buckets = groups, None
        first, split = (known, None) if known is not None else self._nodes.place(rows.reward)
        found = placed(
            *(first, split, self._nodes.values, rows.discount, rows.weight, self._groups),
            before=self._buckets,
        )
        self._buckets = found.buckets
        return found

    def _number(self, i: int) -> int:
        if not 0 <= i < self.n_blocks:
            raise fail("i", f"a block from 0 to {self.n_blocks - 1}", i)
        return i

    def _sum(self, chosen: Iterable[int]) -> Totals:
        settled = self._settled()
        if not self.count:
            raise fail("statistics", "at least one transition", "none", "call update first")
        blocks = [settled._blocks.items[i] for i in chosen]
        whole = blocks[0] if len(blocks) == 1 else Block(settled._empty())
        for block in blocks if len(blocks) > 1 else ():
            whole.absorb(block)
        order, reward, power, given = settled._groups.table()
        cross, phi_sum, Sigma = whole.sums.stacked(order)
        return Totals(reward, power, given, cross, phi_sum, Sigma, whole.count, whole.weight)

    def _refusal(self, needed: int) -> Exception:
        return fail(
            "memory_limit",
            f"room for the sums of one block ({needed} bytes)",
            f"{self.memory_limit} bytes",
            "use fewer features or fewer nodes=, a higher memory_limit=, or a streaming learner",
        )


def _chosen_nodes(nodes: Any) -> RewardNodes:
    if isinstance(nodes, Statistics):
        settled = nodes._settled()._nodes
        return RewardNodes(settled.number, None if settled.exact else settled.values)
    if isinstance(nodes, str):
        if nodes != "auto":
            raise fail("nodes", "'auto', a number of nodes, values, or Statistics", repr(nodes))
        return RewardNodes(_NODES)
    if np.ndim(nodes) == 0:
        return RewardNodes(check_integer(nodes, "nodes", low=5))
    return RewardNodes(_NODES, check_nodes(nodes))
