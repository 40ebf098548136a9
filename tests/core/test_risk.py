"""The measures are tested through ReturnDistribution; here, what only the pure functions show."""

import numpy as np

import lincat
from lincat.core import risk


def test_uniform_distribution_in_closed_form():
    """On K + 1 equal atoms of [0, 1], CVaR at level j/(K + 1) is the mean of the first j atoms."""
    K = 10
    grid = lincat.Grid(0.0, 1.0, K)
    cdf = (np.arange(1, K + 1) / (K + 1))[None]
    for j in range(1, K + 2):
        level = np.array([j / (K + 1)])
        np.testing.assert_allclose(
            risk.expected_shortfall(cdf, grid, level)[0, 0], grid.atoms[:j].mean(), atol=1e-14
        )
        np.testing.assert_allclose(risk.quantile(cdf, grid, level)[0, 0], grid.atoms[j - 1])
    np.testing.assert_allclose(risk.mean(cdf, grid), 0.5)
    np.testing.assert_allclose(risk.variance(cdf, grid), (K + 2) / (12 * K))


def test_signed_quantiles_come_from_the_increasing_envelope():
    grid = lincat.Grid(0.0, 3.0, 3)
    cdf = np.array([[0.5, 0.2, 0.8]])
    np.testing.assert_array_equal(risk.quantile(cdf, grid, np.array([0.3, 0.6, 0.9])), [[0, 2, 3]])
