import numpy as np
import pytest

import lincat
from lincat.processes.undiscounted import return_bounds
from tests import naive


def boyan(n_states=13):
    return lincat.catalog.boyan_chain(n_states, gamma=1.0)


def test_boyans_chain_is_worth_two_less_for_each_state_left_to_go():
    problem = boyan()
    psi = lincat.solve_value(problem.process, problem.Phi, 1.0)
    np.testing.assert_allclose(problem.Phi @ psi, -2.0 * np.arange(13), atol=1e-12)


@pytest.mark.parametrize("states", [5, 13])
def test_true_returns_are_those_of_dynamic_programming(states):
    problem = boyan(states)
    low = int(return_bounds(problem.process)[0].min())
    grid = problem.grid(-low)  # sums are whole numbers, and so are the atoms
    assert grid == lincat.Grid(low, 0.0, -low)
    found = lincat.true_returns(problem.process, 1.0, grid)
    for state in range(states):
        expected = np.zeros(1 - low)
        for total, p in naive.undiscounted_returns(problem.process, state).items():
            expected[round(total) - low] = p
        np.testing.assert_allclose(found.pmf[state], expected, atol=1e-12)


@pytest.mark.parametrize("intervals", [23, 30, 47, 101])
def test_grids_that_fit_no_sum_keep_the_mean(intervals):
    """No GridMisfitWarning, which would be an error here."""
    problem = boyan()
    found = lincat.true_returns(problem.process, 1.0, problem.grid(intervals))
    np.testing.assert_allclose(found.mean(), -2.0 * np.arange(13), atol=1e-10)


@pytest.mark.filterwarnings("ignore::lincat.GridMisfitWarning")  # features extrapolate past the end
def test_the_fixed_point_of_features_solves_its_equation():
    problem = boyan()
    grid = problem.grid(20)
    Theta = lincat.solve_categorical(problem.process, problem.Phi, grid, 1.0)
    expected = naive.solve_categorical(problem.process, problem.Phi, grid, 1.0)
    np.testing.assert_allclose(Theta, expected, atol=1e-9)


def test_returns_without_bound_need_a_grid():
    walk = lincat.catalog.random_walk(gamma=1.0)  # rewards of 0 on the way, 1 at the right end
    assert walk.process.invariant_range(1.0) == (0.0, 1.0)
    np.testing.assert_allclose(
        lincat.true_returns(walk.process, 1.0, walk.grid(4)).mean()[1:-1], np.arange(1, 6) / 6
    )
    waiting = lincat.MarkovRewardProcess(
        [0, 0], [1.0, 0.0], [0, 1], [0.5, 0.5], terminal=[1], initial=[1.0, 0.0]
    )
    with pytest.raises(lincat.InvalidInputError, match=r"grid: expected a lincat\.Grid, as the"):
        lincat.Problem("waiting", waiting, 1.0).grid(10)
    found = lincat.true_returns(waiting, 1.0, lincat.Grid(0.0, 60.0, 60))  # geometric
    np.testing.assert_allclose(found.pmf[0, :20], 0.5 ** np.arange(1, 21), atol=1e-12)


def test_a_process_that_never_ends_is_refused_with_the_states():
    process = lincat.MarkovRewardProcess(
        [0, 1, 2], [1.0, 1.0, 0.0], [2, 1, 2], [1.0, 1.0, 1.0], terminal=[2]
    )
    words = r"gamma: expected below 1, .* got 1 with 1 of 3 states from which none ends \(1\)"
    with pytest.raises(lincat.InvalidInputError, match=words):
        lincat.Problem("stuck", process, 1.0)
    for solve in (
        lambda: lincat.solve_value(process, np.eye(3), 1.0),
        lambda: lincat.true_returns(process, 1.0, lincat.Grid(0.0, 1.0, 4)),
        lambda: lincat.solve_categorical(process, np.eye(3), lincat.Grid(0.0, 1.0, 4), 1.0),
        lambda: process.invariant_range(1.0),
    ):
        with pytest.raises(lincat.InvalidInputError, match=words):
            solve()


def test_gamma_above_one_is_refused():
    with pytest.raises(lincat.InvalidInputError, match=r"gamma: expected a number in \[0, 1\]"):
        lincat.catalog.boyan_chain(gamma=1.5)
