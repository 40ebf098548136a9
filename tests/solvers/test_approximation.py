import numpy as np
import pytest

import lincat


@pytest.mark.parametrize("seed", range(5))
def test_error_is_within_the_bound(seed):
    problem = lincat.catalog.random_process(20, n_features=4, gamma=0.8, seed=seed)
    error = lincat.approximation_error(
        problem.process, problem.Phi, problem.grid(20), problem.gamma
    )
    assert 0.0 < error.wasserstein <= error.bound
    assert error.bound == pytest.approx(np.sqrt(error.grid_term + error.feature_term))


def test_on_the_papers_grid_the_terms_are_the_papers():
    problem = lincat.catalog.paper()
    K, gamma = 30, problem.gamma
    error = lincat.approximation_error(problem.process, problem.Phi, problem.grid(K), gamma)
    assert error.grid_term == pytest.approx(1 / (K * (1 - gamma) ** 3))
    assert error.feature_term == pytest.approx(0.0, abs=1e-12)  # three features, three states


def test_error_of_the_fair_coin_in_closed_form():
    coin = lincat.catalog.uniform_coin()
    error = lincat.approximation_error(
        coin.process, np.eye(1), lincat.Grid(0.0, 2.0, 10), coin.gamma, refinement=64
    )
    assert error.wasserstein == pytest.approx(1 / 20, rel=1e-2)
