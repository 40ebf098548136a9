"""Figures of states on grids of their own are those of each state asked about alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import lincat
from lincat.core.apart import Apart
from tests.strategies import signed_cdfs

QUANTILES = (0.05, 0.5, 0.95)


def figures_alone(dist, level, threshold):
    """By the methods of a distribution of one state."""
    proper = dist.proper()
    return [
        proper.mean()[0],
        proper.std()[0],
        *proper.quantile(QUANTILES)[0],
        proper.cvar(level)[0],
        np.nan if threshold is None else proper.probability_below(threshold)[0],
        dist.negative_mass[0],
    ]


@pytest.mark.parametrize("change", ["as it is", "shifted", "rescaled"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("threshold", [None, 1.3])
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (-0.43, 1.37), (1.0, np.inf)])
def test_figures_are_those_of_each_state_alone(change, noise, threshold, ends):
    rng = np.random.default_rng(0)
    n, K = 40, 30
    cdf = np.cumsum(rng.dirichlet(np.ones(K + 1), size=n), axis=1)[:, :-1]
    cdf += noise * rng.normal(size=(n, K))  # signed, below 0 and above 1
    dist = lincat.ReturnDistribution(cdf, lincat.Grid(-1.0, 3.0, K))
    amount, factor = rng.normal(size=n), rng.uniform(0.2, 3.0, size=n)
    apart = {
        "as it is": lambda: Apart.of(dist),
        "shifted": lambda: Apart.of(dist, amount),
        "rescaled": lambda: Apart.of(dist, amount, factor),
    }[change]()
    alone = {
        "as it is": lambda i: dist[[i]],
        "shifted": lambda i: dist[[i]].shifted(amount[[i]]),
        "rescaled": lambda i: dist[[i]].rescaled(factor[[i]], amount[[i]]),
    }[change]
    expected = [figures_alone(alone(i).within(*ends), 0.1, threshold) for i in range(n)]
    found = apart.within(*ends).figures(QUANTILES, 0.1, threshold)
    # Of a state that lies beyond an end altogether, all that is known is that it lies there.
    inside = (apart.high > ends[0] + apart.spacing) & (apart.low < ends[1] - apart.spacing)
    assert inside.sum() > n // 2
    np.testing.assert_allclose(found[inside], np.array(expected)[inside], rtol=1e-9, atol=1e-9)
    for i in range(n):  # rounding may give it one interval more
        grid = alone(i).grid
        assert apart.low[i] == pytest.approx(grid.low)
        assert grid.high - grid.spacing - 1e-9 < apart.high[i] < grid.high + 1e-9


def test_amounts_on_the_grid_split_nothing():
    dist = lincat.ReturnDistribution([[0.25, 0.5]], lincat.Grid(0.0, 2.0, 2))
    found = Apart.of(dist, np.array([3.0])).figures((0.3,), 0.5, 4.0)
    np.testing.assert_allclose(found, [[4.25, dist.std()[0], 4.0, 3.5, 0.25, 0.0]])


@given(st.integers(1, 12).flatmap(lambda K: signed_cdfs(3, K)))
def test_proper_rows_are_the_nearest_increasing_ones(cdf):
    grid = lincat.Grid(0.0, 1.0, cdf.shape[1])
    proper = lincat.ReturnDistribution(cdf, grid).proper().cdf_values
    expected = [np.clip(isotonic_regression(row).x, 0.0, 1.0) for row in cdf]
    np.testing.assert_allclose(proper, expected, atol=1e-12)
