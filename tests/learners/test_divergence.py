"""After a divergence a learner is what it was while all was well; the advice is another step."""

import numpy as np
import pytest

import lincat
from tests.learners import cases

KINDS = pytest.mark.parametrize("kind", ["dense", "sparse", "states"])


def learner(rule, kind, **options):
    options["n_features"] = cases.STATES if kind == "states" else None
    if rule == "recentred":
        return lincat.VarianceReducedCTD(grid=cases.GRID, gamma=cases.GAMMA, **options)
    return cases.make(rule, **options)


def diverging(model, transitions, **options):
    model.set_params(step_size=1e300)
    with pytest.raises(lincat.DivergenceError) as caught:
        model.partial_fit(transitions, **options)
    return caught.value


@KINDS
@pytest.mark.parametrize("rule", ["td", "ctd", "pmf", "unnormalised", "recentred"])
@pytest.mark.parametrize("averaging", ["tail", "none"])
def test_the_learner_goes_back_bit_for_bit(rule, kind, averaging, monkeypatch):
    """To where the last copy was taken; it then learns as if nothing had happened."""
    monkeypatch.setattr("lincat.learners.last_good._NUMBERS", 0)
    t = cases.stream(kind, 8000, everything=False)
    wild, calm = (learner(rule, kind, step_size=0.01, averaging=averaging) for _ in range(2))
    wild.partial_fit(t[:5000])
    error = diverging(wild, t[5000:6000])
    assert 5000 <= error.transition < 6000
    assert error.safe_step <= error.step_size / 4.0
    assert 4096 <= wild.n_seen_ <= 5000
    calm.partial_fit(t[: wild.n_seen_])
    assert_same(wild, calm)
    n = wild.n_seen_
    for model in (wild, calm):
        model.set_params(step_size=0.01).partial_fit(t[n:])
    assert_same(wild, calm)


@KINDS
@pytest.mark.parametrize("rule", ["td", "ctd", "pmf", "unnormalised", "recentred"])
@pytest.mark.parametrize("averaging", ["tail", "none"])
@pytest.mark.parametrize("first", [50, 3000])
def test_what_an_earlier_call_learned_is_kept(rule, kind, averaging, first):
    """However few its transitions, once it learned from them: some wait for a thousand."""
    first = max(first, 1500) if rule == "unnormalised" else first
    t = cases.stream(kind, 6000, everything=False)
    wild, calm = (learner(rule, kind, step_size=0.01, averaging=averaging) for _ in range(2))
    wild.partial_fit(t[:first])
    assert diverging(wild, t[first : first + 2000]).transition >= first
    calm.partial_fit(t[:first])
    assert_same(wild, calm)
    for model in (wild, calm):
        model.set_params(step_size=0.01).partial_fit(t[first:])
    assert_same(wild, calm)


@KINDS
def test_a_row_that_no_parameters_bear_costs_nothing_learned_before(kind):
    """It says nothing about parameters that are well where all the others were."""
    t = cases.stream(kind, 3000, everything=False)
    model = learner("ctd", kind, step_size=0.01).partial_fit(t)
    if kind == "states":
        bad = lincat.Transitions(t.phi, t.reward, t.phi_next, weight=np.full(len(t), 1e250))
    else:
        bad = lincat.Transitions(t.phi * 1e140, t.reward, t.phi_next * 1e140)
    with pytest.raises(lincat.DivergenceError):
        model.partial_fit(bad[:1500])
    assert model.n_seen_ == 3000


@KINDS
def test_of_short_calls_hardly_more_than_a_thousand_transitions_are_lost(kind):
    t = cases.stream(kind, 4100, everything=False)
    model = learner("ctd", kind, step_size=0.01)
    for begin in range(0, 4000, 10):
        model.partial_fit(t[begin : begin + 10])
    diverging(model, t[4000:])
    assert 4000 - 1034 <= model.n_seen_ <= 4000


