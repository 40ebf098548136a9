import numpy as np
from hypothesis import given

import lincat
from lincat.processes.expected_bellman import ExpectedBellman
from tests import naive
from tests.strategies import processes


@given(processes())
def test_expected_target_sums_over_the_outcomes(problem):
    process, grid = problem.process, lincat.Grid(0.0, 3.0, 6)
    cdf = np.random.default_rng(0).normal(size=(process.n_states, 6))
    expected = np.zeros_like(cdf)
    discounts = process.discounts(problem.gamma)
    rows = zip(
        process.state,
        process.reward,
        process.next_state,
        process.probability,
        discounts,
        strict=True,
    )
    for s, r, s_next, p, d in rows:
        expected[s] += p * naive.bellman_target(cdf[s_next], r, d, grid)
    bellman = ExpectedBellman(process, grid, problem.gamma)
    np.testing.assert_allclose(bellman(cdf), expected, atol=1e-12)
    np.testing.assert_allclose(bellman.linear(cdf), bellman(cdf) - bellman(0 * cdf), atol=1e-12)
