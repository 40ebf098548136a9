import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.statistics.trace import Trace
from tests import naive

ROWS = st.lists(st.tuples(st.floats(-1e9, 1e9), st.booleans()), max_size=20)


def of(rows):
    reward = np.array([r for r, _ in rows], dtype=np.float64)
    return Trace().then(reward, np.array([e for _, e in rows], dtype=bool))


@given(rows=ROWS, cut=st.integers(0, 20))
def test_the_naive_form_and_cuts(rows, cut):
    whole = of(rows)
    assert whole == Trace(len(rows), naive.trace(*zip(*rows, strict=True)) if rows else 0)
    assert of(rows[:cut]).joined(of(rows[cut:])) == whole


@given(rows=ROWS.filter(bool), at=st.integers(0, 19))
def test_another_reward_end_or_order_is_seen(rows, at):
    at %= len(rows)
    reward, end = rows[at]
    for other in ((reward + 1.0 + abs(reward), end), (reward, not end)):
        assert of([*rows[:at], other, *rows[at + 1 :]]) != of(rows)
    if rows[::-1] != rows:
        assert of(rows[::-1]) != of(rows)


def test_statistics_keep_it_whatever_the_features(tmp_path):
    rng = np.random.default_rng(0)
    n = 3000
    reward, ends = rng.normal(size=n), rng.random(n) < 0.1
    phi = rng.normal(size=(n + 1, 3))
    data = lincat.Transitions(phi[:-1], reward, phi[1:], terminated=ends)
    one = lincat.Statistics().update(data)
    other = lincat.Statistics(n_features=5)
    states = rng.integers(5, size=n + 1)
    for part in (slice(0, 100), slice(100, n)):
        other.update(lincat.Transitions(states[:-1], reward, states[1:], terminated=ends)[part])
    assert one.trace == other.trace == Trace().then(reward, ends)
    centred = data.centred(rng.normal(size=n), rng.normal(size=n), gamma=0.9)
    assert lincat.Statistics().update(centred).trace == one.trace
    one.save(tmp_path / "sums")
    assert lincat.Statistics.load(tmp_path / "sums").trace == one.trace
    halves = [lincat.Statistics().update(data[part]) for part in (slice(0, 7), slice(7, n))]
    assert halves[0].merge(halves[1]).trace == one.trace
    assert halves[1].trace != one.trace
