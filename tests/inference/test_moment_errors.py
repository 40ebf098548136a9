"""Standard errors of mean and variance of the return, from blocks of sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.inference.moment_errors import cosines, moment_errors
from tests import naive


def regime():
    """Two slow states that one feature cannot tell apart: rewards correlate for 20 steps."""
    P = [[0.925, 0.075], [0.025, 0.975]]
    process = lincat.MarkovRewardProcess.from_matrices(P, [0.0, 1.0])
    return lincat.Problem("regime", process, 0.8, np.ones((2, 1)))


PROBLEMS = {
    "paper": lincat.catalog.paper,
    "slow": lambda: lincat.catalog.random_process(12, n_features=4, branching=3, gamma=0.9, seed=3),
    "regime": regime,
}


def estimates(problem, n, kind, seeds):
    """Means, variances and their nominal standard errors at all states, (seeds, 4, S)."""
    Phi, out = np.asarray(problem.Phi), []
    for seed in seeds:
        drawn = problem.process.sample(n, seed=seed, kind=kind)
        model = lincat.LSTD(gamma=problem.gamma)
        model.fit(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
        errors = moment_errors(model.statistics_, model.moments_, problem.gamma, Phi)
        out.append([model.predict(Phi), model.variance(Phi), errors.mean, errors.variance])
    return np.array(out)


@pytest.mark.parametrize("kind", ["generative", "markov"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_nominal_errors_are_those_over_many_runs(name, kind):
    """Over 200 seeds the spread itself is known to 5 %, the nominal error with 8 cosines to 2 %."""
    found = estimates(PROBLEMS[name](), 8_000, kind, range(200))
    spread, nominal = found[:, :2].std(axis=0, ddof=1), np.sqrt((found[:, 2:] ** 2).mean(axis=0))
    np.testing.assert_allclose(nominal[0], spread[0], rtol=0.15)
    # The mean over states of the squares: the spread of a variance has fewer degrees of freedom.
    ratio = np.sqrt((nominal[1] ** 2).sum() / (spread[1] ** 2).sum())
    assert ratio == pytest.approx(1.0, abs=0.2)


def test_the_long_run_and_not_lag_0_alone():
    """One feature: the error is that of the mean reward, whose correlations last."""
    problem, n = regime(), 50_000
    found = estimates(problem, n, "markov", range(60))
    # Autocorrelation .9^l: the long-run variance is (1 + .9)/(1 − .9) = 19 times the lag-0 one.
    expected = np.sqrt(3.0 / 16.0 * 19.0 / n) / (1.0 - 0.8)
    assert np.sqrt((found[:, 2, 0] ** 2).mean()) == pytest.approx(expected, rel=0.1)


def test_against_a_loop_over_rows():
    problem, gamma = PROBLEMS["slow"](), 0.9
    Phi = np.asarray(problem.Phi)
    drawn = problem.process.sample(30_000, seed=0)
    t = lincat.Transitions(
        Phi[drawn.state],
        drawn.reward,
        Phi[drawn.next_state],
        weight=np.random.default_rng(0).uniform(0.5, 1.5, 30_000),
    )
    statistics = lincat.Statistics(max_blocks=8).update(t)
    moments = lincat.LSTD(gamma=gamma).fit(t).moments_
    errors = moment_errors(statistics, moments, gamma, Phi)
    ends = np.cumsum(statistics.block_counts)
    mean, variance = naive.moment_errors(
        t.phi, t.reward, t.phi_next, t.discounts(gamma), t.weight, ends, Phi
    )
    np.testing.assert_allclose(errors.mean, mean, rtol=1e-7)
    np.testing.assert_allclose(errors.variance, variance, rtol=1e-6)


def test_sparse_states_and_dense_features_agree():
    drawn = lincat.catalog.random_walk().process.sample(20_000, seed=0)
    columns = (drawn.reward, drawn.terminated)
    n = int(max(drawn.state.max(), drawn.next_state.max())) + 1
    eye = np.eye(n)
    found = []
    for phi, phi_next in (
        (drawn.state, drawn.next_state),
        (eye[drawn.state], eye[drawn.next_state]),
    ):
        model = lincat.LSTD(gamma=0.9, n_features=n)
        model.fit(phi, columns[0], phi_next, terminated=columns[1])
        found.append(moment_errors(model.statistics_, model.moments_, 0.9, eye[1:-1]))
    np.testing.assert_allclose(found[0].mean, found[1].mean, rtol=1e-8)
    np.testing.assert_allclose(found[0].variance, found[1].variance, rtol=1e-8)


def test_too_few_blocks_say_nothing():
    coin = lincat.catalog.uniform_coin().process.sample(500, seed=0)
    model = lincat.LSTD(gamma=0.5, n_features=1, max_blocks=2)
    model.fit(coin.state, coin.reward, coin.next_state)
    assert moment_errors(model.statistics_, model.moments_, 0.5, np.ones((1, 1))) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=32, max_size=64))
def test_cosines_are_nearly_orthonormal_over_time(weights):
    weights = np.array(weights)
    table = cosines(weights, 8)
    share = weights / weights.sum()
    np.testing.assert_allclose((table * share) @ table.T, np.eye(8), atol=0.1)
    np.testing.assert_allclose(table @ share, 0.0, atol=0.05)
