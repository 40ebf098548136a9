import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive


@given(
    st.lists(
        st.tuples(
            st.floats(-10, 10), st.booleans(), st.booleans(), st.floats(0, 1), st.integers(0, 3)
        ),
        max_size=30,
    ),
    st.floats(0, 0.99),
    st.booleans(),
    st.floats(0, 1),
)
def test_equals_walking_forwards(rows, gamma, own, tolerance):
    reward = [r for r, *_ in rows]
    terminated = [a and k == 0 for _, a, _, _, k in rows]  # rarely, so that episodes last
    truncated = [b and k == 1 for _, _, b, _, k in rows]
    discount = [d for *_, d, _ in rows] if own else [gamma] * len(rows)
    returns, usable = lincat.returns_to_go(
        reward,
        terminated,
        truncated,
        gamma,
        discount=discount if own else None,
        tolerance=tolerance,
    )
    expected = naive.returns_to_go(reward, terminated, truncated, discount)
    np.testing.assert_allclose(returns, [g for g, _ in expected], rtol=1e-12, atol=1e-12)
    for seen, (_, missing) in zip(usable, expected, strict=True):
        if abs(missing - tolerance) > 1e-12:
            assert seen == (missing <= tolerance)


def test_a_long_enough_record_can_be_used_before_it_breaks_off():
    gamma, tolerance = 0.9, 1e-3
    _, usable = lincat.returns_to_go(
        np.ones(100), np.zeros(100), np.zeros(100), gamma, tolerance=tolerance
    )
    steps_needed = int(np.ceil(np.log(tolerance) / np.log(gamma)))  # gamma^h <= tolerance
    assert usable.sum() == 100 - steps_needed + 1
    assert usable[: 100 - steps_needed + 1].all()


def test_an_end_counts_more_than_a_break():
    returns, usable = lincat.returns_to_go([1.0, 2.0], [0, 1], [0, 1], 0.5)
    assert returns.tolist() == [2.0, 2.0]
    assert usable.all()


def test_a_record_that_ends_in_the_middle_of_an_episode_is_cut_short():
    returns, usable = lincat.returns_to_go([1.0, 2.0], [0, 0], [1, 0], 0.5, tolerance=0.0)
    assert returns.tolist() == [1.0, 2.0]
    assert not usable.any()


def test_nothing_in_nothing_out():
    returns, usable = lincat.returns_to_go([], [], [], 0.5)
    assert (len(returns), len(usable)) == (0, 0)


def test_a_million_steps_take_well_under_a_second():
    n = 1_000_000
    rng = np.random.default_rng(0)
    reward, ends, breaks = rng.random(n), rng.random(n) < 0.01, rng.random(n) < 0.001
    lincat.returns_to_go(reward[:9], ends[:9], breaks[:9], 0.99)
    begin = time.perf_counter()
    returns, usable = lincat.returns_to_go(reward, ends, breaks, 0.99)
    assert time.perf_counter() - begin < 1.0
    assert returns[usable].max() < 100.0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0, np.nan], [0, 0], [0, 0], 0.5), {}, "reward: expected finite numbers"),
        (([1.0], [2], [0], 0.5), {}, "terminated: expected true or false"),
        (([1.0], [0], [0, 1], 0.5), {}, "truncated: expected an array of shape"),
        (([1.0], [0], [0], 1.5), {}, "gamma: expected a number in"),
        (([1.0], [0], [0], 0.5), {"discount": [1.5]}, "discount: expected discounts in"),
        (([1.0], [0], [0], 0.5), {"tolerance": -1}, "tolerance: expected a number in"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.returns_to_go(*arguments, **options)
