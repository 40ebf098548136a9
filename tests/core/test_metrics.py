import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests.strategies import grids, proper_pmfs, signed_cdfs


@given(grids(8), st.data())
def test_wasserstein_agrees_with_scipy_on_proper_distributions(grid, data):
    p, q = (data.draw(proper_pmfs(1, grid.intervals)) for _ in range(2))
    ours = lincat.wasserstein(
        lincat.ReturnDistribution.from_pmf(p, grid), lincat.ReturnDistribution.from_pmf(q, grid)
    )
    theirs = scipy.stats.wasserstein_distance(grid.atoms, grid.atoms, p[0], q[0])
    assert ours[0] == pytest.approx(theirs, abs=1e-9 * (grid.high - grid.low))


@given(grids(8), grids(8), st.data())
def test_grids_may_differ(grid, other, data):
    p = data.draw(proper_pmfs(1, grid.intervals))
    q = data.draw(proper_pmfs(1, other.intervals))
    a = lincat.ReturnDistribution.from_pmf(p, grid)
    b = lincat.ReturnDistribution.from_pmf(q, other)
    theirs = scipy.stats.wasserstein_distance(grid.atoms, other.atoms, p[0], q[0])
    scale = max(abs(grid.low), abs(grid.high), abs(other.low), abs(other.high))
    assert lincat.wasserstein(a, b)[0] == pytest.approx(theirs, abs=1e-8 * scale)
    energy = scipy.stats.energy_distance(grid.atoms, other.atoms, p[0], q[0])
    # SciPy's energy distance is √2 times the L2 distance of the CDFs.
    assert lincat.cramer(a, b)[0] * np.sqrt(2) == pytest.approx(energy, abs=1e-7 * scale**0.5)


@given(grids(8), st.data())
def test_one_grid_and_two_equal_grids_agree_for_signed_distributions(grid, data):
    p, q = (data.draw(signed_cdfs(2, grid.intervals)) for _ in range(2))
    a, b = (lincat.ReturnDistribution(x, grid) for x in (p, q))
    finer = lincat.Grid(grid.low, grid.high, 2 * grid.intervals)
    repeated = lincat.ReturnDistribution(np.repeat(q, 2, axis=1), finer)
    for metric in (lincat.wasserstein, lincat.cramer):
        np.testing.assert_allclose(metric(a, b), metric(a, repeated), rtol=1e-6, atol=1e-7)


def test_weights_give_the_root_mean_square_over_states():
    grid = lincat.Grid(0.0, 1.0, 1)
    a = lincat.ReturnDistribution([[0.0], [0.0]], grid)
    b = lincat.ReturnDistribution([[0.3], [0.4]], grid)
    expected = np.sqrt(0.25 * 0.3**2 + 0.75 * 0.4**2)
    for metric in (lincat.wasserstein, lincat.cramer):
        assert metric(a, b, weights=[0.25, 0.75]) == pytest.approx(expected)


def test_one_state_against_many():
    grid = lincat.Grid(0.0, 1.0, 1)
    many = lincat.ReturnDistribution([[0.0], [1.0]], grid)
    np.testing.assert_allclose(lincat.wasserstein(many, many[0]), [0.0, 1.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], "weights: expected a sum of 1"),
        ([1.5, -0.5], "weights: expected probabilities of at least 0"),
        ([1.0], r"weights: expected an array of shape \(2\)"),
    ],
)
def test_bad_weights_are_named(weights, message):
    distribution = lincat.ReturnDistribution([[0.0], [0.0]], lincat.Grid(0.0, 1.0, 1))
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.wasserstein(distribution, distribution, weights=weights)


def test_numbers_of_states_must_match():
    grid = lincat.Grid(0.0, 1.0, 1)
    two, three = (lincat.ReturnDistribution(np.zeros((n, 1)), grid) for n in (2, 3))
    with pytest.raises(lincat.InvalidInputError, match="other: expected 2 states like dist"):
        lincat.cramer(two, three)
