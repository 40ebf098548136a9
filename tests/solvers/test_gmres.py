import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lincat.solvers.gmres import cycle_of_many, gmres


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


@given(st.integers(0, 99), st.integers(1, 5), st.sampled_from([1e-1, 1e-4, 1e-10]))
def test_many_in_step_are_as_near_as_each_alone(seed, m, tolerance):
    rng = np.random.default_rng(seed)
    A = np.eye(12) + 0.5 * rng.normal(size=(12, 12)) / np.sqrt(12)
    right = rng.normal(size=(m, 3, 4))

    def apply(x):
        return (x.reshape(len(x), 12) @ A.T).reshape(x.shape)

    def precondition(x):
        return 0.8 * x

    found = cycle_of_many(apply, precondition, right, tolerance=tolerance)
    left = np.linalg.norm(right - apply(found), axis=(1, 2))
    assert (left <= 1.01 * tolerance * np.linalg.norm(right, axis=(1, 2)) + 1e-13).all()
    for one, x in zip(right, found, strict=True):
        alone = gmres(lambda y: apply(y[None])[0], precondition, one, tolerance=1e-13).x
        worst = np.linalg.norm(np.linalg.inv(A), 2) * tolerance * np.linalg.norm(one)
        assert np.linalg.norm(x - alone) <= 1.01 * worst + 1e-12


def test_many_may_need_different_numbers_of_steps():
    A = np.diag([1.0, 2.0, 4.0])
    right = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    found = cycle_of_many(lambda x: x @ A, lambda x: x, right, tolerance=1e-12)
    np.testing.assert_allclose(found, right / np.diagonal(A), atol=1e-13)


def test_many_end_where_they_are_after_the_most_steps():
    A = np.diag(np.arange(1.0, 9.0))
    right = np.ones((2, 8))
    found = cycle_of_many(lambda x: x @ A, lambda x: x, right, tolerance=1e-12, most=3)
    left = np.linalg.norm(right - found @ A, axis=1)
    assert (left > 0.01).all()
    assert (left < np.sqrt(8.0)).all()
