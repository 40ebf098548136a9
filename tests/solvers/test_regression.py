import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.solvers.regression import FeatureRegression
from tests.strategies import signed_cdfs


@given(st.data())
def test_equals_weighted_least_squares(data):
    problem = lincat.catalog.random_process(6, n_features=3, seed=data.draw(st.integers(0, 99)))
    grid = lincat.Grid(0.0, 1.0, 4)
    dist = lincat.ReturnDistribution(data.draw(signed_cdfs(6, 4)), grid)
    root = np.sqrt(problem.process.stationary)[:, None]
    uniform = np.arange(1, 5) / 5
    expected = np.linalg.lstsq(root * problem.Phi, root * (dist.cdf_values - uniform))[0]
    Theta = lincat.linear_projection(dist, problem.process, problem.Phi)
    np.testing.assert_allclose(Theta, expected, atol=1e-8)


def test_leaves_what_the_features_can_express():
    problem = lincat.catalog.random_process(6, n_features=3)
    Theta = np.random.default_rng(0).normal(size=(3, 4))
    dist = lincat.ReturnDistribution(
        lincat.cdf_from_theta(problem.Phi, Theta), lincat.Grid(0.0, 1.0, 4)
    )
    found = lincat.linear_projection(dist, problem.process, problem.Phi)
    np.testing.assert_allclose(found, Theta, atol=1e-10)


def test_one_distribution_per_state_is_needed():
    problem = lincat.catalog.paper()
    dist = lincat.ReturnDistribution(np.zeros((2, 4)), lincat.Grid(0.0, 1.0, 4))
    with pytest.raises(
        lincat.InvalidInputError, match="dist: expected 3 distributions, one per state"
    ):
        lincat.linear_projection(dist, problem.process, problem.Phi)


def test_covariance_is_the_weighted_second_moment():
    Phi, mu = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.25, 0.75])
    expected = sum(m * np.outer(p, p) for m, p in zip(mu, Phi, strict=True))
    np.testing.assert_allclose(FeatureRegression(Phi, mu).covariance, expected)
