"""Statistics from a file that anybody may have made: whether they can be what they seem to be.

A checksum tells what a broken disk changed, not what somebody wrote. That arrays fit together is
looked at whenever sums are read (file_checks.py); here, what a file to be added to others must hold
beside that. Whether the sums are true, nobody can tell from them.
"""

from __future__ import annotations

import numpy as np

from lincat._arguments import check_integer, fail
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.reward_nodes import check_nodes

_MOST_FEATURES = 2**20  # so that places, up to groups x d x d, are numbers


def checked(statistics: Statistics) -> Statistics:
    """Return statistics that were read, after a look at everything in them."""
    d = statistics.n_features
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
