import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests.strategies import grids


@given(grids())
def test_atoms_are_equally_spaced_and_end_where_they_should(grid):
    assert grid.atoms.shape == (grid.intervals + 1,)
    assert grid.atoms[0] == grid.low
    assert grid.atoms[-1] == grid.high
    scale = max(abs(grid.low), abs(grid.high))
    np.testing.assert_allclose(np.diff(grid.atoms), grid.spacing, atol=8 * np.spacing(scale))


def test_for_rewards_is_the_papers_grid():
    grid = lincat.Grid.for_rewards(-1.0, 2.0, gamma=0.9, intervals=7)
    np.testing.assert_allclose([grid.low, grid.high], [-10.0, 20.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 1.0, "high": 1.0, "intervals": 3}, "high: expected a number above low = 1, got 1"),
        ({"low": 2.0, "high": 1.0, "intervals": 3}, "high: expected a number above low = 2, got 1"),
        ({"low": 0.0, "high": 1.0, "intervals": 0}, "intervals: expected an integer of at least 1"),
        ({"low": 0.0, "high": 1.0, "intervals": 2.5}, "intervals: expected an integer"),
        ({"low": 0.0, "high": 1.0, "intervals": True}, "intervals: expected an integer"),
        ({"low": float("nan"), "high": 1.0, "intervals": 3}, "low: expected a finite number"),
        ({"low": 0.0, "high": float("inf"), "intervals": 3}, "high: expected a finite number"),
        ({"low": "zero", "high": 1.0, "intervals": 3}, "low: expected a finite number, got 'zero'"),
        ({"low": 1e16, "high": 1e16 + 2, "intervals": 3}, "a spacing that float64 can resolve"),
    ],
)
def test_bad_grids_are_refused_in_one_line(arguments, message):
    with pytest.raises(lincat.InvalidInputError) as caught:
        lincat.Grid(**arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gamma", [1.0, -0.1, float("nan"), "x"])
def test_for_rewards_refuses_a_bad_discount_factor(gamma):
    with pytest.raises(lincat.InvalidInputError, match=r"gamma: expected a number in \[0, 1\)"):
        lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=3)


@given(grids(), st.data())
def test_indices_of_atoms_found_in_spite_of_rounding(grid, data):
    k = data.draw(st.integers(0, grid.intervals))
    x = grid.low + k * grid.spacing  # not always bitwise the atom
    if abs(x - grid.atoms[k]) > 1e-10 * grid.spacing:
        return  # a grid too far from the origin to know its atoms that well
    assert grid.index_at_or_below(x) == k
    assert grid.index_below(x) == k - 1
    between = x + grid.spacing / 2
    assert grid.index_at_or_below(between) == k
    assert grid.index_below(between) == k


def test_indices_beyond_the_ends():
    grid = lincat.Grid(0.0, 1.0, 4)
    assert grid.index_at_or_below([-1e300, -0.1, 1.0, 7.0, 1e300]).tolist() == [-1, -1, 4, 4, 4]
    assert grid.index_below([-1e300, 0.0, 1.0, 7.0]).tolist() == [-1, -1, 3, 4]


@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=60), st.floats(0.0, 0.95))
def test_a_grid_for_transitions_holds_all_of_them(reward, gamma):
    grid = lincat.Grid.for_transitions(reward, gamma, intervals=7)
    ends = np.array(reward) / (1.0 - gamma)
    assert grid.low <= ends.min()
    assert grid.high >= ends.max()


def test_a_grid_for_transitions_ends_where_many_rewards_do():
    reward = [0.0] * 500 + [1.0] * 3
    terminated = np.array([False] * 500 + [True] * 3)
    grid = lincat.Grid.for_transitions(reward, np.where(terminated, 0.0, 0.95), intervals=50)
    assert grid == lincat.Grid(0.0, 1.1, 50)  # three rewards of 1 do not make it a bound


def test_rewards_that_are_all_the_same_get_room_on_both_sides():
    assert lincat.Grid.for_transitions([0.0, 0.0], 0.9, intervals=4) == lincat.Grid(-1.0, 1.0, 4)
    low, high = 0.0, 4.0
    assert lincat.Grid.for_transitions([1.0, 1.0], 0.5, intervals=4) == lincat.Grid(low, high, 4)


@pytest.mark.parametrize(("reward", "discount"), [([], 0.5), ([1.0, 2.0], 1.0)])
def test_no_grid_without_bounds(reward, discount):
    with pytest.raises(lincat.InvalidInputError, match="grid"):
        lincat.Grid.for_transitions(reward, discount, intervals=4)


def test_a_grid_around_points_goes_from_the_first_to_the_last():
    grid = lincat.Grid._around(np.array([3.0, 0.0, 10.0, 3.0]), 10)
    assert grid.low < 0.0 < 10.0 < grid.high
    assert -grid.low == grid.high - 10.0
    # Ends that are reached often are bounds, and get no margin.
    many = np.array([0.0] * 1000 + [1.0] + [10.0] * 1000)
    assert lincat.Grid._around(many, 10) == lincat.Grid(0.0, 10.0, 10)
    with pytest.raises(lincat.InvalidInputError, match="transitions to choose a grid from"):
        lincat.Grid._around(np.empty(0), 10)
