import numpy as np
import pytest
from hypothesis import given

import lincat
from tests import naive
from tests.strategies import processes


@pytest.mark.parametrize("K", [1, 2, 7, 10, 100])
def test_fair_coin_in_closed_form(K):
    coin = lincat.catalog.uniform_coin()
    dist = lincat.true_returns(coin.process, coin.gamma, lincat.Grid(0.0, 2.0, K))
    expected = np.full(K + 1, 1 / K)
    expected[[0, -1]] /= 2
    np.testing.assert_allclose(dist.pmf[0], expected, atol=1e-12)
    assert dist.mean()[0] == pytest.approx(1.0, abs=1e-12)
    assert dist.variance()[0] == pytest.approx(1 / 3 + 2 / (3 * K**2), abs=1e-12)


def test_fair_coin_is_as_far_from_uniform_as_it_should_be():
    """W1 to Uniform[0, 2] is 1/(2K), ℓ2 is 1/(√6 K); a fine grid stands in."""
    K, fine = 8, 8 * 2000
    coin = lincat.catalog.uniform_coin()
    dist = lincat.true_returns(coin.process, coin.gamma, lincat.Grid(0.0, 2.0, K))
    middle = (np.arange(fine) + 0.5) / fine  # the average of the uniform CDF over each cell
    uniform = lincat.ReturnDistribution(middle, lincat.Grid(0.0, 2.0, fine))
    assert lincat.wasserstein(dist, uniform)[0] == pytest.approx(1 / (2 * K), rel=1e-3)
    assert lincat.cramer(dist, uniform)[0] == pytest.approx(1 / (np.sqrt(6) * K), rel=1e-3)


def test_frozen_lake_known_answer():
    problem = lincat.catalog.frozen_lake()
    dist = lincat.true_returns(problem.process, problem.gamma, lincat.Grid(0.0, 1.0, 2000))
    assert dist.mean()[0] == pytest.approx(0.007767, abs=5e-7)
    assert dist.std()[0] == pytest.approx(0.06737, abs=1e-5)


def test_episodes_by_enumeration():
    """All paths of a walk that ends: the categorical distribution converges to theirs."""
    problem = lincat.catalog.random_walk(3, gamma=0.6)
    grid = lincat.Grid(0.0, 1.0, 4000)
    dist = lincat.true_returns(problem.process, problem.gamma, grid)
    for state in (1, 2, 3):
        paths = naive.return_by_enumeration(problem.process, problem.gamma, state, horizon=14)
        atoms, masses = (np.array(column) for column in zip(*paths, strict=True))
        exact = lincat.ReturnDistribution.from_pmf(lincat.project(atoms, masses, grid), grid)
        # Paths longer than 14 steps carry at most 2^-7 of the mass and 0.6^14 of return.
        assert lincat.wasserstein(dist[state], exact)[0] <= 2**-7 * 0.6**14 + 2 * grid.spacing


@given(processes())
def test_moments_are_exact_or_nearly_so(problem):
    """Means solve Bellman's equation on any grid; variances do up to the projection's spread."""
    process, gamma = problem.process, problem.gamma
    P = np.zeros((process.n_states,) * 2)
    np.add.at(P, (process.state, process.next_state), process.probability)
    r = np.bincount(process.state, process.probability * process.reward, process.n_states)
    mean = np.linalg.solve(np.eye(len(P)) - gamma * P, r)
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=60)
    dist = lincat.true_returns(process, gamma, grid)
    np.testing.assert_allclose(dist.mean(), mean, atol=1e-9 / (1 - gamma))
    second = process.probability * (
        process.reward**2 + 2 * gamma * process.reward * mean[process.next_state]
    )
    second = np.bincount(process.state, second, process.n_states)
    variance = np.linalg.solve(np.eye(len(P)) - gamma**2 * P, second) - mean**2
    # Each projection adds between 0 and spacing²/4 to the variance, discounted by gamma².
    extra = grid.spacing**2 / 4 / (1 - gamma**2)
    assert (dist.variance() >= variance - 1e-9 * grid.high**2).all()
    assert (dist.variance() <= variance + extra + 1e-9 * grid.high**2).all()
    assert dist.negative_mass.max() <= 1e-9


def test_a_grid_that_is_too_small_is_told():
    coin = lincat.catalog.uniform_coin()
    with pytest.warns(lincat.GridMisfitWarning, match=r"nothing falls outside \[0, 2\]"):
        lincat.true_returns(coin.process, coin.gamma, lincat.Grid(0.0, 1.0, 10))


def test_one_number_for_gamma_is_checked():
    coin = lincat.catalog.uniform_coin()
    with pytest.raises(
        lincat.InvalidInputError, match=r"gamma: expected below 1, or a process whose episodes end"
    ):
        lincat.true_returns(coin.process, 1.0, lincat.Grid(0.0, 1.0, 10))
