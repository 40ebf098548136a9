"""The tree in which statistics are added: same bits in tree order, 1e-12 in any other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.statistics.merging import MergeTree, merge_statistics
from tests.statistics.test_statistics import assert_close, assert_equal, cases, stream


def parts_of(case, n):
    return [
        lincat.Statistics(n_features=case["d"], max_blocks=8).update(
            *stream(**{**case, "seed": case["seed"] + i})
        )
        for i in range(n)
    ]


@settings(max_examples=25)
@given(cases, st.integers(1, 9), st.randoms(use_true_random=False))
def test_arrival_does_not_matter_to_the_last_bit(case, n, random):
    parts = parts_of({**case, "rewards": "few"}, n)
    in_order, as_they_came = MergeTree(), MergeTree()
    arrival = list(enumerate(parts))
    for number, part in arrival:
        in_order.add(number, part)
    random.shuffle(arrival)
    for number, part in arrival:
        as_they_came.add(number, part)
    left, right = in_order.merged(), as_they_came.merged()
    assert_equal(left.totals(), right.totals())
    np.testing.assert_array_equal(left.block_counts, right.block_counts)
    assert left.trace == right.trace
    assert_equal(left.totals(), merge_statistics(parts).totals())


@settings(max_examples=25)
@given(cases, st.permutations(range(5)))
def test_any_order_is_the_same_to_rounding(case, order):
    """Parts of few rewards, together more than are kept: nodes of all, not of those that met."""
    parts = parts_of({**case, "n": 60, "rewards": "many"}, 5)
    assert all(part.exact_rewards for part in parts)
    whole = merge_statistics(parts)
    assert not whole.exact_rewards
    assert_close(whole.totals(), merge_statistics([parts[i] for i in order]).totals())
    left, right = whole.totals(), [part.totals() for part in parts]
    for power in (0, 1, 2):  # no reward is lost: 1, r and r² add up
        sums = [(t.reward**power) @ t.phi_sum for t in (left, *right)]
        np.testing.assert_allclose(sums[0], sum(sums[1:]), rtol=1e-9, atol=1e-9)


def test_held_at_once_are_few():
    part = lincat.Statistics(n_features=1).update(lincat.Transitions([0], [1.0], [0]))
    tree = MergeTree()
    for number in range(100):
        tree.add(number, part)
        assert len(tree._waiting) <= 7
    assert (len(tree), tree.merged().count) == (100, 100)


def test_missing_and_repeated_parts_are_named():
    part = lincat.Statistics(n_features=1).update(lincat.Transitions([0], [1.0], [0]))
    tree = MergeTree()
    with pytest.raises(lincat.InvalidInputError, match="at least one"):
        tree.merged()
    tree.add(2, part)
    tree.add(0, part)
    with pytest.raises(lincat.InvalidInputError, match="none with number 1"):
        tree.merged()
    with pytest.raises(lincat.InvalidInputError, match="not added before"):
        tree.add(2, part)
