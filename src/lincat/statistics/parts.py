"""Statistics made of others: of some of their blocks, or with other numbers for the features."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from lincat._arguments import fail
from lincat._typing import IntArray
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.blocks import Block, Blocks
from lincat.statistics.dense import DenseSums
from lincat.statistics.sparse import Entries, SparseSums
from lincat.statistics.trace import Trace


def settled(statistics: Statistics) -> Statistics:
    """Return the same sums with no row waiting to be summed: nothing but sums is in them."""
    return statistics._settled().copy()


def some_blocks(statistics: Statistics, chosen: Sequence[int]) -> Statistics:
    """Return the statistics of some blocks, numbered from 0.

    Examples
    --------
    >>> import lincat
    >>> from lincat.statistics.parts import some_blocks
    >>> seen = lincat.catalog.paper().process.sample(1000, seed=0)
    >>> both = lincat.Statistics(n_features=3, max_blocks=8).update(
    ...     lincat.Transitions(seen.state, seen.reward, seen.next_state))
    >>> bool(some_blocks(both, [0, 1]).count == both.block_counts[:2].sum())
    True
    """
    whole = settled(statistics)
    if not chosen or not all(0 <= i < whole.n_blocks for i in chosen):
        raise fail("chosen", f"blocks from 0 to {whole.n_blocks - 1}", list(chosen))
    if list(chosen) == list(range(whole.n_blocks)):
        return whole
    items = [whole._blocks.items[i].copy() for i in chosen]
    whole._blocks = Blocks(whole._blocks.most, whole._blocks.length, items)
    whole.count = sum(block.count for block in items)
    # Other rows than those of the whole: which they are depends on it, and on the choice.
    mark = hashlib.sha256(repr((whole.trace.value, list(chosen))).encode()).digest()
    whole.trace = Trace(whole.count, int.from_bytes(mark[:8], "little"))
    return whole


def renumbered(statistics: Statistics, rows: IntArray, n_features: int) -> Statistics:
    """Return the same sums where feature i is called rows[i], among ``n_features`` of them.

    For tables, each of whose features is an id: two of them have their ids in another order. Where
    rows[i] is −1, feature i, of which there must be nothing, is left out.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> from lincat.statistics.parts import renumbered
    >>> one = lincat.Statistics(n_features=2).update(lincat.Transitions([0, 0], [1.0, 1.0], [1, 0]))
    >>> renumbered(one, np.array([2, 0]), 3).totals().Sigma.diagonal()
    array([0., 0., 2.])
    """
    other = settled(statistics)
    d = other.n_features or 0
    kept = rows[rows >= 0]
    if len(rows) != d or len(np.unique(kept)) != len(kept) or kept.max(initial=0) >= n_features:
        raise fail("rows", f"{d} different numbers below {n_features}", rows.tolist()[:8])
    items = [
        Block(_moved(b.sums, rows, n_features), b.count, b.weight, b.has_end, b.closed)
        for b in other._blocks.items
    ]
    other._blocks = Blocks(other._blocks.most, other._blocks.length, items)
    other.n_features = n_features
    return other


def _moved(sums: DenseSums | SparseSums, rows: IntArray, n_features: int) -> DenseSums | SparseSums:
    if isinstance(sums, SparseSums):
        return _moved_entries(sums, rows, n_features)
    old, new = np.flatnonzero(rows >= 0), rows[rows >= 0]
    moved = DenseSums(n_features)
    moved.Sigma[np.ix_(new, new)] = sums.Sigma[np.ix_(old, old)]
    cross = np.zeros((len(sums.cross.groups), n_features, n_features))
    cross[:, new[:, None], new] = sums.cross.values[:, old[:, None], old]
    moved.cross.replace(sums.cross.names, cross)
    phi_sum = np.zeros((len(sums.phi_sum.groups), n_features))
    phi_sum[:, new] = sums.phi_sum.values[:, old]
    moved.phi_sum.replace(sums.phi_sum.names, phi_sum)
    return moved


def _moved_entries(sums: SparseSums, rows: IntArray, n_features: int) -> SparseSums:
    """The place of N_g[i, j] is (g d + i) d + j, of c_g[i] it is g d + i (statistics/sparse.py)."""
    d, moved = sums.d, SparseSums(n_features)
    moved.cell_groups = copy.copy(sums.cell_groups)

    def one(place: IntArray) -> IntArray:
        return place // d * n_features + rows[place % d]

    def two(place: IntArray) -> IntArray:
        return one(place // d) * n_features + rows[place % d]

    def entries(of: Entries, move: Callable[[IntArray], IntArray]) -> Entries:
        made = Entries()
        place, values = of.whole()
        if len(place):
            made.add(move(place), values)
        return made

    moved.cells, moved.cross = entries(sums.cells, two), entries(sums.cross, two)
    moved.phi_sum, moved.Sigma = entries(sums.phi_sum, one), entries(sums.Sigma, two)
    return moved
