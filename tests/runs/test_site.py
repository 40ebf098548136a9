"""Clocks of blocks, and held-out returns, against their definitions."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lincat.data.steps import Steps
from lincat.runs.site import Clock, HeldReturns, held_returns


@given(
    st.lists(st.lists(st.integers(0, 10**6), min_size=1, max_size=40), min_size=1, max_size=12),
    st.data(),
)
def test_blocks_are_no_shorter_than_they_are(parts, data):
    """First and last time enclose those of the rows, and are rows' times."""
    clock = Clock()
    for part in parts:
        clock = clock.then(np.array(part))
    times = np.concatenate(parts)
    cuts = sorted(set(data.draw(st.lists(st.integers(1, len(times) - 1), max_size=4)))) \
        if len(times) > 1 else []  # fmt: skip
    edges = [0, *cuts, len(times)]
    first, last = clock.spans(np.diff(edges))
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        assert first[i] <= times[a:b].min()
        assert last[i] >= times[a:b].max()
        assert {int(first[i]), int(last[i])} <= set(times.tolist())


def test_long_clocks_are_thinned():
    clock = Clock()
    for i in range(100):
        clock = clock.then(np.arange(20_000) + 20_000 * i)
    assert len(clock.rows) <= 4096
    assert clock.rows.sum() == 2_000_000
    first, last = clock.spans(np.array([1_000_000, 1_000_000]))
    np.testing.assert_allclose(first, [0, 1_000_000], atol=1_000)
    np.testing.assert_allclose(last, [1_000_000, 2_000_000], atol=1_000)


def test_returns_are_discounted_sums_with_the_mean_behind_the_end():
    rng = np.random.default_rng(0)
    n, gamma = 400, 0.5
    reward, no = 100.0 + rng.integers(0, 2, n), np.zeros(n, dtype=bool)
    state = rng.integers(0, 2, n)
    steps = Steps(state, reward, np.roll(state, -1), no, no, time=np.arange(n))
    (found,) = held_returns(steps, state, None, [gamma], np.ones(n, dtype=bool))
    usable = n - 6  # 0.5^7 is below a hundredth
    naive = [sum(gamma**k * reward[t + k] for k in range(n - t)) for t in range(usable)]
    rest = [gamma ** (n - t) * 201.0 for t in range(usable)]
    expected = np.array(naive) + rest
    order = np.lexsort((expected, state[:usable]))
    assert len(found.value) == usable
    np.testing.assert_allclose(found.value, expected[order], atol=0.02)
    np.testing.assert_array_equal(found.cell, state[:usable][order])
    window = found.within(100, 200)
    assert 0 < len(window.value) < 110
    # An episode that breaks off early says nothing of the others.
    breaks = np.arange(n) % 4 == 3
    cut = Steps(state, reward, state, no, breaks)
    assert held_returns(cut, state, None, [0.9], np.ones(n, dtype=bool)) == ()


def test_held_out_returns_of_a_time():
    held = HeldReturns(
        0.5,
        np.array([1.0, 2.0, 3.0]),
        np.array([0, 1, 0]),
        np.array([0, 0, 1]),
        None,
        np.array([[0, 10], [10, 20]]),
        np.array([5.0, 6.0, 7.0]),
    )
    assert held.within(10, None).weight.tolist() == [7.0]
    assert held.within(None, None).value.tolist() == [1.0, 2.0, 3.0]
    assert held.within(10, None).value.tolist() == [3.0]
    assert held.within(None, 15).value.tolist() == [1.0, 2.0]
    assert held.within(5, 15).value.tolist() == []
    without = HeldReturns(0.5, held.value, held.cell, np.arange(3), None)
    assert without.within(0, 100).value.tolist() == []  # nobody knows when they were
