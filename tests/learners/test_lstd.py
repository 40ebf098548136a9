"""LSTD: the mean and the second moment that solve the data's own equations."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.learners import cases
from tests.transitions import process_transitions, random_rows


def as_transitions(rows, gamma):
    """The rows of tests.transitions; n-step discounts are given with them."""
    return lincat.Transitions(
        rows.phi,
        rows.reward,
        rows.phi_next,
        terminated=rows.power == 0,
        discount=rows.discount(gamma),
        weight=rows.weight,
    )


@pytest.mark.parametrize("kind", ["plain", "terminal", "steps", "given", "weights", "deficient"])
@pytest.mark.parametrize("seed", range(5))
def test_equals_least_squares(kind, seed):
    rows = random_rows(seed, d=4, kind=kind)
    model = lincat.LSTD(gamma=0.9).fit(as_transitions(rows, 0.9))
    value, second = naive.moments_of_transitions(
        rows.phi, rows.reward, rows.phi_next, rows.discount(0.9), rows.weight
    )
    scale = max(np.abs(value).max(), 1.0)
    np.testing.assert_allclose(model.psi_, value, atol=1e-8 * scale)
    np.testing.assert_allclose(model.predict(rows.phi), rows.phi @ value, atol=1e-8 * scale)
    variance = rows.phi @ second - (rows.phi @ value) ** 2
    scale = max(np.abs(variance).max(), 1.0)
    np.testing.assert_allclose(model.variance(rows.phi), variance, atol=1e-8 * scale)


@pytest.mark.parametrize("kind", cases.KINDS)
def test_streams_with_everything_in_them(kind):
    t = cases.stream(kind, 700)
    model = lincat.LSTD(gamma=cases.GAMMA, n_features=cases.STATES if kind == "states" else None)
    phi, reward, phi_next, discount, weight = (
        np.array(x) for x in zip(*cases.tuples(t), strict=True)
    )
    value, _ = naive.moments_of_transitions(phi, reward, phi_next, discount, weight)
    np.testing.assert_allclose(model.fit(t).psi_, value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["paper", "uniform_coin", "random_walk", "boyan_chain"])
def test_expectations_as_data_give_the_fixed_point_of_the_process(name):
    problem = lincat.catalog.build(name)
    process, gamma = problem.process, problem.gamma
    if problem.is_tabular:
        mu = process.stationary > 0.0
        model = lincat.LSTD(gamma=gamma, n_features=process.n_states)
        model.fit(process_transitions(process))
        exact = lincat.true_returns(process, gamma, problem.grid(3)).mean()
        np.testing.assert_allclose(model.psi_[mu], exact[mu], atol=1e-10)
    else:
        Phi = np.asarray(problem.Phi)
        model = lincat.LSTD(gamma=gamma).fit(process_transitions(process, Phi))
        star = lincat.solve_value(process, Phi, gamma)
        np.testing.assert_allclose(model.psi_, star, atol=1e-10)


def test_boyans_chain_without_discounting():
    chain = lincat.catalog.boyan_chain(gamma=1.0)
    model = lincat.LSTD(gamma=1.0, n_features=13).fit(process_transitions(chain.process))
    np.testing.assert_allclose(model.psi_[1:], -2.0 * np.arange(1, 13), atol=1e-10)
    exact = lincat.true_returns(chain.process, 1.0, chain.grid(36)).variance()
    np.testing.assert_allclose(model.variance(np.arange(1, 13)), exact[1:], atol=1e-9)


def test_gamma_one_without_ends_is_refused_with_the_reason():
    coin = lincat.catalog.uniform_coin().process.sample(50, seed=0)
    model = lincat.LSTD(gamma=1.0, n_features=1)
    model.fit(coin.state, coin.reward, coin.next_state)
    with pytest.raises(lincat.InvalidInputError, match="1 with rows from which no end is reached"):
        model.predict([0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(cases.KINDS), st.integers(1, 299))
def test_merging_equals_learning_all(seed, kind, cut):
    t, Phi = cases.stream(kind, 300, seed), cases.features(kind)
    states = np.arange(cases.STATES) if kind == "states" else Phi
    n = cases.STATES if kind == "states" else None
    whole = lincat.LSTD(gamma=cases.GAMMA, n_features=n).fit(t)
    first = lincat.LSTD(gamma=cases.GAMMA, n_features=n).fit(t[:cut])
    second = lincat.LSTD(gamma=cases.GAMMA, n_features=n).fit(t[cut:])
    before = second.predict(states)
    empty = lincat.LSTD(gamma=cases.GAMMA).merge(first).merge(second)
    for merged in (empty, first.merge(second)):
        assert merged.n_seen_ == 300
        np.testing.assert_allclose(merged.predict(states), whole.predict(states), atol=1e-9)
    np.testing.assert_array_equal(second.predict(states), before)


def test_weights_count_as_repetitions():
    t = cases.stream("dense", 200, everything=False)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    repeat = np.repeat(np.arange(200), weight)
    weighted = lincat.LSTD(gamma=0.8).fit(t.phi, t.reward, t.phi_next, weight=weight)
    repeated = lincat.LSTD(gamma=0.8).fit(t.phi[repeat], t.reward[repeat], t.phi_next[repeat])
    np.testing.assert_allclose(weighted.psi_, repeated.psi_, rtol=1e-10)


def test_another_gamma_costs_no_pass():
    t = cases.stream("dense", 200, everything=False)
    model = lincat.LSTD(gamma=0.8).fit(t)
    before, other = model.psi_, model.solve(gamma=0.5)
    np.testing.assert_array_equal(other.psi_, lincat.LSTD(gamma=0.5).fit(t).psi_)
    other.partial_fit(t)
    assert (model.n_seen_, other.n_seen_) == (200, 400)
    np.testing.assert_array_equal(model.psi_, before)
    given_ones = lincat.LSTD(gamma=0.8).fit(cases.stream("dense", 200))
    np.testing.assert_allclose(given_ones.solve(gamma=0.1).psi_, given_ones.psi_)


def test_no_rows_change_nothing():
    t = cases.stream("dense", 50)
    model = lincat.LSTD(gamma=0.8).partial_fit(t[:0])
    with pytest.raises(lincat.InvalidInputError, match="a call of fit or partial_fit first"):
        model.predict(t.phi)
    before = model.partial_fit(t).psi_
    np.testing.assert_array_equal(model.partial_fit(t[:0]).psi_, before)


def test_a_ridge_draws_all_states_together():
    """To the mean return of all rows as one state, where the features span a constant."""
    t = cases.stream("dense", 200)
    plain, ridged = (lincat.LSTD(gamma=0.8, ridge=x).fit(t).predict(t.phi) for x in (0.0, 1e3))
    assert np.ptp(ridged) < 0.01 * np.ptp(plain)
    weight = np.ones(200) if t.weight is None else t.weight
    pooled = weight @ t.reward / (weight @ (1.0 - t.discounts(0.8)))
    np.testing.assert_allclose(ridged, pooled, rtol=0.01)


def test_learning_one_at_a_time_and_predicting_in_between():
    t, Phi = cases.stream("dense", 60), cases.features("dense")
    model = lincat.LSTD(gamma=cases.GAMMA)
    for i in range(60):
        model.learn_one(
            t.phi[i],
            t.reward[i],
            t.phi_next[i],
            terminated=bool(t.terminated[i]),
            discount=t.discount[i],
            weight=t.weight[i],
        )
        if i in (30, 45):
            before = lincat.LSTD(gamma=cases.GAMMA).fit(t[: i + 1]).predict(Phi)
            np.testing.assert_array_equal(model.predict(Phi), before)
    assert model.n_seen_ == 60
    np.testing.assert_array_equal(
        model.predict(Phi), lincat.LSTD(gamma=cases.GAMMA).fit(t).predict(Phi)
    )


def test_dense_and_sparse_calls_may_alternate():
    dense = cases.stream("dense", 400, everything=False)
    sparse = lincat.Transitions(
        scipy.sparse.csr_array(dense.phi), dense.reward, scipy.sparse.csr_array(dense.phi_next)
    )
    model = lincat.LSTD(gamma=0.8).partial_fit(dense[:150]).partial_fit(sparse[150:])
    np.testing.assert_allclose(model.psi_, lincat.LSTD(gamma=0.8).fit(dense).psi_, rtol=1e-9)
    assert model.sampled_features().shape == (400, 4)


def test_float32_features_are_summed_in_float64():
    t = cases.stream("dense", 500)
    phi, phi_next = t.phi.astype(np.float32), t.phi_next.astype(np.float32)
    single, double = (
        lincat.LSTD(gamma=0.8).fit(a, t.reward, b).psi_
        for a, b in ((phi, phi_next), (phi.astype(float), phi_next.astype(float)))
    )
    np.testing.assert_allclose(single, double, rtol=1e-10)


def test_the_answer_tends_to_the_truth_as_the_standard_error_says():
    """A state that pays 0 or 1, at gamma 1/2: mean 1, variance 4/3 of the reward's, 1/4 − 1/4n."""
    coin = lincat.catalog.uniform_coin().process
    found = []
    for seed in range(100):
        drawn = coin.sample(400, seed=seed)
        model = lincat.LSTD(gamma=0.5, n_features=1)
        model.fit(drawn.state, drawn.reward, drawn.next_state)
        found.append([model.predict([0])[0], model.variance([0])[0]])
    off = (np.mean(found, axis=0) - [1.0, (1.0 - 1.0 / 400) / 3.0]) / (np.std(found, axis=0) / 10.0)
    assert np.abs(off).max() < 4.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, t: m.predict(t.phi), "LSTD: expected a call of fit or partial_fit first"),
        (lambda m, t: m.set_params(gamma=1.5).fit(t), r"gamma: expected a number in \[0, 1\]"),
        (lambda m, t: m.set_params(ridge=-1.0).fit(t), "ridge: expected a finite number"),
        (lambda m, t: m.set_params(max_blocks=0).fit(t), "max_blocks: expected an integer"),
        (lambda m, t: m.fit(t).predict(np.ones((1, 3))), "Phi: expected 4 features"),
        (lambda m, t: m.fit(t).predict([9]), "Phi: expected states below 4"),
        (lambda m, t: m.fit([0], [1.0], [0]), "n_features: expected the number of states"),
        (lambda m, t: m.merge(m), "other: expected a LSTD that has seen transitions"),
        (
            lambda m, t: m.merge(lincat.CategoricalLSTD(gamma=0.8).fit(t)),
            "other: expected a LSTD that has seen transitions, got CategoricalLSTD",
        ),
        (
            lambda m, t: m.fit(t).merge(lincat.LSTD(gamma=0.8).fit(np.eye(2), [1, 2], np.eye(2))),
            "other: expected statistics of 4 features, got 2",
        ),
        (lambda m, t: m.fit(t, batch_size=0), "batch_size: expected an integer of at least 1"),
        (lambda m, t: m.save("nowhere"), "LSTD: expected a call of fit or partial_fit first"),
    ],
)
def test_bad_input_is_named_in_one_line(call, message):
    with pytest.raises(lincat.InvalidInputError, match=message) as error:
        call(lincat.LSTD(gamma=0.8), cases.stream("dense", 50))
    assert "\n" not in str(error.value)


def test_moments_are_of_all_that_was_learned_from():
    one = lincat.LSTD(gamma=0.5, n_features=1).partial_fit([0], [1.0], [0])
    assert one.moments_.value == pytest.approx([2.0])
    one.partial_fit([0], [2.0], [0])  # solved again, for what was asked first
    assert one.moments_.value == pytest.approx([3.0])
    assert one.psi_ == pytest.approx([3.0])
    one.merge(lincat.LSTD(gamma=0.5, n_features=1).fit([0], [4.5], [0]))
    assert one.psi_ == pytest.approx([5.0])
    with pytest.raises(lincat.InvalidInputError, match="a call of fit or partial_fit first"):
        _ = lincat.LSTD(gamma=0.5).moments_
