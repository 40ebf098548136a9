import numpy as np
import scipy.linalg
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.solvers.stein import SteinSolver, slow_directions


def problem(seed, K, r):
    rng = np.random.default_rng(seed)
    N = rng.normal(size=(r, r))
    N *= 0.95 / np.abs(np.linalg.eigvals(N)).max()
    grid = lincat.Grid(0.0, 10.0, K)
    B = lincat.bellman_matrix(grid, 0.7, 0.9) + lincat.bellman_matrix(grid, 0.1, 0.9)
    return B / 2.0, N, rng.normal(size=(K, r))


@given(st.integers(0, 99), st.integers(1, 12), st.integers(1, 70))
def test_solves_the_stein_equation(seed, K, r):
    B, N, R = problem(seed, K, r)
    T, U = scipy.linalg.schur(N, output="complex")
    X = SteinSolver(scipy.sparse.csr_array(B), T, U).solve(R)
    np.testing.assert_allclose(X - B @ X @ N.T, R, atol=1e-10 * np.abs(X).max())
    several = np.stack([R, 2.0 * R, R[::-1]])
    found = SteinSolver(scipy.sparse.csr_array(B), T, U).solve(several)
    np.testing.assert_allclose(found - B @ found @ N.T, several, atol=1e-10 * np.abs(found).max())


@given(st.integers(0, 99), st.integers(1, 30), st.integers(0, 31))
def test_slow_directions_span_an_invariant_subspace_of_the_largest_eigenvalues(seed, r, count):
    _, N, _ = problem(seed, 2, r)
    slow, T, U = slow_directions(N, count)
    s = slow.shape[1]
    np.testing.assert_allclose(slow.T @ slow, np.eye(s), atol=1e-10)
    inner = slow.T @ N @ slow
    np.testing.assert_allclose(N @ slow, slow @ inner, atol=1e-9)
    np.testing.assert_allclose(slow.T @ U, 0.0, atol=1e-9)
    np.testing.assert_allclose(U.conj().T @ N @ U, T, atol=1e-9)
    if 0 < s < r:
        assert np.abs(np.linalg.eigvals(inner)).min() >= np.abs(np.diagonal(T)).max() - 2e-3


def test_pairs_of_eigenvalues_are_not_torn_apart():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    N = scipy.linalg.block_diag(0.9 * turn, 0.5 * turn, 0.1 * turn)
    for count in range(1, 7):
        slow, T, _ = slow_directions(N, count)
        assert slow.shape[1] in (count - count % 2, count + count % 2)
        assert slow.shape[1] + len(T) == 6


def test_a_ring_whose_eigenvalues_are_all_of_one_size():
    N = 0.9 * np.roll(np.eye(9), 1, axis=1)
    slow, T, _ = slow_directions(N, 3)
    np.testing.assert_allclose(N @ slow, slow @ (slow.T @ N @ slow), atol=1e-12)
    assert slow.shape[1] + len(T) == 9
