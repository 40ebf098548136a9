"""Statistics from a file that anybody may have made: whether they can be what they seem to be.

A checksum tells what a broken disk changed, not what somebody wrote. So before sums are used,
numbers of groups and places must lie where kernels may look, shapes must fit, and all must be
finite. Whether the sums are true, nobody can tell from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError, check_integer, fail
from lincat._typing import IntArray
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.dense import DenseSums, Stack
from lincat.statistics.reward_nodes import check_nodes
from lincat.statistics.sparse import Entries, SparseSums

_MOST_FEATURES = 2**20  # so that places, up to groups x d x d, are numbers


def checked(statistics: Statistics) -> Statistics:
    """Return statistics that were read, after a look at everything in them."""
    d, groups = statistics.n_features, statistics._groups
    blocks = statistics._blocks.items
    if d is None or not 1 <= d <= _MOST_FEATURES or not blocks or statistics._waiting.parts:
        raise fail("sums", "blocks of some features, and no rows", f"{len(blocks)} blocks")
    if statistics.count != sum(block.count for block in blocks):
        raise fail("count", "as many as in the blocks", statistics.count)
    if any(block.count < 1 or not 0.0 <= block.weight < np.inf for block in blocks):
        raise fail("blocks", "rows, and a weight, in each", "others")
    for number, name, least in (
        (statistics._nodes.number, "number", 5),
        (statistics._blocks.most, "most", 1),
        (statistics._blocks.length, "length", 1),
    ):
        check_integer(number, name, low=least)
    _check_nodes(statistics)
    check: Callable[[Any, int, int], None] = _check_dense if statistics._dense else _check_sparse
    for block in blocks:
        check(block.sums, d, len(groups))
    return statistics


def _check_nodes(statistics: Statistics) -> None:
    nodes = statistics._nodes
    if nodes.exact is False:
        check_nodes(nodes.values)
    elif nodes.exact is not True or nodes.counts.shape != nodes.values.shape:
        raise fail("nodes", "as many counts as values", len(nodes.counts))
    ascending = np.isfinite(nodes.values).all() and (np.diff(nodes.values) > 0.0).all()
    if not ascending or not np.isfinite(nodes.counts).all():
        raise fail("nodes", "ascending numbers", "others")
    keys = statistics._groups.keys
    if not np.isin([reward for reward, _, _ in keys], nodes.values).all():
        raise fail("groups", "rewards at nodes", "others")
    for reward, power, given in keys:
        if not np.isfinite(given) or power not in (-1, 0, 1):
            raise fail("groups", "known powers and discounts", f"{(reward, power, given)}")


def _check_dense(sums: DenseSums, d: int, groups: int) -> None:
    _finite(sums.Sigma, (d, d))
    for stack, shape in ((sums.cross, (d, d)), (sums.phi_sum, (d,))):
        _check_stack(stack, shape, groups)


def _check_stack(stack: Stack, shape: tuple[int, ...], groups: int) -> None:
    _finite(stack.values, (len(stack.groups), *shape))
    _numbers(stack.groups, groups)
    if len(np.unique(stack.groups)) < len(stack.groups):
        raise fail("groups", "different ones in a block", "some twice")


def _check_sparse(sums: SparseSums, d: int, groups: int) -> None:
    width = {len(of) for of in sums.cell_groups.values()}
    if len(width) > 1 or not width <= {1, 3}:
        raise fail("cell_groups", "one group or three for each cell", sorted(width))
    for first, of in sums.cell_groups.items():
        if first != of[0] or not 0 <= min(of) <= max(of) < groups:
            raise fail("cell_groups", f"numbers below {groups}", of)
    wide = next(iter(width), 1)
    for entries, most, columns in (
        (sums.cells, groups * d * d, wide),
        (sums.cross, groups * d * d, 1),
        (sums.phi_sum, groups * d, 1),
        (sums.Sigma, d * d, 1),
    ):
        _check_entries(entries, most, columns)
    cells, _ = sums.cells.whole()
    if not np.isin(cells // (d * d), list(sums.cell_groups)).all():
        raise fail("cells", "those of known groups", "others")


def _check_entries(entries: Entries, most: int, columns: int) -> None:
    for place, values in entries.pieces:
        _finite(values, (len(place), columns))
        _numbers(place, most)
        if not (np.diff(place) > 0).all():
            raise fail("places", "ascending numbers", "others")


def _numbers(array: IntArray, most: int) -> None:
    good = array.dtype == np.int64 and array.ndim == 1
    if not good or (len(array) and not 0 <= array.min() <= array.max() < most):
        raise fail("sums", f"numbers of groups or places below {most}", "others")


def _finite(array: Any, shape: tuple[int, ...]) -> None:
    if array.dtype != np.float64 or array.shape != shape:
        got = f"{array.dtype} of shape {array.shape}"
        raise fail("sums", f"float64 of shape {shape}", got)
    if not np.isfinite(array).all():
        raise InvalidInputError("sums: expected finite numbers, got others")
