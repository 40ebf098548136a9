import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat
from lincat.core.representation import uniform_cdf
from tests import naive
from tests.strategies import finite_floats

MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=finite_floats(-3.0, 3.0))
)


@given(MATRICES)
def test_weights_are_theta_times_the_inverse_of_C_transposed(Theta):
    C = naive.C_matrix(Theta.shape[1])
    W = lincat.weights_from_theta(Theta)
    np.testing.assert_allclose(W, Theta @ np.linalg.inv(C).T, atol=1e-12)
    np.testing.assert_allclose(lincat.theta_from_weights(W), Theta, atol=1e-12)


@given(MATRICES)
def test_pmf_and_cdf_are_inverse_to_each_other(cdf):
    pmf = lincat.pmf_from_cdf(cdf)
    np.testing.assert_allclose(pmf.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(lincat.cdf_from_pmf(pmf), cdf, atol=1e-12)


def test_parameters_of_zero_stand_for_the_uniform_distribution():
    Phi = np.random.default_rng(0).random((2, 3))
    cdf = lincat.cdf_from_theta(Phi, np.zeros((3, 4)))
    np.testing.assert_allclose(lincat.pmf_from_cdf(cdf), 0.2, atol=1e-15)
    np.testing.assert_allclose(uniform_cdf(4), [0.2, 0.4, 0.6, 0.8])


def test_sparse_features_give_the_same_cdf():
    rng = np.random.default_rng(0)
    Phi, Theta = rng.random((5, 3)), rng.random((3, 4))
    sparse = lincat.cdf_from_theta(scipy.sparse.csr_array(Phi), Theta)
    np.testing.assert_allclose(sparse, lincat.cdf_from_theta(Phi, Theta), atol=1e-15)


@pytest.mark.parametrize(
    ("pmf", "message"),
    [
        ([0.5, 0.4], "pmf: expected masses that sum to 1, got a sum of 0.9"),
        ([1.0], "pmf: expected masses of at least two atoms"),
        ([np.nan, 1.0], "pmf: expected finite numbers"),
    ],
)
def test_bad_masses_are_named(pmf, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.cdf_from_pmf(pmf)


def test_the_sum_that_is_named_is_the_worst():
    masses = [[0.5, 0.5], [0.3, 0.4], [0.5, 0.51], [0.25, 0.75]]
    with pytest.raises(lincat.InvalidInputError, match=r"got a sum of 0\.7$"):
        lincat.cdf_from_pmf(masses)


def test_masses_are_along_the_last_axis():
    cdf = np.random.default_rng(0).uniform(size=(2, 3, 4))
    for rows, masses in zip(cdf, lincat.pmf_from_cdf(cdf), strict=True):
        np.testing.assert_array_equal(masses, lincat.pmf_from_cdf(rows))
        for row, mass in zip(rows, masses, strict=True):
            np.testing.assert_array_equal(mass, np.diff([0.0, *row, 1.0]))
