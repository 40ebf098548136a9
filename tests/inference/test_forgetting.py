"""How long a start is remembered, beside closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lincat.inference.forgetting import mean_w1, steps_to_forget, updates_with_sum


@given(st.floats(0.01, 2.0), st.floats(0.01, 5.0))
def test_one_direction_decays_exponentially(rate, target):
    one = np.ones((1, 1))
    s = steps_to_forget(rate * one, one, 2.0 * one, 0.5, np.ones(1), target)
    exact = max(math.log(1.0 / target) / rate, 0.0)
    assert exact <= s + 1e-9
    assert s <= exact * (1.0 + 2.0**-11) + 2.0**-11


def test_what_never_moves_is_never_forgotten():
    one = np.ones((1, 1))
    assert steps_to_forget(0.0 * one, one, one, 1.0, np.ones(1), 0.5) == math.inf


@given(st.floats(1e-3, 1.0), st.floats(0.0, 1e4))
def test_constant_steps_are_counted(step, forget):
    assert updates_with_sum(lambda t: step, forget) == pytest.approx(forget / step)


def test_decaying_steps_are_those_of_the_plain_sum():
    steps = 1.0 / np.sqrt(1.0 + np.arange(100_000))
    plain = int(np.searchsorted(np.cumsum(steps), 300.0)) + 1
    found = updates_with_sum(lambda t: 1.0 / math.sqrt(1.0 + t), 300.0)
    assert found == pytest.approx(plain, rel=0.01)


def test_w1_is_averaged_over_states():
    difference = np.array([[0.1, -0.1], [0.0, 0.4]])
    assert mean_w1(difference, 2.0, np.array([0.5, 0.5])) == pytest.approx(
        math.sqrt(0.5 * 0.4**2 + 0.5 * 0.8**2)
    )
