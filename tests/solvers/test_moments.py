import numpy as np
import pytest

import lincat
from lincat.solvers.batch import solve_totals
from lincat.solvers.moments import exact_widening, solve_moments, widening
from tests import naive
from tests.transitions import process_rows, random_rows, totals_of

KINDS = ["plain", "terminal", "steps", "given", "weights", "signed", "deficient", "all"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_moments_equal_least_squares_over_the_rows(kind, sparse, seed):
    rows = random_rows(seed, d=4, kind=kind)
    moments = solve_moments(totals_of(rows, sparse=sparse), 0.9)
    value, second = naive.moments_of_transitions(
        rows.phi, rows.reward, rows.phi_next, rows.discount(0.9), rows.weight
    )
    np.testing.assert_allclose(moments.value, value, atol=1e-9 * np.abs(value).max())
    np.testing.assert_allclose(moments.second, second, atol=1e-9 * np.abs(second).max())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [7, 40])
def test_variance_on_a_grid_is_the_true_one_and_the_widening(K, sparse):
    problem = lincat.catalog.random_process(6, seed=3)
    totals = totals_of(process_rows(problem.process), sparse=sparse)
    grid = problem.grid(K)
    solution = solve_totals(totals, grid, problem.gamma)
    moments = solve_moments(totals, problem.gamma)
    added = grid.spacing**2 * exact_widening(totals, problem.gamma, grid, solution.Theta)
    eye = np.eye(6)
    on_grid = lincat.ReturnDistribution(lincat.cdf_from_theta(eye, solution.Theta), grid)
    np.testing.assert_allclose(on_grid.mean(), moments.mean(eye), rtol=1e-11)
    np.testing.assert_allclose(on_grid.variance() - moments.variance(eye), added, atol=1e-11)
    assert (added >= 0.0).all()


def test_widening_is_its_average_where_positions_are_spread():
    """u(1 − u) of positions spread over a cell is 1/6 on average, so v = 1/(6 (1 − gamma²))."""
    problem = lincat.catalog.uniform_coin()
    totals = totals_of(process_rows(problem.process))
    added = widening(totals, 0.9)
    np.testing.assert_allclose(added, 1.0 / (6.0 * (1.0 - 0.81)))
    grid = lincat.Grid(0.0, 10.0, 313)
    solution = solve_totals(totals, grid, 0.9)
    exact = exact_widening(totals, 0.9, grid, solution.Theta)
    np.testing.assert_allclose(exact, added, rtol=0.05)


def test_worst_widening_is_a_bound():
    rows = random_rows(2, d=3, kind="terminal")
    totals, grid = totals_of(rows), lincat.Grid(-20.0, 40.0, 60)
    solution = solve_totals(totals, grid, 0.9)
    exact = rows.phi @ exact_widening(totals, 0.9, grid, solution.Theta)
    assert exact.mean() <= (rows.phi @ widening(totals, 0.9, average=0.25)).mean()


def test_gamma_one_needs_episodes_that_end():
    with pytest.raises(lincat.InvalidInputError, match="gamma: expected below 1, or episodes that"):
        solve_moments(totals_of(random_rows(0, kind="plain")), 1.0)
    rows = random_rows(0, kind="terminal")
    moments = solve_moments(totals_of(rows), 1.0)
    value, second = naive.moments_of_transitions(
        rows.phi, rows.reward, rows.phi_next, rows.discount(1.0), rows.weight
    )
    np.testing.assert_allclose(moments.value, value, rtol=1e-9)
    np.testing.assert_allclose(moments.second, second, rtol=1e-9)
