"""The exponential that loops over features use, beside the standard library's."""

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lincat.kernels.features import exp_below, least


@given(st.floats(-700.0, 0.0))
@example(-math.log(2.0) / 2.0)
@example(-1e-320)
def test_e_to_the_x_is_right_to_the_last_digits(x):
    assert abs(exp_below(x) / math.exp(x) - 1.0) <= 4.5e-16


@given(st.floats(max_value=-700.0))
def test_far_below_it_is_next_to_nothing(x):
    assert 0.0 < exp_below(x) < 1e-300


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_the_least_of_a_row(numbers):
    assert least(np.array(numbers)) == min(numbers)
