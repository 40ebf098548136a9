import numpy as np
import pytest

import lincat
from lincat.solvers.batch import solve_totals
from tests import naive
from tests.transitions import random_rows, totals_of

KINDS = ["plain", "terminal", "steps", "given", "weights", "signed", "deficient", "all"]


def dense_solution(rows, grid, gamma):
    """Minimum-norm solution of the dense system of the rows."""
    d, K = rows.phi.shape[1], grid.intervals
    discount = rows.discount(gamma)
    A, b = naive.totals_system(rows.phi, rows.reward, rows.phi_next, discount, rows.weight, grid)
    return np.linalg.lstsq(A, b, rcond=1e-11)[0].reshape(K, d).T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_equals_a_dense_solve(kind, seed):
    rng = np.random.default_rng(seed)
    d, K, gamma = (
        int(rng.integers(1, 5)),
        int(rng.integers(1, 12)),
        float(rng.choice([0.5, 0.9, 0.97])),
    )
    low = float(rng.normal())
    grid = lincat.Grid(low, low + float(rng.uniform(1.0, 30.0)), K)
    rows = random_rows(seed, d=d, kind=kind)
    totals, expected = totals_of(rows), dense_solution(rows, grid, gamma)
    for method in ("auto", "dense", "banded", "stein", "krylov"):
        solution = solve_totals(totals, grid, gamma, method=method)
        assert solution.residual <= 1e-12
        np.testing.assert_allclose(solution.Theta, expected, atol=1e-10 * np.abs(expected).max())
    for method in ("auto", "stein", "krylov"):
        solution = solve_totals(totals_of(rows, sparse=True), grid, gamma, method=method)
        np.testing.assert_allclose(solution.Theta, expected, atol=1e-10 * np.abs(expected).max())