def test_fit_forgets_before_it_learns_and_so_goes_back_no_further():
    t = cases.stream("dense", 3000, everything=False)
    model = learner("ctd", "dense", step_size=0.01).partial_fit(t).set_params(step_size=1e300)
    with pytest.raises(lincat.DivergenceError):
        model.fit(t)
    assert model.n_seen_ == 0
    assert not model.touched_rows().any()


def assert_same(one, other):
    assert (one.n_seen_, one.n_updates_) == (other.n_seen_, other.n_updates_)
    for of in (type(one)._parameters, type(one)._mean):
        np.testing.assert_array_equal(of(one), of(other))


@pytest.mark.parametrize("step_size", [3.0, 1e300])
@pytest.mark.parametrize("scale", [1.0, 1e150])
def test_one_that_diverges_at_once_says_what_it_began_with(step_size, scale):
    rng = np.random.default_rng(0)
    phi = scale * rng.normal(size=(500, 4))
    transitions = lincat.Transitions(phi, rng.normal(size=500), np.roll(phi, -1, axis=0))
    grid = lincat.Grid(-40.0, 40.0, intervals=20)
    model = lincat.LinearCTD(grid=grid, gamma=0.9, step_size=step_size)
    with pytest.raises(lincat.DivergenceError):
        model.partial_fit(transitions)
    assert model.n_seen_ == 0
    assert not model.clipped_mass_.any()
    assert (np.abs(model.predict(np.eye(4)).mean()) <= 40.0).all()


@pytest.mark.parametrize("size", [1, 50, 500])
def test_a_slow_divergence_leads_back_to_before_it_began(size, monkeypatch):
    """Steps that are only just too large: errors are past bearing long before they are told."""
    monkeypatch.setattr("lincat.learners._categorical._LARGEST_ERROR", 1e3)
    t = cases.stream("dense", 20_000, everything=False)
    model = cases.make("ctd", step_size=4.5, averaging="none")
    pieces = [t[begin : begin + size] for begin in range(0, len(t), size)]
    with pytest.raises(lincat.DivergenceError) as caught:
        list(map(model.partial_fit, pieces))
    assert caught.value.transition > 10_000
    assert np.abs(model.predict(cases.features("dense")).cdf_values).max() <= 10.0


def test_automatic_steps_are_not_advised_to_be_automatic():
    assert "or step_size='auto'" in str(lincat.DivergenceError(5, 1.0, 1.0, 0.25))
    assert "'auto'" not in str(lincat.DivergenceError(5, 1.0, 1.0, 0.25, auto=True))


@pytest.mark.parametrize(
    ("rule", "averaging", "matrices"),
    [("ctd", "none", 1), ("ctd", "tail", 2), ("recentred", "none", 5), ("recentred", "tail", 6)],
)
def test_tables_too_large_for_a_copy_keep_what_they_stopped_with(
    monkeypatch, rule, averaging, matrices
):
    t = cases.stream("dense", 200, everything=False)
    numbers = learner(rule, "dense", averaging=averaging).partial_fit(t)._Theta_.size
    for most, copied in ((matrices * numbers, True), (matrices * numbers - 1, False)):
        monkeypatch.setattr("lincat.learners.last_good._MOST", most)
        model = learner(rule, "dense", step_size=0.01, averaging=averaging).partial_fit(t)
        assert (model._last_good_ is not None) == copied
        error = diverging(model, t)
        assert model.n_seen_ == (200 if copied else error.transition)


@KINDS
def test_copies_are_taken_so_seldom_that_they_cost_next_to_nothing(kind):
    """Not before 4,096 transitions, 256 passes over the parameters, and 2^25 changed numbers."""
    t = cases.stream(kind, 100, everything=False)
    model = learner("ctd", kind, step_size=0.01).partial_fit(t)
    rows, columns = model._Theta_.shape
    touched = {"dense": rows, "states": 1.0}.get(kind, t.phi.size / len(t))
    assert model._last_good_.due == round(
        max(4096, 256 * rows / touched, 2**25 / touched / columns)
    )
