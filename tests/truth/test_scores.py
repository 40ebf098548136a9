"""Scores against slow twins and closed forms; rivals where the answer is plain."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import lincat
from lincat.truth.known import Known
from lincat.truth.problems import problem_named
from lincat.truth.rivals import RIVALS, observed_returns
from lincat.truth.scores import (
    Errors,
    Prediction,
    errors_of,
    independent_returns,
    is_right,
    sampling_errors,
    wasserstein_to_samples,
)
from lincat.truth.simulation import Log


def normal_truth(samples=4000, rows_a_return=10.0, probes=3):
    rng = np.random.default_rng(0)
    returns = np.sort(rng.standard_normal((probes, samples)), axis=1)
    return Known(np.zeros((probes, 1)), returns, 1.0, np.full(probes, rows_a_return))


def test_w1_is_scipys_for_weighted_atoms():
    rng = np.random.default_rng(1)
    for _ in range(20):
        atoms, masses = np.sort(rng.normal(size=9)), rng.dirichlet(np.ones(9))
        samples = np.sort(rng.normal(1.0, 2.0, 31).round(1))
        expected = wasserstein_distance(atoms, samples, masses)
        assert wasserstein_to_samples(atoms, masses, samples) == pytest.approx(expected)


def test_figures_of_samples_are_those_of_a_distribution_on_the_same_atoms():
    grid = lincat.Grid(-2.0, 3.0, intervals=50)
    pmf = np.random.default_rng(2).dirichlet(np.ones(51), size=2)
    dist = lincat.ReturnDistribution.from_pmf(pmf, grid)
    ours, theirs = Prediction.of_distribution(dist), Prediction.of_samples([grid.atoms] * 2, pmf)
    np.testing.assert_allclose(ours.std, theirs.std)
    np.testing.assert_allclose(ours.quantile, theirs.quantile)
    np.testing.assert_allclose(ours.cvar, theirs.cvar)


def test_a_signed_distribution_without_a_std_is_infinitely_wrong():
    grid = lincat.Grid(0.0, 2.0, intervals=2)
    dist = lincat.ReturnDistribution.from_pmf([[-1.0, 3.0, -1.0], [0.0, 1.0, 0.0]], grid)
    std = Prediction.of_distribution(dist).std
    assert np.isinf(std[0])
    assert std[1] == 0.0


def test_the_truth_is_right_and_a_shift_of_a_quarter_is_not():
    truth = normal_truth()
    same = errors_of(Prediction.of_samples(truth.returns), truth)
    assert max(same.worst()) < 1e-12
    shifted = errors_of(Prediction.of_samples(truth.returns + 0.25), truth)
    assert shifted.w1 == pytest.approx(0.25 / truth.returns.std(axis=1))
    assert shifted.std == pytest.approx(0.0, abs=1e-12)
    assert is_right(same)
    assert not is_right(shifted)
    few = sampling_errors(truth, 200)
    assert is_right(shifted, few)  # with twenty returns nobody could know better
    assert not is_right(shifted, sampling_errors(truth, 200_000))


def test_the_worst_probe_decides():
    fine, bad = np.zeros(3), np.array([0.0, 0.0, 0.5])
    assert not is_right(Errors(fine, fine, bad, fine))


def test_a_state_without_chance_is_measured_in_a_tenth_of_the_pooled_std():
    truth = Known(np.zeros((1, 1)), np.zeros((1, 100)), 2.0, np.ones(1))
    found = errors_of(Prediction.of_samples([np.array([-0.1, 0.1])]), truth)
    assert found.w1 == pytest.approx(0.5)
    assert found.std == pytest.approx(0.5)


def test_sampling_errors_are_those_of_normal_samples():
    truth, rows = normal_truth(), 4000
    m = independent_returns(truth, rows)
    assert m.tolist() == [400.0] * 3
    m = 400
    found = sampling_errors(truth, rows)
    assert found.std.mean() == pytest.approx(1 / np.sqrt(2 * m), rel=0.25)
    level = 0.05
    density = np.exp(-(1.6449**2) / 2) / np.sqrt(2 * np.pi)
    expected = np.sqrt(level * (1 - level) / m) / density
    assert found.quantile.mean() == pytest.approx(expected, rel=0.25)
    more = sampling_errors(truth, 100 * rows)  # beyond what is drawn
    assert more.w1.mean() == pytest.approx(found.w1.mean() / 10, rel=0.25)


def record(reward, *, terminated=False):
    n = len(reward)
    last = np.zeros(n, bool)
    last[-1] = True
    points = np.zeros((n, 1))
    return Log(points, np.asarray(reward, float), points, last & terminated, last)


def test_what_lies_behind_the_end_of_a_record_is_the_mean_reward_for_ever():
    _, returns = observed_returns(record(np.full(2000, 3.0)), 0.9)
    assert returns == pytest.approx(30.0)
    _, short = observed_returns(record(np.full(10, 3.0)), 0.99)  # none continues long enough
    assert short == pytest.approx([300.0])
    _, episode = observed_returns(record([1.0, 1.0, 1.0], terminated=True), 1.0)
    assert episode.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_know_what_is_plain(name):
    problem = problem_named("weekly")
    log = problem.log(3000, seed=0)
    probes = np.array([[5.0], [6.0]])
    found = RIVALS[name](log, probes, gamma=problem.gamma, ids=True)
    mean = [masses @ atoms for atoms, masses in zip(found.atoms, found.masses, strict=True)]
    # V(sat) = 70 + 0.98 V(sun), where V is about 1,300.
    assert mean[0] - mean[1] == pytest.approx(70.0 - 0.02 * 1264.0, abs=4.0)
    assert found.std == pytest.approx(30.0, rel=0.35)
