"""How long returns take to be known, and how often a record may be cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lincat.data.steps import Steps
from lincat.runs.horizon import parts_of, steps_that_count, steps_until_known


@given(st.floats(0.01, 0.9999), st.floats(1e-4, 0.5))
def test_no_more_steps_than_it_takes(gamma, tolerance):
    steps = steps_that_count(gamma, tolerance, most=10)
    assert gamma**steps <= tolerance * (1.0 + 1e-9)
    assert gamma ** (steps - 1) > tolerance * (1.0 - 1e-9)


def test_where_all_counts_or_nothing_does():
    assert steps_that_count(1.0, 0.01, most=123) == 123
    assert steps_that_count(0.0, 0.01, most=123) == 1


def episodes(n, length):
    state, no = np.arange(n), np.zeros(n, bool)
    return Steps(state, np.ones(n), state + 1, state % length == length - 1, no)


def test_episodes_that_end_soon_are_known_soon():
    assert steps_until_known(0.99, 0.01, episodes(1000, 20), most=500) == 60
    assert steps_until_known(1.0, 0.01, episodes(1000, 20), most=500) == 60
    assert steps_until_known(0.5, 0.01, episodes(1000, 20), most=500) == 7  # sooner still
    # Fewer than ten ends do not say how long episodes are.
    assert steps_until_known(0.99, 0.01, episodes(1000, 101), most=500) == 459
    assert steps_until_known(0.99, 0.01, None, most=500) == 459


@given(st.integers(1, 10**6), st.integers(0, 10**5), st.floats(0.0, 1.0))
def test_parts_lose_no_more_than_they_may(rows, steps, lost):
    parts = parts_of(rows, steps, lost=lost)
    assert 1 <= parts <= 10
    assert parts == 1 or parts * steps <= lost * rows
    assert parts == 10 or (parts + 1) * max(steps, 1) > int(lost * rows)
