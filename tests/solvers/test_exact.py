import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.strategies import grids, processes


def features(problem, seed, d):
    rng = np.random.default_rng(seed)
    S = problem.process.n_states
    return np.concatenate([np.ones((S, 1)), rng.normal(size=(S, min(d, S) - 1))], axis=1)


def well_conditioned(process, Phi):
    values = np.linalg.eigvalsh(Phi.T @ np.diag(process.stationary) @ Phi)
    return values[0] > 1e-6 * values[-1]


@given(processes(), st.integers(0, 1000), st.integers(1, 3))
def test_values_equal_a_dense_solve_of_the_equation(problem, seed, d):
    Phi = features(problem, seed, d)
    if not well_conditioned(problem.process, Phi):
        return
    psi = lincat.solve_value(problem.process, Phi, problem.gamma)
    expected = naive.solve_value(problem.process, Phi, problem.gamma)
    np.testing.assert_allclose(psi, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::lincat.GridMisfitWarning")  # random grids rarely fit
@given(processes(), st.integers(0, 1000), st.integers(1, 3), grids(7))
def test_distributions_equal_a_dense_solve_of_the_equation(problem, seed, d, grid):
    Phi = features(problem, seed, d)
    if not well_conditioned(problem.process, Phi):
        return
    Theta = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    expected = naive.solve_categorical(problem.process, Phi, grid, problem.gamma)
    np.testing.assert_allclose(Theta, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["paper", "paper_unit_norm"])
@pytest.mark.parametrize("K", [30, 150])
def test_papers_process_to_twelve_digits(name, K):
    problem = lincat.catalog.build(name)
    grid = problem.grid(K)
    Theta = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
    A, b = naive.system(problem.process, problem.Phi, grid, problem.gamma)
    residual = A @ Theta.T.ravel() - b
    assert np.linalg.norm(residual) <= 1e-12 * np.linalg.norm(b)


@given(processes(), st.integers(0, 1000), st.integers(1, 3))
def test_means_of_the_distributions_are_the_values(problem, seed, d):
    """1ᵀB = gamma 1ᵀ, so both fixed points have one mean if the features hold a constant."""
    Phi = features(problem, seed, d)
    if not well_conditioned(problem.process, Phi):
        return
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=problem.gamma, intervals=9)
    Theta = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    means = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, Theta), grid).mean()
    values = Phi @ lincat.solve_value(problem.process, Phi, problem.gamma)
    np.testing.assert_allclose(means, values, atol=1e-8 / (1 - problem.gamma))


@pytest.mark.parametrize("sparse", [False, True])
def test_one_hot_features_give_the_tabular_fixed_point(sparse):
    problem = lincat.catalog.random_process(12, seed=2)
    grid = problem.grid(20)
    Phi = scipy.sparse.eye_array(12, format="csr") if sparse else np.eye(12)
    Theta = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    table = lincat.true_returns(problem.process, problem.gamma, grid)
    np.testing.assert_allclose(lincat.cdf_from_theta(Phi, Theta), table.cdf_values, atol=1e-10)


def test_sparse_and_dense_features_agree():
    problem = lincat.catalog.random_process(30, n_features=6, seed=2)
    grid = problem.grid(15)
    sparse = scipy.sparse.csr_array(problem.Phi)
    for solve in (
        lambda Phi: lincat.solve_categorical(problem.process, Phi, grid, problem.gamma),
        lambda Phi: lincat.solve_value(problem.process, Phi, problem.gamma),
    ):
        np.testing.assert_allclose(solve(sparse), solve(problem.Phi), rtol=1e-9, atol=1e-9)


def test_two_thousand_states_within_the_memory_of_a_laptop():
    """S = 2,000 one-hot, K = 200: 400,000 unknowns, whose matrix would take 1.3 TB."""
    problem = lincat.catalog.random_process(2000, gamma=0.9, seed=0)
    grid = problem.grid(200)
    tracemalloc.start()
    Theta = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6
    cdf = lincat.cdf_from_theta(problem.Phi, Theta)
    process = problem.process
    target = np.zeros_like(cdf)
    pushed = lincat.bellman_target(
        cdf[process.next_state], process.reward, process.discounts(problem.gamma), grid
    )
    np.add.at(target, process.state, process.probability[:, None] * pushed)
    # Eq. (fixed_point_equation), row by row: mu(s) (F(s) − E[target | s]) = 0.
    assert np.abs(cdf - target).max() <= 1e-10


def test_weights_can_replace_the_stationary_distribution():
    P = np.roll(np.eye(3), 1, axis=1)  # periodic: no stationary distribution is reached
    process = lincat.MarkovRewardProcess.from_matrices(P, [0.0, 0.5, 1.0])
    Phi = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    mu = process.stationary_distribution(allow_periodic=True)
    psi = lincat.solve_value(process, Phi, 0.5, weights=mu)
    A = Phi.T @ np.diag(mu) @ (Phi - 0.5 * P @ Phi)
    np.testing.assert_allclose(A @ psi, Phi.T @ (mu * [0.0, 0.5, 1.0]), atol=1e-14)
    grid = lincat.Grid(0.0, 2.0, 8)
    assert lincat.solve_categorical(process, Phi, grid, 0.5, weights=mu).shape == (2, 8)


def test_a_grid_that_is_too_small_is_told():
    problem = lincat.catalog.paper()
    with pytest.warns(lincat.GridMisfitWarning, match=r"outside the grid \[1, 4\].*\[0, 4\]"):
        lincat.solve_categorical(
            problem.process, problem.Phi, lincat.Grid(1.0, 4.0, 10), problem.gamma
        )


@pytest.mark.parametrize(
    ("Phi", "gamma", "message"),
    [
        (np.ones((3, 2)), 0.5, "Phi: expected 2 features that are linearly independent"),
        (scipy.sparse.csr_array(np.ones((3, 2))), 0.5, "linearly independent"),
        (scipy.sparse.csr_array((3, 2)), 0.5, "linearly independent"),
        (np.ones((4, 2)), 0.5, r"Phi: expected an array of shape \(3, any\)"),
        (scipy.sparse.csr_array(np.ones((4, 2))), 0.5, "Phi: expected 3 rows"),
        (np.full((3, 1), np.nan), 0.5, "Phi: expected finite numbers"),
        (np.eye(3), 1.0, r"gamma: expected below 1, or a process whose episodes end"),
    ],
)
def test_bad_input_is_named(Phi, gamma, message):
    process = lincat.catalog.paper().process
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.solve_value(process, Phi, gamma)
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.solve_categorical(process, Phi, lincat.Grid(0.0, 4.0, 5), gamma)


def test_bad_weights_are_named():
    problem = lincat.catalog.paper()
    with pytest.raises(lincat.InvalidInputError, match="weights: expected a sum of 1"):
        lincat.solve_value(problem.process, problem.Phi, 0.5, weights=[0.5, 0.4, 0.0])
