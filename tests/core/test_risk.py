"""The measures are tested through ReturnDistribution; here, what only the pure functions show."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("intervals", [7, 200, 2173])
def test_a_tail_that_is_one_atom_at_an_end_is_that_end(intervals):
    """To the last bit: a table that says 2.2e-16 of a game that pays 0 or 1 looks broken."""
    grid, level = lincat.Grid(0.0, 1.0, intervals), np.array([0.05])
    cdf = np.full((1, intervals), 0.9943)
    assert risk.expected_shortfall(cdf, grid, level)[0, 0] == 0.0
    cdf = np.full((1, intervals), 0.0057)
    assert risk.expected_shortfall(cdf, grid, level, upper=True)[0, 0] == 1.0
