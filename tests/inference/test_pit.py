import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.inference.pit import Transform
from tests import naive
from tests.inference.test_scores import cases
from tests.strategies import finite_floats


@given(cases(), finite_floats(0.0, 1.0))
def test_equals_the_transform_atom_by_atom(case, level):
    grid, pmf, returns = case
    got = Transform(lincat.cdf_from_pmf(pmf), grid, returns).below(level)
    for i, row in enumerate(returns):
        for j, y in enumerate(row):
            expected = naive.pit_below(pmf[i], [y], [1.0], grid, level)
            assert got[i, j] == pytest.approx(expected, abs=1e-9)


@given(cases(most=9), st.integers(1, 30))
def test_uniform_if_the_prediction_is_the_projection_of_the_truth(case, bins):
    """Exactly, whatever lies between the atoms: here the returns are the distribution."""
    grid, _, returns = case
    weight = 1.0 / returns.shape[1]
    pmf = lincat.project(returns, np.full(returns.shape, weight), grid)
    transform = Transform(lincat.cdf_from_pmf(pmf), grid, returns)
    for level in np.arange(bins + 1) / bins:
        # Many atoms are empty here; where the CDF is flat at a level, halves still add up to it.
        np.testing.assert_allclose(transform.below(level).mean(axis=1), level, atol=1e-9)


def test_what_falls_where_nothing_was_expected_is_a_surprise():
    """Predicted: 1 for certain. Atoms 0 and 2 have the transforms 0 and 1."""
    grid = lincat.Grid(0.0, 2.0, intervals=2)
    transform = Transform(np.array([[0.0, 1.0]]), grid, np.array([[-3.0, 0.0, 1.0, 2.0, 7.0]]))
    assert transform.within(0.025, 0.975).tolist() == [[0.0, 0.0, 0.95, 0.0, 0.0]]
    assert transform.below(0.01).tolist() == [[1.0, 1.0, 0.01, 0.0, 0.0]]
    assert transform.within(0.0, 1.0).tolist() == [[1.0] * 5]


def test_a_point_on_the_limit_of_an_interval_counts_half():
    grid = lincat.Grid(0.0, 2.0, intervals=2)
    transform = Transform(np.array([[0.5, 0.5]]), grid, np.array([[1.0]]))
    assert transform.below(0.5).item() == 0.5
    assert transform.below(0.5 - 1e-6).item() == 0.0
    assert transform.below(0.5 + 1e-6).item() == 1.0
