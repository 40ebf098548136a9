import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat
from lincat.inference import scores
from tests import naive
from tests.strategies import finite_floats, grids, proper_pmfs


@st.composite
def cases(draw, most=6):
    """A grid, one distribution per state, and returns on and off the grid."""
    grid = draw(grids(max_intervals=8))
    n, R = draw(st.integers(1, 3)), draw(st.integers(1, most))
    pmf = draw(proper_pmfs(n, grid.intervals))
    share = draw(arrays(np.float64, (n, R), elements=finite_floats(-0.5, 1.5)))
    return grid, pmf, grid.low + share * (grid.high - grid.low)


@given(cases())
def test_crps_equals_the_pairwise_form_and_scoringrules(case):
    grid, pmf, returns = case
    got = scores.crps(lincat.cdf_from_pmf(pmf), grid, returns)
    scale = max(abs(grid.low), abs(grid.high), 1.0)
    for i, row in enumerate(returns):
        naively = [naive.crps(grid.atoms, pmf[i], y) for y in row]
        np.testing.assert_allclose(got[i], naively, atol=1e-9 * scale)
        atoms, weights = (np.tile(x, (len(row), 1)) for x in (grid.atoms, pmf[i]))
        theirs = scoringrules.crps_ensemble(
            row, atoms, ens_w=weights, estimator="nrg", backend="numpy"
        )
        np.testing.assert_allclose(got[i], theirs, atol=1e-9 * scale)


@given(
    arrays(np.float64, (5,), elements=finite_floats(-9, 9)),
    arrays(np.float64, (5,), elements=finite_floats(-9, 9)),
    finite_floats(0.01, 0.99),
)
def test_pinball_loss(quantile, returns, level):
    naively = [naive.pinball(q, y, level) for q, y in zip(quantile, returns, strict=True)]
    found = scores.pinball(quantile, returns, level)
    np.testing.assert_allclose(found, naively, atol=1e-12)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(
        found, scoringrules.quantile_score(returns, quantile, level), atol=1e-12
    )


def test_pinball_loss_is_least_at_the_quantile():
    returns = np.random.default_rng(0).exponential(size=20_000)
    at = np.linspace(0.01, 0.2, 96)
    loss = [scores.pinball(np.full(len(returns), q), returns, 0.05).mean() for q in at]
    assert at[int(np.argmin(loss))] == pytest.approx(-np.log(0.95), abs=0.005)


@given(cases())
def test_distance_equals_the_integral_from_jump_to_jump(case):
    grid, pmf, returns = case
    n, R = returns.shape
    points = np.hstack([np.tile(grid.atoms, (n, 1)), returns])
    masses = np.hstack([pmf, np.full((n, R), -1.0 / R)])
    got = scores.distance(points, masses)
    for i in range(n):
        expected = naive.step_distance(grid.atoms, pmf[i], returns[i], np.full(R, 1.0 / R), 1)
        assert got[i] == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(finite_floats(-5, 5), finite_floats(0.01, 1)), min_size=1, max_size=12))
def test_a_sample_scores_half_its_mean_difference_against_itself(rows):
    y, w = np.array(rows).T
    w = w / w.sum()
    expected = sum(p * naive.crps(y, w, x) for x, p in zip(y, w, strict=True))
    assert scores.half_mean_difference(y, w) == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.tuples(finite_floats(-5, 5), finite_floats(0.01, 1)), min_size=1, max_size=12),
    finite_floats(0.01, 1.0),
)
def test_mean_of_the_worst_returns(rows, level):
    y, w = np.array(rows).T
    w = w / w.sum()
    assert scores.lower_tail_mean(y, w, level) == pytest.approx(naive.cvar(y, w, level), abs=1e-10)


@given(st.integers(1, 60), finite_floats(0.0, 1.0))
def test_de_moivres_mean_deviation(n, p):
    got = scores.expected_deviation(n, np.array([p]))[0]
    assert got == pytest.approx(naive.binomial_deviation(n, p), abs=1e-12)


def test_nothing_deviates_where_nothing_is_uncertain():
    assert scores.expected_deviation(7, np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_the_band_holds_the_distribution_about_as_often_as_it_says():
    n, runs = 200, 2000
    u = np.sort(np.random.default_rng(0).random((runs, n)), axis=1)
    worst = np.maximum(np.arange(1, n + 1) / n - u, u - np.arange(n) / n).max(axis=1)
    assert 0.95 <= (worst <= scores.dkw_band(n, 0.95)).mean() <= 0.97
    assert scores.dkw_band(0.1) == 1.0


def test_bad_confidence_is_named():
    with pytest.raises(lincat.InvalidInputError, match="confidence: expected a number in"):
        scores.dkw_band(10, 1.0)
    with pytest.raises(lincat.InvalidInputError, match="n: expected a finite number above 0"):
        scores.dkw_band(0)
