"""What is asked of rows before they are summed, against the definitions."""

import numpy as np
import pytest

from lincat.kernels.placement import discount_kinds, fingerprint, number_pairs, split_rewards


@pytest.mark.parametrize("n", [3, 4, 5, 64, 65])
def test_rewards_are_split_over_the_three_nodes_about_the_nearest(n):
    rng = np.random.default_rng(n)
    nodes = np.cumsum(rng.integers(1, 5, size=n)).astype(float)
    middles = 0.5 * (nodes[1:] + nodes[:-1])
    inside = nodes[0] + (nodes[-1] - nodes[0]) * rng.random(100)
    reward = np.concatenate([inside, nodes, middles])  # on a middle: the lower one
    first, weight = np.empty(len(reward), dtype=np.int64), np.empty((len(reward), 3))
    split_rewards(first, weight, nodes, reward)
    for k, w, r in zip(first, weight, reward, strict=True):
        nearest = int(np.argmin(np.abs(nodes - r)))
        assert k == min(max(nearest - 1, 0), n - 3)
        x = nodes[k : k + 3]
        wanted = [
            np.prod([(r - y) / (x[i] - y) for j, y in enumerate(x) if j != i]) for i in range(3)
        ]
        np.testing.assert_allclose(w, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("short", [0, 1, 2])
def test_rewards_without_room_are_refused(short):
    arguments = [np.empty(4, dtype=np.int64), np.empty((4, 3)), np.arange(4.0), np.zeros(4)]
    arguments[short] = arguments[short][: 2 if short == 2 else 3]
    with pytest.raises(IndexError):
        split_rewards(*arguments)


def test_ends_and_given_discounts_are_found():
    kind = np.empty(4, dtype=np.int64)
    assert not discount_kinds(kind, np.array([np.nan, 0.0, -0.0, np.nan]))
    assert kind.tolist() == [0, 1, 1, 0]
    assert discount_kinds(kind, np.array([np.nan, 0.0, 0.5, np.nan]))
    with pytest.raises(IndexError):
        discount_kinds(kind[:3], np.zeros(4))


def test_pairs_that_occur_are_numbered_in_their_order():
    rng = np.random.default_rng(0)
    node, kind, number = rng.integers(0, 9, 50), rng.integers(0, 2, 50), np.empty(50, dtype=int)
    present = number_pairs(number, node, kind, 9, 2)
    wanted, wanted_number = np.unique(2 * node + kind, return_inverse=True)
    np.testing.assert_array_equal(present, wanted)
    np.testing.assert_array_equal(number, wanted_number)


@pytest.mark.parametrize("place", range(1, 5))
def test_pairs_outside_are_refused(place):
    arguments = [np.empty(3, dtype=int), np.array([0, 1, 2]), np.array([0, 1, 1]), 3, 2]
    number_pairs(*arguments)
    arguments[place] = arguments[place] - 1
    with pytest.raises(IndexError):
        number_pairs(*arguments)


def test_a_fingerprint_without_ends_is_refused():
    with pytest.raises(IndexError):
        fingerprint(np.zeros(3, dtype=np.uint64), np.zeros(2, dtype=bool), np.uint64(3))
