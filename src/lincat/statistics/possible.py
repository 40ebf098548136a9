"""Whether sums can be those of rows: what rounding cannot explain is refused where it is read.

Of rows with weights w of at least 0, in any block (Cauchy-Schwarz),

    (Σ w phi_i)² <= Σ w · Σ w phi_i²,   (Σ w phi_i phi_j)² <= Σ w phi_i² · Σ w phi_j²,
    Σ w phi_i² <= Σ w · largest ‖phi‖²

and N_g, which has what follows in it, is bounded likewise by the largest feature that there may be.
A row whose reward is split over three nodes is in three groups with shares that are 1 together, and
may be larger than 1 each: the shares that nodes allow are part of the bounds. So is what rounding
adds at most, 2⁻⁵³ of the sum of sizes for each addition, and the smallest number where squares are
too small to be told from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lincat._arguments import LARGEST_FEATURE, fail
from lincat._typing import FloatArray, IntArray
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.blocks import Block
from lincat.statistics.dense import DenseSums
from lincat.statistics.reward_nodes import RewardNodes
from lincat.statistics.sparse import Entries, SparseSums

# Roundings of a row on its way into a sum: products, shares, the sum itself, a split once more.
_ROUNDINGS = 8
_TINY = float(np.finfo(np.float64).smallest_subnormal)


def check_possible(statistics: Statistics) -> None:
    """Refuse statistics whose sums contradict each other."""
    largest, most = statistics._largest_norm, (statistics.n_features or 0) * LARGEST_FEATURE**2
    if not 0.0 <= largest <= most:
        raise fail("ranges", f"a largest norm from 0 to {most:g}", f"{largest:g}")
    for block, bounds in _blocks_of(statistics):
        if not 0.0 <= block.weight < np.inf:
            raise fail("block_weights", "numbers of at least 0", f"{block.weight:g}")
        with np.errstate(over="ignore", invalid="ignore"):  # a bound without an end holds
            check = _check_dense if isinstance(block.sums, DenseSums) else _check_sparse
            check(block.sums, bounds)


def check_table(statistics: Statistics, known: int) -> None:
    """Refuse sums that are not those of a table, of whose rows so many are known.

    Each phi has a single 1: Sigma is diagonal, and has in it what c has, of all groups together.
    """
    for block, bounds in _blocks_of(statistics):
        sums = block.sums
        if isinstance(sums, DenseSums):
            i, j = np.nonzero(sums.Sigma)
            value, first = sums.Sigma[i, j], sums.phi_sum.values.sum(axis=0)
            feature = np.arange(sums.d)
        else:
            place, value = _single(sums.Sigma)
            i, j = place // sums.d, place % sums.d
            feature, first = _first_of_all(sums)
        if (i != j).any() or i.max(initial=-1) >= known:
            raise fail("Sigma", f"visits of {known:,} states, each by itself", "others")
        visits = np.zeros(len(feature))
        there = np.isin(feature, i)
        visits[there] = value[np.isin(i, feature)]
        rounding = (bounds.slack - 1.0) * visits + bounds.least
        if there.sum() < len(i) or (np.abs(first - visits) > rounding).any():
            raise fail("phi_sum", "as many visits as Sigma has", "others")


def check_rows(name: str, sums: FloatArray, counts: Any, statistics: Statistics) -> None:
    """Refuse sums of the features of so many rows that are larger than these can be."""
    if (np.asarray(counts) < 0).any() or np.sum(counts) > statistics.count:
        raise fail(name, f"sums of up to {statistics.count:,} rows", int(np.sum(counts)))
    slack = 1.0 + _ROUNDINGS * (statistics.count + 1) * 2.0**-53
    _within(name, sums, np.asarray(counts) * np.sqrt(statistics._largest_norm + _TINY) * slack)


def _blocks_of(statistics: Statistics) -> Iterator[tuple[Block, _Bounds]]:
    share, largest = largest_share(statistics._nodes), statistics._largest_norm
    for block in statistics._blocks.items:
        yield block, _Bounds(block, share, largest)


def largest_share(nodes: RewardNodes) -> float:
    """Return how much of a row a group may get: 1 where rewards are kept as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.statistics.possible import largest_share
    >>> from lincat.statistics.reward_nodes import RewardNodes
    >>> largest_share(RewardNodes(5)), largest_share(RewardNodes(5, np.arange(5.0)))
    (1.0, 4.0)
    """
    if nodes.exact or len(nodes.values) < 3:
        return 1.0
    # |r − b| |r − c| is at most the square of the whole, for r between the first and last of three.
    first, second = np.diff(nodes.values)[:-1], np.diff(nodes.values)[1:]
    whole = first + second
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        most = whole / np.minimum(first, second) * (whole / np.maximum(first, second))
    return float(np.nan_to_num(most, nan=np.inf).max())


class _Bounds:
    """How large the sums of a block may be."""

    def __init__(self, block: Block, share: float, largest: float) -> None:
        self.share, self.weight = share, np.sqrt(max(block.weight, 0.0))
        self.most = block.weight * largest
        self.slack = 1.0 + _ROUNDINGS * (block.count + 1) * 2.0**-53 * share
        self.least = _ROUNDINGS * (block.count + 1) * _TINY * max(share, 1.0)
        # Of squares, which rounding takes down to 0 where they are smaller than any number.
        self.least_square = self.least * max(block.weight, 1.0)

    def roots(self, squares: FloatArray) -> FloatArray:
        """Return √(Σ w phi_i²), for as many i, which must be at least 0."""
        if not (squares >= 0.0).all():
            got = f"{squares.min():g}"
            raise fail("Sigma", "sums of squares, of at least 0, on the diagonal", got)
        _within("Sigma", squares, self.most * self.slack + self.least_square)
        return np.asarray(np.sqrt(squares + self.least_square))

    def check(self, name: str, values: FloatArray, bound: Any) -> None:
        """Check that sums lie within a bound, but for rounding."""
        _within(name, values, bound * self.slack + self.least)

    def firsts(self, roots: FloatArray) -> FloatArray:
        """The bound of Σ w phi_i, of all groups together."""
        return np.asarray(self.weight * roots)


def _within(name: str, values: FloatArray, bound: Any) -> None:
    beyond = np.abs(values) > bound
    if beyond.any():
        most = np.broadcast_to(bound, values.shape)[beyond]
        got = f"{values[beyond][0]:.6g} where {most[0]:.6g} is the most"
        raise fail(name, "sums that rows can have, by the other sums", got)


def _check_dense(sums: DenseSums, bounds: _Bounds) -> None:
    root = bounds.roots(sums.Sigma.diagonal())
    bounds.check("Sigma", sums.Sigma, root[:, None] * root)
    first = bounds.firsts(root)
    bounds.check("phi_sum", sums.phi_sum.values, bounds.share * first)
    bounds.check("phi_sum", sums.phi_sum.values.sum(axis=0), first)
    for values in sums.cross.values:
        bounds.check("cross", values, bounds.share * LARGEST_FEATURE * first[:, None])


def _check_sparse(sums: SparseSums, bounds: _Bounds) -> None:
    """The same of what is not zero: there may be more features than room for one number each."""
    d = sums.d
    place, value = _single(sums.Sigma)
    i, j = place // d, place % d
    own = np.concatenate([i[i == j], [d]])  # ascending, and one that is not there
    root = bounds.roots(np.concatenate([value[i == j], [0.0]]))

    def root_of(feature: IntArray) -> FloatArray:
        at = np.searchsorted(own, feature)
        return np.where(own[at] == feature, root[at], root[-1])

    bounds.check("Sigma", value, root_of(i) * root_of(j))
    all_cross, all_first = sums.parted()
    place, value = _single(all_first)
    bounds.check("phi_sum", value, bounds.share * bounds.firsts(root_of(place % d)))
    feature, first = _first_of_all(sums)
    bounds.check("phi_sum", first, bounds.firsts(root_of(feature)))
    place, value = _single(all_cross)
    most = bounds.share * LARGEST_FEATURE
    bounds.check("cross", value, most * bounds.firsts(root_of(place // d % d)))


def _first_of_all(sums: SparseSums) -> tuple[IntArray, FloatArray]:
    """Return the features that occur, ascending, and Σ w phi_i of all groups together."""
    _, all_first = sums.parted()
    place, value = _single(all_first)
    feature, number = np.unique(place % sums.d, return_inverse=True)
    return feature, np.asarray(np.bincount(number, value, len(feature)), dtype=np.float64)


def _single(entries: Entries) -> tuple[IntArray, FloatArray]:
    place, sums = entries.whole()
    return place, sums[:, 0]
