from dataclasses import replace

import numpy as np
import pytest

import lincat
from lincat.solvers import preconditioners
from lincat.solvers.batch import solve_totals
from lincat.solvers.moments import solve_moments
from tests import naive
from tests.transitions import Rows, process_rows, random_rows, totals_of

KINDS = ["plain", "terminal", "steps", "given", "weights", "signed", "deficient", "all"]


def dense_solution(rows, grid, gamma):
    """Minimum-norm solution of the dense system of the rows."""
    d, K = rows.phi.shape[1], grid.intervals
    discount = rows.discount(gamma)
    A, b = naive.totals_system(rows.phi, rows.reward, rows.phi_next, discount, rows.weight, grid)
    return np.linalg.lstsq(A, b, rcond=1e-11)[0].reshape(K, d).T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_equals_a_dense_solve(kind, seed):
    rng = np.random.default_rng(seed)
    d, K, gamma = (
        int(rng.integers(1, 5)),
        int(rng.integers(1, 12)),
        float(rng.choice([0.5, 0.9, 0.97])),
    )
    low = float(rng.normal())
    grid = lincat.Grid(low, low + float(rng.uniform(1.0, 30.0)), K)
    rows = random_rows(seed, d=d, kind=kind)
    totals, expected = totals_of(rows), dense_solution(rows, grid, gamma)
    for method in ("auto", ("dense", "banded", "stein", "krylov")[seed % 4]):
        solution = solve_totals(totals, grid, gamma, method=method)
        assert solution.residual <= 1e-12
        np.testing.assert_allclose(solution.Theta, expected, atol=1e-10 * np.abs(expected).max())
    solution = solve_totals(totals_of(rows, sparse=True), grid, gamma, method="stein")
    np.testing.assert_allclose(solution.Theta, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("sparse", [False, True])
def test_expectations_as_sums_give_the_exact_fixed_point(sparse):
    problem = lincat.catalog.random_process(9, seed=4, gamma=0.95)
    grid = problem.grid(30)
    solution = solve_totals(totals_of(process_rows(problem.process), sparse=sparse), grid, 0.95)
    true = lincat.true_returns(problem.process, 0.95, grid)
    np.testing.assert_allclose(
        lincat.cdf_from_theta(np.eye(9), solution.Theta), true.cdf_values, atol=1e-10
    )
    assert solution.spectrum.radius == pytest.approx(0.95)
    assert solution.spectrum.is_contraction


@pytest.mark.parametrize("method", ["dense", "banded", "stein", "krylov"])
def test_boyans_chain_without_discounting(method):
    problem = lincat.catalog.boyan_chain(gamma=1.0)
    grid = problem.grid(35)
    rows = process_rows(problem.process)
    solution = solve_totals(totals_of(rows), grid, 1.0, method=method)
    found = lincat.ReturnDistribution(lincat.cdf_from_theta(np.eye(13), solution.Theta), grid)
    true = lincat.true_returns(problem.process, 1.0, grid)
    seen = problem.process.stationary > 0.0
    np.testing.assert_allclose(found.pmf[seen], true.pmf[seen], atol=1e-11)
    np.testing.assert_allclose(found.mean()[seen], -2.0 * np.arange(13)[seen], atol=1e-10)
    assert solution.rank == seen.sum() == 12


def test_gamma_one_without_ends_is_refused_with_the_reason():
    totals = totals_of(random_rows(0, kind="plain"))
    with pytest.raises(lincat.InvalidInputError, match="1 with rows from which no end is reached"):
        solve_totals(totals, lincat.Grid(0.0, 1.0, 4), 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["dense", "banded", "stein", "krylov"])
def test_back_solves_are_solutions_for_other_right_hand_sides(kind, method):
    rows, grid, gamma = random_rows(6, d=4, kind=kind), lincat.Grid(-4.0, 12.0, 9), 0.9
    solution = solve_totals(totals_of(rows), grid, gamma, method=method)
    A, _ = naive.totals_system(
        rows.phi, rows.reward, rows.phi_next, rows.discount(gamma), rows.weight, grid
    )
    expected = np.random.default_rng(0).normal(size=(3, 4, 9))
    expected -= np.asarray(solution.null_directions @ (solution.null_directions.T @ expected))
    right = np.stack([(A @ X.T.ravel()).reshape(9, 4).T for X in expected])
    np.testing.assert_allclose(solution.back_solve(right), expected, atol=1e-9)
    np.testing.assert_allclose(solution.back_solve(right[0]), expected[0], atol=1e-9)
    with pytest.raises(lincat.InvalidInputError, match="right: expected an array of shape"):
        solution.back_solve(right[:, :2])


@pytest.mark.parametrize("wrong", [0.0, 0.02, 0.4])
def test_factors_that_are_off_are_noticed_at_loose_tolerances(wrong):
    """One answer of many is looked at where factors should be near: then all of them."""
    rows, grid = random_rows(6, d=4), lincat.Grid(-4.0, 12.0, 9)
    exact = solve_totals(totals_of(rows), grid, 0.9, method="dense")
    rng, before = np.random.default_rng(3), exact._equation.applied
    spoilt = rng.normal(size=(9 * 4, 9 * 4)) / 6.0

    def inverse(right):
        found = exact._inverse(right)
        return found + wrong * (found.reshape(-1, 9 * 4) @ spoilt).reshape(found.shape)

    right = rng.normal(size=(5, 4, 9))
    expected = exact.back_solve(right)
    products = exact._equation.applied - before
    found = replace(exact, _inverse=inverse).back_solve(right, tolerance=0.05)
    if wrong == 0.0:
        assert exact._equation.applied - before == products + 1  # of one right-hand side
    assert np.linalg.norm(found - expected) <= (0.3 if wrong else 1e-9) * np.linalg.norm(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["dense", "banded", "stein", "krylov"])
@pytest.mark.parametrize("sparse", [False, True])
def test_factors_of_half_the_intervals_lead_to_the_same_answer(kind, method, sparse):
    rows, gamma = random_rows(7, d=4, kind=kind), 0.95
    totals, grids = totals_of(rows, sparse=sparse), [lincat.Grid(-4.0, 12.0, K) for K in (12, 24)]
    ridge = 0.1 if kind == "all" else 0.0
    half = solve_totals(totals, grids[0], gamma, method=method, ridge=ridge)
    found = solve_totals(totals, grids[1], gamma, ridge=ridge, coarse=half)
    expected = solve_totals(totals, grids[1], gamma, ridge=ridge)
    assert found.residual <= 1e-9
    assert found.method in (("two_grid",) if method != "krylov" else ("dense", "stein", "krylov"))
    scale = np.abs(expected.Theta).max()
    np.testing.assert_allclose(found.Theta, expected.Theta, atol=1e-9 * scale)
    right = np.random.default_rng(1).normal(size=(3, 4, 24))
    np.testing.assert_allclose(found.back_solve(right), expected.back_solve(right), atol=1e-7)


def test_factors_that_lead_nowhere_are_replaced():
    totals, grid = totals_of(random_rows(7, d=4)), lincat.Grid(-4.0, 12.0, 24)
    half = solve_totals(totals, lincat.Grid(-4.0, 12.0, 12), 0.95)
    useless = replace(half, _inverse=lambda right: 0.0 * right)
    found = solve_totals(totals, grid, 0.95, coarse=useless)
    assert found.method == "dense"
    np.testing.assert_allclose(found.Theta, solve_totals(totals, grid, 0.95).Theta, atol=1e-10)


def test_directions_without_data_are_named_and_left_at_zero():
    rows = random_rows(3, d=4, kind="deficient")
    solution = solve_totals(totals_of(rows), lincat.Grid(-4.0, 12.0, 9), 0.9)
    assert solution.rank == 3
    assert solution.null_directions.shape == (4, 1)
    np.testing.assert_allclose(rows.phi @ solution.null_directions, 0.0, atol=1e-7)
    np.testing.assert_allclose(solution.null_directions.T @ solution.Theta, 0.0, atol=1e-10)


def test_a_ridge_draws_all_states_towards_the_distribution_of_all_rows():
    rows, grid = random_rows(7, d=3, kind="plain"), lincat.Grid(-12.0, 22.0, 12)
    totals = totals_of(rows)
    pooled = Rows(
        np.ones((40, 1)), rows.reward, np.ones((40, 1)), rows.power, rows.given, rows.weight
    )
    centre = solve_totals(totals_of(pooled), grid, 0.9).Theta
    far = solve_totals(totals, grid, 0.9, ridge=1e9)
    np.testing.assert_allclose(rows.phi @ far.Theta, np.tile(centre, (40, 1)), atol=1e-7)
    near = solve_totals(totals, grid, 0.9, ridge=1e-12)
    plain = solve_totals(totals, grid, 0.9)
    np.testing.assert_allclose(near.Theta, plain.Theta, atol=1e-8)


def test_an_equation_without_contraction_is_solved_and_named():
    """Tsitsiklis and Van Roy's two states: updates only where the value doubles on the way."""
    phi = np.array([[1.0]])
    rows = Rows(phi, np.array([1.0]), 2.0 * phi, np.array([1]), np.array([np.nan]), np.ones(1))
    solution = solve_totals(totals_of(rows), lincat.Grid(-3.0, 3.0, 6), 0.9)
    assert not solution.spectrum.is_contraction
    assert solution.spectrum.radius == pytest.approx(1.8)
    assert solution.residual <= 1e-12


def walk_totals(d, rows=3000):
    """A walk of one number with radial features and rewards that depend on it."""
    rng = np.random.default_rng(5)
    place = np.empty(rows + 1)
    place[0] = 0.0
    for t in range(rows):
        place[t + 1] = 0.95 * place[t] + 0.3 * rng.normal()
    Phi = np.exp(-8.0 * (place[:, None] - np.linspace(-1.5, 1.5, d)) ** 2)
    Phi[:, 0] = 1.0
    reward = np.round(2.0 * np.tanh(place[:-1]) + 0.5 * rng.normal(size=rows)) / 2.0
    power, given = np.ones(rows, int), np.full(rows, np.nan)
    return totals_of(Rows(Phi[:-1], reward, Phi[1:], power, given, np.ones(rows)))


@pytest.mark.parametrize("gamma", [0.9, 0.99, 0.999])
def test_methods_agree_on_larger_equations(gamma):
    totals = walk_totals(20)
    moments = solve_moments(totals, gamma)
    spread = 30.0 * np.sqrt(1.0 / (1.0 - gamma))
    mean = totals.phi_sum.sum(axis=0) @ moments.value / totals.weight
    grid = lincat.Grid(mean - spread, mean + spread, 60)
    banded = solve_totals(totals, grid, gamma, method="banded")
    stein = solve_totals(totals, grid, gamma, method="stein")
    assert banded.iterations <= 4  # the residual before, after, and one or two steps
    assert stein.iterations <= 60
    scale = np.abs(banded.Theta).max()
    np.testing.assert_allclose(stein.Theta, banded.Theta, atol=1e-8 * scale)
    assert max(banded.residual, stein.residual) <= 1e-12


def test_factors_in_single_precision_lead_to_the_same_answer(monkeypatch):
    totals, grid = walk_totals(12), lincat.Grid(-40.0, 40.0, 40)
    double = solve_totals(totals, grid, 0.97, method="banded")
    monkeypatch.setattr(preconditioners, "_SINGLE", 0.0)
    single = solve_totals(totals, grid, 0.97, method="banded")
    assert single.residual <= 1e-12
    np.testing.assert_allclose(single.Theta, double.Theta, atol=1e-9 * np.abs(double.Theta).max())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 1.5}, r"gamma: expected a number in \[0, 1\]"),
        ({"gamma": 0.9, "method": "magic"}, "method: expected one of 'auto', 'dense'"),
        ({"gamma": 0.9, "ridge": -1.0}, "ridge: expected a finite number of at least 0"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        solve_totals(totals_of(random_rows(0)), lincat.Grid(0.0, 1.0, 4), **options)
