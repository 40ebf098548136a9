import numpy as np
import pytest

from lincat.solvers.gmres import gmres


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_any_precision_of_the_preconditioner_leads_to_full_precision(precision):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 60)) + 20.0 * np.eye(60)
    inverse = np.linalg.inv(A).astype(precision)
    right = rng.normal(size=(6, 10))
    result = gmres(
        lambda x: (A @ x.ravel()).reshape(x.shape),
        lambda x: (inverse @ x.ravel().astype(precision)).astype(float).reshape(x.shape),
        right,
        tolerance=1e-13,
    )
    left = right.ravel() - A @ result.x.ravel()
    assert result.residual == np.linalg.norm(left) / np.linalg.norm(right) <= 1e-13
    assert result.iterations <= 4


def test_restarts_until_it_is_there():
    rng = np.random.default_rng(1)
    A = np.diag(np.linspace(1.0, 2000.0, 400)) + 0.1 * rng.normal(size=(400, 400))
    right = rng.normal(size=400)
    result = gmres(lambda x: A @ x, lambda x: x, right, tolerance=1e-10)
    assert result.iterations > 80
    np.testing.assert_allclose(A @ result.x, right, atol=1e-8)


def test_a_good_start_is_used():
    A = np.diag([1.0, 2.0, 3.0])
    start = np.array([1.0, 0.5, 1.0 / 3.0])
    result = gmres(lambda x: A @ x, lambda x: x, np.ones(3), start=start, tolerance=1e-12)
    assert result.iterations == 0


def test_says_what_is_left_where_there_is_no_solution():
    A = np.diag([1.0, 0.0])
    result = gmres(lambda x: A @ x, lambda x: x, np.ones(2), tolerance=1e-12)
    assert result.residual > 0.5


def test_nothing_gives_nothing():
    result = gmres(lambda x: x, lambda x: x, np.zeros(3), tolerance=1e-12)
    np.testing.assert_array_equal(result.x, np.zeros(3))
