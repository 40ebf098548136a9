import numpy as np
import pytest
import scipy.sparse

import lincat
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
        ({}, "0.5", "a finite number, got '0.5'"),
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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(2) * 1j, "expected real numbers, got complex ones"),
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), "got a masked array; leave"),
        (
            np.array(["2026-01-01"] * 2, "datetime64[D]"),
            r"numbers, got times \(datetime64\[D\]\); say",
        ),
        (np.array([90, 1], "timedelta64[m]"), r"numbers, got times \(timedelta64\[m\]\); say in"),
        (
            np.array([(1.0,)] * 2, [("a", float)]),
            r"numbers, got records .*; take one of their fields",
        ),
    ],
)
def test_numbers_that_would_lose_a_part_are_refused(values, message):
    grid = lincat.Grid(0.0, 1.0, intervals=2)
    column = values[:, None]
    calls = [
        lambda: lincat.Transitions(column, [1.0, 1.0], np.ones((2, 1))),
        lambda: lincat.Transitions(np.ones((2, 1)), values, np.ones((2, 1))),
        lambda: lincat.project(column, np.ones((2, 1)), grid),
        lambda: lincat.ReturnDistribution(column.repeat(2, axis=1), grid),
        lambda: lincat.MarkovRewardProcess([0, 1], values, [0, 1], [1.0, 1.0]),
    ]
    if values.dtype.kind == "c":
        sparse = scipy.sparse.csr_array(column)
        calls.append(lambda: lincat.Transitions(sparse, [1.0, 1.0], sparse))
    for call in calls:
        with pytest.raises(lincat.InvalidInputError, match=message):
            call()


def test_a_sparse_row_is_no_matrix():
    row = scipy.sparse.coo_array(np.ones(3))
    with pytest.raises(InvalidInputError, match=r"phi: expected a matrix of shape \(n, d\)"):
        check.check_sparse(row, "phi")


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_features_whose_squares_are_no_numbers_are_refused(make):
    process = lincat.MarkovRewardProcess.from_matrices(np.full((2, 2), 0.5), [0.0, 1.0])
    Phi, grid = make(np.diag([1.0, -1e155])), lincat.Grid(0.0, 2.0, 4)
    for call in (
        lambda: lincat.solve_value(process, Phi, 0.5),
        lambda: lincat.solve_categorical(process, Phi, grid, 0.5),
        lambda: lincat.max_step_size(process, Phi, grid, 0.5),
    ):
        with pytest.raises(InvalidInputError, match=r"Phi: expected numbers within ±1e\+150, got"):
            call()
    largest = make(1e100 * np.eye(2))
    value = lincat.solve_value(process, largest, 0.5)
    np.testing.assert_allclose(largest @ value, [0.5, 1.5])
