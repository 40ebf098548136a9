import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.core.bellman import reward_shifts
from lincat.solvers.equation import BatchEquation, bellman_stack
from lincat.solvers.whitening import whiten
from tests import naive
from tests.strategies import finite_floats, grids
from tests.transitions import random_rows, totals_of


@given(grids(9), st.lists(st.tuples(finite_floats(-50, 50), st.sampled_from([0.0, 0.3, 0.9, 1.0]))))
def test_the_stack_holds_the_bellman_matrices(grid, outcomes):
    reward, discount = np.array([o[0] for o in outcomes]), np.array([o[1] for o in outcomes])
    stack = bellman_stack(reward, discount, grid)
    K = grid.intervals
    assert stack.shape == (len(outcomes) * K, K)
    for g, (r, delta) in enumerate(outcomes):
        np.testing.assert_array_equal(
            stack[g * K : (g + 1) * K].toarray(), lincat.bellman_matrix(grid, r, delta)
        )


@given(grids(9), finite_floats(-50, 50), st.sampled_from([1.2, 2.0, 3.7]))
def test_discounts_above_one_reach_over_more_cells(grid, r, delta):
    K = grid.intervals
    stack = bellman_stack(np.array([r, 0.0]), np.array([delta, 0.5]), grid)[:K].toarray()
    rho = float(reward_shifts(np.array([r]), np.array([delta]), grid)[0])
    moved = naive.projection_matrix(rho, delta, K)
    for k in range(K):  # a CDF value moves mass from atom k + 1 to atom k
        np.testing.assert_allclose(
            stack[:, k], np.cumsum(moved[k] - moved[k + 1])[:-1], rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["plain", "all"])
def test_operator_and_right_hand_side_are_those_of_the_rows(sparse, kind):
    rows, grid, gamma = random_rows(4, d=3, kind=kind), lincat.Grid(-3.0, 9.0, 7), 0.9
    totals = totals_of(rows, sparse=sparse)
    whitening = whiten(totals.Sigma)
    equation = BatchEquation(totals, totals.discount(gamma), grid, whitening)
    A, b = naive.totals_system(
        rows.phi, rows.reward, rows.phi_next, rows.discount(gamma), rows.weight, grid
    )
    r, K = whitening.size, grid.intervals
    W = np.kron(np.eye(K), whitening.matrix)
    np.testing.assert_allclose(equation.right.ravel(), W.T @ b, atol=1e-9)
    for X in np.random.default_rng(0).normal(size=(3, K, r)):
        expected = (W.T @ A @ W @ X.ravel()).reshape(K, r)
        np.testing.assert_allclose(X - equation.apply(X), expected, atol=1e-9)
    several = np.random.default_rng(1).normal(size=(K, 4, r))
    at_once = equation.apply(several)
    for i in range(4):
        one = equation.apply(np.ascontiguousarray(several[:, i]))
        np.testing.assert_allclose(at_once[:, i], one, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "steps", "terminal"])
def test_dense_and_sparse_sums_project_alike(kind):
    rows, grid = random_rows(5, d=4, kind=kind), lincat.Grid(-3.0, 9.0, 6)
    found = []
    for sparse in (False, True):
        totals = totals_of(rows, sparse=sparse)
        equation = BatchEquation(totals, totals.discount(0.9), grid, whiten(totals.Sigma))
        Z = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 2)))[0]
        found.append((equation.projected(Z), equation.mean_matrix, equation.mean_bellman.toarray()))
    for dense, sparse_ in zip(*found, strict=True):
        np.testing.assert_allclose(dense, sparse_, atol=1e-10)


def test_the_mean_bellman_matrix_keeps_means():
    totals = totals_of(random_rows(5, d=4, kind="steps"))
    grid = lincat.Grid(-100.0, 100.0, 20)
    equation = BatchEquation(totals, totals.discount(0.9), grid, whiten(totals.Sigma))
    columns = equation.mean_bellman.toarray()[:, 5:15].sum(axis=0)  # nothing of these is clipped
    np.testing.assert_allclose(columns, 1.0, atol=1e-12)
