import numpy as np
import pytest
import scipy.sparse

import lincat
from tests.learners import cases


@pytest.mark.parametrize(("kind", "batch", "schedule", "averaging"), cases.OPTIONS)
def test_equals_naive(kind, batch, schedule, averaging):
    model, mean = cases.check_equals_naive("unnormalised", kind, batch, schedule, averaging)
    Phi = cases.features(kind)
    queries = np.arange(cases.STATES) if kind == "states" else Phi
    np.testing.assert_allclose(model.predict(queries).cdf_values, Phi @ mean[:, :8], atol=1e-10)
    np.testing.assert_allclose(model.total_mass(queries), Phi @ mean[:, 8], atol=1e-10)


def test_gradient_step_is_twice_the_spacing():
    cases.check_equals_naive("unnormalised", "dense", 1, "auto", "tail", gradient_step=True)


def test_with_a_constant_among_the_features_it_is_linear_ctd():
    """Then a total mass of one can be expressed, and stays."""
    t, Phi = cases.stream("dense", 2000), cases.features("dense")
    free, fixed = (cases.make(rule, step_size=0.3).fit(t) for rule in ("unnormalised", "ctd"))
    np.testing.assert_allclose(free.total_mass(Phi), 1.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        free.predict(Phi).cdf_values, fixed.predict(Phi).cdf_values, rtol=0, atol=1e-9
    )


def test_without_one_the_mass_decays():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(cases.STATES, 2))
    Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
    walk = cases.stream("states", 20_000, everything=False)
    t = lincat.Transitions(Phi[walk.phi], walk.reward, Phi[walk.phi_next])
    model = cases.make("unnormalised").fit(t)
    assert np.abs(model.total_mass(Phi)).max() < 0.5


def test_the_first_thousand_transitions_decide_the_start_however_they_come():
    t = cases.stream("dense", 1500)
    whole = cases.make("unnormalised").partial_fit(t)
    parts = cases.make("unnormalised")
    for begin in range(0, 1500, 123):
        parts.partial_fit(t[begin : begin + 123])
    np.testing.assert_array_equal(whole.Theta_, parts.Theta_)


def test_nothing_is_learned_before():
    model = cases.make("unnormalised").partial_fit(cases.stream("dense", 999))
    assert model.n_seen_ == 0
    model.learn_one(cases.features("dense")[0], 0.5, cases.features("dense")[1])
    assert model.n_seen_ == 1000


def test_arrays_may_be_reused_while_transitions_wait():
    t = cases.stream("dense", 300, everything=False)
    expected = cases.make("unnormalised").partial_fit(t).Theta_
    model = cases.make("unnormalised")
    phi, phi_next = np.empty(4), np.empty(4)
    for i in range(300):
        phi[:], phi_next[:] = t.phi[i], t.phi_next[i]
        model.learn_one(phi, t.reward[i], phi_next)
    np.testing.assert_array_equal(model.Theta_, expected)


def test_kinds_may_mix_while_transitions_wait():
    t = cases.stream("dense", 600, everything=False)
    sparse = lincat.Transitions(
        scipy.sparse.csr_array(t.phi), t.reward, scipy.sparse.csr_array(t.phi_next)
    )
    both = cases.make("unnormalised").partial_fit(t).partial_fit(sparse)
    plain = cases.make("unnormalised").partial_fit(t).partial_fit(t)
    np.testing.assert_allclose(both.Theta_, plain.Theta_, rtol=0, atol=1e-12)


def test_other_widths_are_refused_while_transitions_wait():
    t = cases.stream("dense", 100)
    model = cases.make("unnormalised").partial_fit(t)
    with pytest.raises(lincat.InvalidInputError, match=r"^phi: expected 4 features, as before"):
        model.partial_fit(t.phi[:, :2], t.reward, t.phi_next[:, :2])
    assert model.partial_fit(t).predict(t.phi) is not None  # and what waited is still there
    assert model.n_seen_ == 200


@pytest.mark.parametrize("bad", [np.ones((2, 3)), [9]])
def test_total_mass_checks_its_states(bad):
    model = cases.make("unnormalised").fit(cases.stream("dense", 50))
    with pytest.raises(lincat.InvalidInputError, match=r"^Phi: expected"):
        model.total_mass(bad)
