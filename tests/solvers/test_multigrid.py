import numpy as np
import pytest

import lincat
from lincat.solvers.batch import solve_totals
from lincat.solvers.multigrid import overlaps
from tests.attack.cost import few_states


@pytest.mark.parametrize(("fine", "coarse"), [(4, 2), (5, 3), (7, 7), (97, 13), (3, 1)])
def test_cells_are_shared_out_whole(fine, coarse):
    shares = overlaps(fine, coarse).toarray()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(shares.sum(axis=0), fine / coarse, rtol=1e-13)
    edges = [np.linspace(0.0, 1.0, n + 1) for n in (fine, coarse)]
    for i in range(fine):
        for j in range(coarse):
            both = min(edges[0][i + 1], edges[1][j + 1]) - max(edges[0][i], edges[1][j])
            assert shares[i, j] == pytest.approx(max(both, 0.0) * fine, abs=1e-12)


@pytest.mark.parametrize("intervals", [203, 1000])
@pytest.mark.parametrize("gamma", [0.5, 0.95])
def test_it_leads_to_the_fixed_point(intervals, gamma):
    totals, grid, gamma = few_states((0, 1, 2), gamma, 2.0 / (1.0 - gamma), intervals=intervals)
    one = solve_totals(totals, grid, gamma, method="multigrid")
    other = solve_totals(totals, grid, gamma, method="sparse")
    np.testing.assert_allclose(one.Theta, other.Theta, atol=1e-9)
    right = np.random.default_rng(0).normal(size=(3, *one.Theta.shape))
    solved = [x.back_solve(right) for x in (one, other)]
    np.testing.assert_allclose(*solved, atol=1e-8 * np.abs(solved[1]).max())


def test_a_table_is_eliminated_where_its_states_lead_back_to_each_other():
    rng = np.random.default_rng(0)
    n, states = 600, 300
    state, ahead = rng.integers(0, states, n), rng.integers(0, states, n)
    statistics = lincat.Statistics(n_features=2 * states)
    reward = rng.integers(0, 3, n).astype(float)
    totals = statistics.update(lincat.Transitions(state, reward, ahead)).totals()
    grid = lincat.Grid(0.0, 20.0, 40)
    found = solve_totals(totals, grid, 0.9)
    assert found.method == "sparse"
    other = solve_totals(totals, grid, 0.9, method="krylov")
    np.testing.assert_allclose(found.Theta, other.Theta, atol=1e-9)
    parts = [statistics.block_totals(i) for i in range(statistics.n_blocks)]
    for one, two in zip(found.scores(parts), other.scores(parts), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-7)
