import numpy as np
import pytest

from lincat import InvalidInputError
from lincat import _arguments as check


def test_message_names_argument_expectation_value_and_remedy():
    error = check.fail("x", "a number", "'a'", "pass a number")
    assert str(error) == "x: expected a number, got 'a'; pass a number"
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("limits", "value", "expected"),
    [
        ({}, None, "a finite number"),
        ({"low": 0.0}, -1, "a finite number of at least 0"),
        ({"low": 0.0, "low_open": True}, 0, "a finite number above 0"),
        ({"low": 0.0, "high": 1.0}, 2, r"a number in \[0, 1\]"),
        (
            {"low": 0.0, "high": 1.0, "low_open": True, "high_open": True},
            0,
            r"a number in \(0, 1\)",
        ),
    ],
)
def test_numbers_outside_their_interval(limits, value, expected):
    with pytest.raises(InvalidInputError, match=f"x: expected {expected}"):
        check.check_number(value, "x", **limits)


def test_long_values_are_cut_short():
    with pytest.raises(InvalidInputError) as caught:
        check.check_number("a" * 1000, "x")
    assert len(str(caught.value)) < 150


def test_arrays_are_float64_contiguous_and_keep_their_shape():
    array = check.check_array(np.arange(6, dtype=np.float32).reshape(2, 3).T, "x")
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.shape == (3, 2)
    assert check.check_array(3, "x").shape == ()


def test_a_single_bad_number_is_named_without_an_index():
    with pytest.raises(InvalidInputError, match=r"x: expected finite numbers, got nan$"):
        check.check_array(np.nan, "x")


def test_messages_are_one_line_and_not_too_long():
    error = check.fail("x" * 5000, "a\nb", "c\r\nd", "e" * 5000)
    assert len(str(error)) < 2100
    assert len(str(error).splitlines()) == 1
    assert str(error).endswith("eee")
    for use, value in ((check.check_number, 10**400), (check.check_array, [10**400])):
        with pytest.raises(InvalidInputError):
            use(value, "x")
