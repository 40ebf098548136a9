"""Where a grid is put, and how many intervals it gets, from the sums of the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.solvers.batch import solve_totals
from lincat.solvers.grid_choice import choose_grid
from lincat.solvers.moments import solve_moments
from tests.transitions import process_rows, totals_of


def chosen(problem, **options):
    totals = totals_of(process_rows(problem.process))
    Phi = np.eye(problem.process.n_states)[problem.process.stationary > 0.0]
    return choose_grid(totals, problem.gamma, Phi, **options), totals, Phi


def slow_coin(gamma, share=0.5, win=1.0):
    process = lincat.MarkovRewardProcess([0, 0], [0.0, win], [0, 0], [1.0 - share, share])
    return lincat.Problem("coin", process, gamma)


def test_bounded_rewards_need_no_more_than_is_attainable():
    choice, _, _ = chosen(lincat.catalog.uniform_coin())
    assert choice.grid == lincat.Grid(0.0, 2.0, 1000)  # one parameter a column: many cost little


def test_a_narrow_distribution_gets_a_narrow_grid():
    """At gamma .99 a coin's return has sd 3.5 about 50: mean ± 6 sd, not [0, 100]."""
    choice, _, _ = chosen(slow_coin(0.99))
    sd = 0.5 / np.sqrt(1.0 - 0.99**2)
    assert choice.grid.low == pytest.approx(50.0 - 6.0 * sd)
    assert choice.grid.high == pytest.approx(50.0 + 6.0 * sd)


def test_a_rare_loss_stays_on_the_grid():
    """A loss of 1,000, once in a million: sixty standard deviations away."""
    choice, _, _ = chosen(slow_coin(0.5, share=1e-6, win=-1000.0))
    assert choice.grid.low <= -1000.0
    assert choice.grid.high == pytest.approx(0.0, abs=10.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_standard_deviations_come_out_as_promised(seed, gamma):
    """At most 1 % too wide, about, where the grid has all the intervals that are wanted."""
    problem = lincat.catalog.random_process(4, branching=3, gamma=gamma, seed=seed)
    choice, totals, Phi = chosen(problem)
    solution = solve_totals(totals, choice.grid, gamma)
    found = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, solution.Theta), choice.grid)
    moments = solve_moments(totals, gamma)
    # What lies beyond six standard deviations goes to the ends.
    np.testing.assert_allclose(found.mean(), moments.mean(Phi), atol=1e-3 * found.std().max())
    assert choice.wanted >= 1000
    exact = np.sqrt(np.maximum(moments.variance(Phi), 0.0))
    wide = exact > 0.5 * exact.max()  # nearly certain states do not set the spacing
    if choice.wanted <= choice.grid.intervals:
        assert (found.std()[wide] <= 1.02 * exact[wide] + 1e-9).all()


def test_what_was_wanted_is_said_where_it_is_too_much():
    choice, _, _ = chosen(slow_coin(0.99), most=100)
    free, _, _ = chosen(slow_coin(0.99))
    assert choice.grid.intervals == 100
    assert choice.wanted == free.wanted
    assert choice.widening == pytest.approx(
        np.sqrt(1.0 + (1.01**2 - 1.0) * (choice.wanted / 100) ** 2) - 1.0
    )
    assert free.widening == pytest.approx(0.01, abs=1e-3)


def test_given_intervals_are_taken():
    choice, _, _ = chosen(lincat.catalog.uniform_coin(), intervals=7)
    assert choice.grid == lincat.Grid(0.0, 2.0, 7)
    with pytest.raises(lincat.InvalidInputError, match="intervals: expected an integer"):
        chosen(lincat.catalog.uniform_coin(), intervals=0)


def test_unbounded_rewards_may_leave_what_was_seen():
    choice, _, _ = chosen(lincat.catalog.uniform_coin(), attainable=False)
    sd = np.sqrt(1.0 / 3.0)
    assert choice.grid.low == pytest.approx(1.0 - 6.0 * sd)
    assert choice.grid.high == pytest.approx(1.0 + 6.0 * sd)


@pytest.mark.parametrize("reward", [0.0, 3.0, -1e9])
def test_a_certain_return_gets_a_grid_around_it(reward):
    process = lincat.MarkovRewardProcess([0], [reward], [0], [1.0])
    choice, totals, Phi = chosen(lincat.Problem("certain", process, 0.5))
    assert choice.grid.low < 2.0 * reward < choice.grid.high or reward == 0.0
    assert choice.grid.low <= 2.0 * reward <= choice.grid.high
    solution = solve_totals(totals, choice.grid, 0.5)
    found = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, solution.Theta), choice.grid)
    width = choice.grid.high - choice.grid.low
    assert found.mean()[0] == pytest.approx(2.0 * reward, abs=1e-9 * max(width, 1e-300))


def test_gamma_one():
    chain = lincat.catalog.boyan_chain(gamma=1.0)
    choice, _, _ = chosen(chain)
    assert choice.grid.low <= -30.0
    assert choice.grid.high >= -2.0
