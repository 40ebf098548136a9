import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.solvers.batch import solve_totals
from lincat.solvers.equation import BatchEquation
from lincat.solvers.sweeps import SweepSolver, share_before, successors_first
from lincat.solvers.whitening import whiten
from tests.transitions import Rows, totals_of

GRID = lincat.Grid(0.0, 30.0, 12)


def table(n, state, following, seed=0):
    """Sums of a table of n states, sparse, of these transitions with three rewards."""
    one_hot, rows = np.eye(n), np.ones(len(state))
    reward = np.random.default_rng(seed).integers(0, 3, len(state)).astype(float)
    none = np.full(len(state), np.nan)
    some = Rows(one_hot[state], reward, one_hot[following], rows.astype(int), none, rows)
    return totals_of(some, sparse=True)


@given(st.integers(0, 999), st.integers(1, 12), st.floats(0.0, 1.0))
def test_at_least_half_leads_to_states_before(seed, n, share):
    rng = np.random.default_rng(seed)
    N = np.where(rng.random((n, n)) < share, rng.random((n, n)), 0.0)
    order = successors_first(scipy.sparse.csr_array(N))
    assert sorted(order) == list(range(n))
    np.fill_diagonal(N, 0.0)
    if N.any():
        assert share_before(scipy.sparse.csr_array(N), order) >= 0.5 - 1e-12


@given(st.integers(0, 999), st.integers(2, 12))
def test_without_a_way_back_all_leads_to_states_before(seed, n):
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(n)
    N = scipy.sparse.csr_array(np.triu(rng.random((n, n)), 1)[np.ix_(shuffled, shuffled)])
    assert share_before(N, successors_first(N)) == pytest.approx(1.0)


@given(st.integers(0, 99), st.integers(2, 9))
def test_a_sweep_is_the_inverse_where_no_way_leads_back(seed, n):
    rng = np.random.default_rng(seed)
    state = rng.integers(0, n - 1, 40)
    totals = table(n, state, rng.integers(state + 1, n), seed)
    equation = BatchEquation(totals, totals.discount(0.9), GRID, whiten(totals.Sigma))
    sweep = SweepSolver(equation, successors_first(equation.mean_matrix))
    right = rng.normal(size=(2, GRID.intervals, n))
    for R, X in zip(right, sweep.solve(right), strict=True):
        np.testing.assert_allclose(X - equation.apply(X), R, atol=1e-12)


@given(st.integers(0, 99), st.integers(2, 9), st.integers(1, 60))
def test_equals_the_dense_solution(seed, n, rows):
    rng = np.random.default_rng(seed)
    totals = table(n, rng.integers(0, n, rows), rng.integers(0, n, rows), seed)
    found = solve_totals(totals, GRID, 0.9, method="sweeps")
    expected = solve_totals(totals, GRID, 0.9, method="dense")
    np.testing.assert_allclose(found.Theta, expected.Theta, atol=1e-10)
    right = rng.normal(size=(3, *found.Theta.shape))
    np.testing.assert_allclose(found.back_solve(right), expected.back_solve(right), atol=1e-9)


def test_days_of_a_year_take_a_few_sweeps():
    """All eigenvalues lie on one circle: the other methods took minutes to no end."""
    day = np.arange(3 * 365) % 365
    reward = np.random.default_rng(0).choice(np.linspace(0.0, 0.3, 40), len(day))
    learner = lincat.CategoricalLSTD(gamma=0.99, n_features=365, max_blocks=1, grid=GRID)
    never = np.zeros(len(day), dtype=bool)
    learner.partial_fit(lincat.Transitions(day, reward, (day + 1) % 365, never))
    found = solve_totals(learner.statistics_.totals(), GRID, 0.99)
    assert found.method == "sweeps"
    assert found.iterations <= 20
    assert found.residual <= 1e-12


def test_sweeps_are_for_tables():
    totals = table(2, np.array([0, 1]), np.array([1, 0]))
    with pytest.raises(lincat.InvalidInputError, match="'sweeps' for tables alone"):
        solve_totals(totals.restricted(np.array([0, 1])), GRID, 0.9, method="sweeps")
