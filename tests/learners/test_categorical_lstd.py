"""CategoricalLSTD: the distributions that solve the data's own Bellman equation."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import lincat
from tests import naive
from tests.learners import asymptotic, cases
from tests.transitions import process_transitions, random_rows

GRID = lincat.Grid(-6.0, 11.0, 9)


def fitted(t, **params):
    n = cases.STATES if t.kind == "states" else None
    return lincat.CategoricalLSTD(**{"gamma": cases.GAMMA, "n_features": n, **params}).fit(t)


def dense_solution(t, grid, gamma, d):
    """The minimum-norm solution of the dense system of the transitions."""
    phi, phi_next = cases.dense_rows(t.phi), cases.dense_rows(t.phi_next)
    weight = np.ones(len(t)) if t.weight is None else t.weight
    A, b = naive.totals_system(phi, t.reward, phi_next, t.discounts(gamma), weight, grid)
    return np.linalg.lstsq(A, b, rcond=1e-11)[0].reshape(grid.intervals, d).T


@pytest.mark.parametrize("kind", cases.KINDS)
def test_equals_a_dense_solve(kind):
    """With ends, weights and n-step discounts."""
    t = cases.stream(kind, 120)
    model = fitted(t, grid=GRID)
    expected = dense_solution(t, GRID, cases.GAMMA, model.Theta_.shape[0])
    np.testing.assert_allclose(model.Theta_, expected, atol=1e-10 * np.abs(expected).max())
    assert model.residual_ <= 1e-12
    assert model.grid_ == GRID
    assert model.choice_ is None


@pytest.mark.parametrize("name", ["paper", "uniform_coin", "random_walk", "boyan_chain"])
def test_expectations_as_data_give_the_fixed_point_of_the_process(name):
    problem = lincat.catalog.build(name)
    process, gamma, grid = problem.process, problem.gamma, problem.grid(20)
    if problem.is_tabular:
        model = lincat.CategoricalLSTD(grid=grid, gamma=gamma, n_features=process.n_states)
        mu = np.flatnonzero(process.stationary > 0.0)
        found = model.fit(process_transitions(process)).predict(mu)
        exact = lincat.true_returns(process, gamma, grid)[mu]
        np.testing.assert_allclose(found.cdf_values, exact.cdf_values, atol=1e-10)
    else:
        Phi = np.asarray(problem.Phi)
        model = lincat.CategoricalLSTD(grid=grid, gamma=gamma)
        model.fit(process_transitions(process, Phi))
        star = lincat.solve_categorical(process, Phi, grid, gamma)
        np.testing.assert_allclose(model.Theta_, star, atol=1e-9)


def test_what_linear_ctd_converges_to_if_it_sees_the_data_again_and_again():
    t = cases.stream("dense", 60)
    model = fitted(t, grid=GRID)
    stream = lincat.LinearCTD(grid=GRID, gamma=cases.GAMMA, step_size=0.5, averaging="none")
    for _ in range(20_000):
        stream.partial_fit(t, batch_size=60)
    np.testing.assert_allclose(stream.Theta_, model.Theta_, atol=1e-8)


def test_boyans_chain_without_discounting():
    chain = lincat.catalog.boyan_chain(gamma=1.0)
    grid, states = chain.grid(36), np.arange(1, 13)
    model = lincat.CategoricalLSTD(grid=grid, gamma=1.0, n_features=13)
    found = model.fit(process_transitions(chain.process)).predict(states)
    np.testing.assert_allclose(found.mean(), -2.0 * states, atol=1e-10)
    for s, pmf in zip(states, found.pmf, strict=True):
        for total, p in naive.undiscounted_returns(chain.process, s).items():
            at = np.argmin(np.abs(grid.atoms - total))
            assert pmf[at] == pytest.approx(p, abs=1e-10)


def test_gamma_one_from_recorded_episodes():
    """Sums of rewards until the end, from walks alone, with a grid found from the data."""
    chain = lincat.catalog.boyan_chain(gamma=1.0)
    seen = chain.process.sample(200_000, seed=0)
    model = lincat.CategoricalLSTD(gamma=1.0, n_features=13)
    model.fit(seen.state, seen.reward, seen.next_state, terminated=seen.terminated)
    states = np.arange(1, 13)
    found = model.predict(states)
    np.testing.assert_allclose(found.mean(), -2.0 * states, rtol=0.02)
    exact = lincat.true_returns(chain.process, 1.0, chain.grid(36))[states]
    np.testing.assert_allclose(found.std()[1:], exact.std()[1:], rtol=0.03)


def test_gamma_one_without_ends_is_refused_with_the_reason():
    coin = lincat.catalog.uniform_coin().process.sample(50, seed=0)
    model = lincat.CategoricalLSTD(gamma=1.0, n_features=1, grid=GRID)
    model.fit(coin.state, coin.reward, coin.next_state)
    with pytest.raises(lincat.InvalidInputError, match="1 with rows from which no end is reached"):
        model.predict([0])


def test_directions_without_data_are_named_and_left_at_zero():
    rows = random_rows(3, d=4, kind="deficient")
    t = lincat.Transitions(rows.phi, rows.reward, rows.phi_next)
    model = lincat.CategoricalLSTD(grid=GRID, gamma=0.9).fit(t)
    expected = dense_solution(t, GRID, 0.9, 4)
    np.testing.assert_allclose(model.Theta_, expected, atol=1e-9 * np.abs(expected).max())
    assert model.solution_.rank == 3
    np.testing.assert_allclose(model.solution_.null_directions.T @ model.Theta_, 0.0, atol=1e-10)


def test_fewer_rows_than_features():
    rng = np.random.default_rng(0)
    t = lincat.Transitions(rng.random((5, 12)), rng.random(5), rng.random((5, 12)))
    model = lincat.CategoricalLSTD(gamma=0.5, grid=GRID).fit(t)
    assert model.solution_.rank == 5
    assert np.isfinite(model.predict(t.phi).mean()).all()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(-5.0, 5.0),
    st.floats(0.1, 10.0),
    st.sampled_from([1, 2, 7]),
)
def test_means_are_those_of_lstd_where_nothing_clips(seed, shift, scale, K):
    """1ᵀB = gamma 1ᵀ (Prop. mean_preserve_property), for any grid that holds all returns."""
    t = cases.stream("dense", 80, seed)
    reward = shift + scale * t.reward
    ends = np.array([reward.min(), reward.max()])[:, None] / (1.0 - t.discount.max())
    grid = lincat.Grid(min(ends.min(), 0.0), max(ends.max(), 1.0), K)
    options = {"terminated": t.terminated, "discount": t.discount, "weight": t.weight}
    mean = lincat.LSTD(gamma=cases.GAMMA).fit(t.phi, reward, t.phi_next, **options)
    model = lincat.CategoricalLSTD(gamma=cases.GAMMA, grid=grid)
    model.fit(t.phi, reward, t.phi_next, **options)
    np.testing.assert_allclose(
        model.predict(t.phi).mean(), mean.predict(t.phi), atol=1e-8 * (grid.high - grid.low)
    )
    np.testing.assert_allclose(model.clipped_mass_, 0.0, atol=1e-9)
    np.testing.assert_allclose(model.moments_.value, mean.psi_, rtol=1e-12)


def test_other_questions_cost_no_pass():
    t, Phi = cases.stream("dense", 500, everything=False), cases.features("dense")
    model = fitted(t, grid=GRID)
    before = model.Theta_.copy()
    for answer in ({"gamma": 0.5}, {"grid": lincat.Grid(-9.0, 9.0, 5)}, {"intervals": 30}):
        other = model.solve(**answer)
        settings_of = {"gamma": cases.GAMMA, "grid": GRID, **answer}
        if "intervals" in answer:
            settings_of["grid"] = lincat.Grid(GRID.low, GRID.high, 30)
        again = fitted(t, **settings_of)
        np.testing.assert_array_equal(other.Theta_, again.Theta_)
        assert other.grid_ == again.grid_
    np.testing.assert_array_equal(model.Theta_, before)
    assert model.gamma == cases.GAMMA
    auto = model.solve(grid="auto", intervals=40)
    assert auto.grid_.intervals == 40
    assert auto.predict(Phi).grid == auto.grid_


def test_a_solved_copy_learns_apart():
    t, Phi = cases.stream("dense", 600), cases.features("dense")
    model = fitted(t[:400], grid=GRID)
    copy = model.solve(gamma=0.5)
    before = model.predict(Phi).pmf
    copy.partial_fit(t[400:])
    assert (model.n_seen_, copy.n_seen_) == (400, 600)
    model.partial_fit(t[400:500])
    assert (model.n_seen_, copy.n_seen_) == (500, 600)
    np.testing.assert_array_equal(
        model.predict(Phi).pmf, fitted(t[:500], grid=GRID).predict(Phi).pmf
    )
    assert not np.array_equal(model.predict(Phi).pmf, before)
    expected = fitted(t, grid=GRID, gamma=0.5).predict(Phi).pmf
    np.testing.assert_array_equal(copy.predict(Phi).pmf, expected)


def test_more_data_are_answered_for():
    t, Phi = cases.stream("dense", 600), cases.features("dense")
    model = fitted(t[:400], grid=GRID)
    model.predict(Phi)
    model.partial_fit(t[400:])
    np.testing.assert_array_equal(model.predict(Phi).pmf, fitted(t, grid=GRID).predict(Phi).pmf)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(cases.KINDS), st.permutations(range(4)))
def test_merged_in_any_order(seed, kind, order):
    t = cases.stream(kind, 400, seed)
    states = np.arange(cases.STATES) if kind == "states" else cases.features(kind)
    parts = [fitted(t[i * 100 : i * 100 + 100], grid=GRID) for i in order]
    merged = parts[0]
    for part in parts[1:]:
        merged.merge(part)
    whole = fitted(t, grid=GRID)
    scale = np.abs(whole.Theta_).max()
    np.testing.assert_allclose(merged.Theta_, whole.Theta_, atol=1e-10 * scale)
    np.testing.assert_allclose(merged.predict(states).pmf, whole.predict(states).pmf, atol=1e-9)


def test_merged_with_itself_nothing_changes():
    model = fitted(cases.stream("dense", 300), grid=GRID)
    before = model.Theta_
    np.testing.assert_allclose(model.merge(model).Theta_, before, atol=1e-10)
    assert model.n_seen_ == 600


# ------------------------------------------------------------------------------ automatic grids


def test_an_automatic_grid_holds_the_returns_and_keeps_their_spread():
    for problem in (lincat.catalog.uniform_coin(), lincat.catalog.random_walk()):
        process, gamma, S = problem.process, problem.gamma, problem.process.n_states
        model = lincat.CategoricalLSTD(gamma=gamma, n_features=S)
        seen = np.flatnonzero(process.stationary > 0.0)
        found = model.fit(process_transitions(process)).predict(seen)
        exact = lincat.true_returns(process, gamma, problem.grid(4000))[seen]
        assert model.choice_.grid == model.grid_
        np.testing.assert_allclose(found.mean(), exact.mean(), atol=1e-9)
        np.testing.assert_allclose(found.std(), exact.std(), rtol=0.012)
        np.testing.assert_allclose(
            found.std(), np.sqrt(model.moments_.variance(np.eye(S)[seen])), rtol=0.011
        )
        np.testing.assert_allclose(model.clipped_mass_, 0.0, atol=1e-6)


def test_mass_that_leaves_the_grid_is_counted():
    coin = lincat.catalog.uniform_coin()
    model = lincat.CategoricalLSTD(gamma=0.5, n_features=1, grid=lincat.Grid(0.0, 1.0, 40))
    model.fit(process_transitions(coin.process))
    below, above = model.clipped_mass_
    assert below == 0.0
    # All mass that a reward of 1 pushes above the end, but for that at 0: half of nearly all.
    cdf = model.predict([0]).cdf_values[0]
    expected = 0.5 * lincat.clipped_mass(cdf[None], [1.0], [0.5], model.grid_)[0, 1]
    assert above == pytest.approx(expected, rel=1e-9)
    assert above > 0.1


# -------------------------------------------------------------------------- returns about a value


def centred_answer(make, t, value, gamma, Phi):
    """Distributions of G, learned as those of G − V(s) with V = phi·value."""
    about = t.centred(t.phi @ value, t.phi_next @ value, gamma)
    return make().fit(about).predict(Phi).shifted(Phi @ value)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_predictions_do_not_depend_on_the_potential(seed, scale):
    """Batch: means to rounding, distributions to the error of the grid, whatever V is."""
    rng = np.random.default_rng(seed)
    t, Phi = cases.stream("dense", 300, seed), cases.features("dense")
    value = scale * rng.normal(size=4)
    grid = lincat.Grid(-60.0, 60.0, 100)

    def make():
        return lincat.CategoricalLSTD(gamma=cases.GAMMA, grid=grid)

    plain = make().fit(t).predict(Phi)
    about = centred_answer(make, t, value, cases.GAMMA, Phi)
    np.testing.assert_allclose(about.mean(), plain.mean(), atol=1e-8 * (1.0 + scale))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_distributions_do_not_depend_on_the_potential_beyond_the_grids_error(seed):
    """A table is exact for any V, so only projections are left: of every step, and of the shift."""
    V = np.random.default_rng(seed).normal(size=5)
    problem = lincat.catalog.random_process(5, branching=2, gamma=0.6, seed=4)
    grid, t = lincat.Grid(-15.0, 15.0, 300), process_transitions(problem.process)
    model = lincat.CategoricalLSTD(gamma=0.6, grid=grid, n_features=5)
    model.fit(t.centred(V[t.phi], V[t.phi_next], 0.6))
    found = model.predict(np.arange(5)).shifted(V)
    fine = lincat.Grid(0.0, 2.5, 5000)
    truth = lincat.true_returns(problem.process, 0.6, fine)
    np.testing.assert_allclose(found.mean(), truth.mean(), atol=1e-9)
    more = found.variance() - truth.variance()
    assert (more >= -(fine.spacing**2)).all()
    assert (more <= grid.spacing**2 / 4.0 * (1.0 / (1.0 - 0.36) + 1.0)).all()
    # Projection moves no mass by more than a cell: one for the shift, 1/(1 − gamma) for the steps.
    common = lincat.Grid(-20.0, 20.0, 4000)
    moved = lincat.wasserstein(
        *(
            lincat.ReturnDistribution.from_pmf(lincat.project(x.grid.atoms, x.pmf, common), common)
            for x in (found, truth)
        )
    )
    assert moved.max() <= grid.spacing * (1.0 + 1.0 / 0.4)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_distributions_do_not_depend_on_the_scale_beyond_the_grids_error(seed):
    """A table is exact for any V and σ > 0, so only projections are left."""
    rng = np.random.default_rng(seed)
    V, unit = rng.normal(size=5), np.array([0.5, 1.0, 2.0, 1.5, 0.7])[rng.permutation(5)]
    problem = lincat.catalog.random_process(5, branching=2, gamma=0.6, seed=4)
    grid, t = lincat.Grid(-30.0, 30.0, 1500), process_transitions(problem.process)
    about = t.centred(V[t.phi], V[t.phi_next], 0.6)
    ahead = 0.6 * unit[t.phi_next] / unit[t.phi]
    model = lincat.CategoricalLSTD(gamma=0.6, grid=grid, n_features=5)
    model.fit(about.in_units(unit[t.phi], ahead))
    found = model.predict(np.arange(5)).rescaled(unit, V)
    truth = lincat.true_returns(problem.process, 0.6, lincat.Grid(0.0, 2.5, 5000))
    np.testing.assert_allclose(found.mean(), truth.mean(), atol=1e-8)
    # A step adds at most a cell's quarter, in units of its state.
    more = found.variance() - truth.variance()
    assert (more >= -1e-6).all()
    largest = (unit.max() * grid.spacing) ** 2
    assert (more <= largest * (0.25 / (1.0 - 0.36) + 0.25 + 1.0 / 12.0)).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.0, 1.0), st.booleans())
def test_the_return_is_the_value_and_the_discounted_td_errors(seed, n, gamma, given_discounts):
    """G = V(s_0) + Σ gamma^t delta_t along any recorded episode that ends, for any V at all."""
    rng = np.random.default_rng(seed)
    reward, V = rng.normal(size=n), rng.normal(size=n + 1) * 10.0
    terminated = np.arange(n) == n - 1
    discount = rng.random(n) if given_discounts else None
    t = lincat.Transitions(np.arange(n), reward, np.arange(1, n + 1), terminated, discount)
    about = t.centred(V[:-1], V[1:], gamma)
    used = t.discounts(gamma)
    plain, _ = naive.returns_to_go(reward, terminated, np.zeros(n, bool), used)[0]
    centred, _ = naive.returns_to_go(about.reward, terminated, np.zeros(n, bool), used)[0]
    assert V[0] + centred == pytest.approx(plain, abs=1e-9)


def test_the_stream_does_not_depend_on_the_potential_either():
    """Linear-CTD with a small step: centred and plain approach the same distributions."""
    problem = lincat.catalog.random_process(5, branching=2, gamma=0.6, seed=4)
    process, V = problem.process, np.array([1.0, -2.0, 0.5, 3.0, 0.0])
    drawn = process.sample(400_000, seed=1)
    t = lincat.Transitions(drawn.state, drawn.reward, drawn.next_state)
    grid = lincat.Grid(-12.0, 12.0, 480)

    def make():
        return lincat.LinearCTD(gamma=0.6, grid=grid, n_features=5)

    about = make().fit(t.centred(V[t.phi], V[t.phi_next], 0.6)).predict(np.arange(5)).shifted(V)
    plain = make().fit(t).predict(np.arange(5))
    truth = lincat.true_returns(process, 0.6, grid)
    np.testing.assert_allclose(about.mean(), truth.mean(), atol=0.02)
    np.testing.assert_allclose(about.mean(), plain.mean(), atol=0.02)
    np.testing.assert_allclose(about.proper().std(), truth.std(), atol=0.03)
    np.testing.assert_allclose(about.cvar(0.1), truth.cvar(0.1), atol=0.1)


# ------------------------------------------------------------------------------------- the limit


@pytest.mark.parametrize("kind", ["generative", "markov"])
@pytest.mark.parametrize("name", ["paper", "random_process"])
def test_the_error_is_the_asymptotic_one(name, kind):
    """N E ℓ2² against its limit; asymptotic.py has the table of five processes at N = 10⁵."""
    found = asymptotic.ratios(asymptotic.problems()[name], 10_000, kind, range(60))
    plain = found[:, 0].mean()
    assert abs(plain - 1.0) < 4.0 * found[:, 0].std(ddof=1) / np.sqrt(len(found))
    mean, error = asymptotic.mean_ratio(found)
    assert mean == pytest.approx(1.0, abs=0.1)
    assert error < 0.03


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, t: m.predict(t.phi), "CategoricalLSTD: expected a call of fit"),
        (lambda m, t: m.solve(gamma=0.5), "CategoricalLSTD: expected a call of fit"),
        (lambda m, t: m.set_params(grid="fine").fit(t), "grid: expected a lincat.Grid or 'auto'"),
        (lambda m, t: m.set_params(intervals=0).fit(t), "intervals: expected an integer"),
        (lambda m, t: m.set_params(intervals="many").fit(t), "intervals: expected an integer"),
        (lambda m, t: m.fit(t).solve(gamma=2.0), r"gamma: expected a number in \[0, 1\]"),
        (lambda m, t: m.fit(t).solve(intervals=0), "intervals: expected an integer"),
        (lambda m, t: m.fit(t).predict(np.ones((1, 3))), "Phi: expected 4 features"),
    ],
)
def test_bad_input_is_named_in_one_line(call, message):
    with pytest.raises(lincat.InvalidInputError, match=message) as error:
        call(lincat.CategoricalLSTD(gamma=0.8), cases.stream("dense", 50))
    assert "\n" not in str(error.value)


def test_sparse_features_give_the_same_as_dense_ones():
    t = cases.stream("sparse", 300)
    dense = lincat.Transitions(
        t.phi.toarray(), t.reward, t.phi_next.toarray(), t.terminated, t.discount, t.weight
    )
    a, b = (fitted(x, intervals=30) for x in (t, dense))
    assert scipy.sparse.issparse(a.sampled_features())
    assert a.grid_.low == pytest.approx(b.grid_.low)
    np.testing.assert_allclose(a.Theta_, b.Theta_, atol=1e-8)


def test_threads_do_not_change_a_bit_of_the_answer():
    rng = np.random.default_rng(3)
    phi = rng.random((3_000, 90))
    t = lincat.Transitions(phi[:-1], rng.integers(0, 5, 2_999), phi[1:])
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(fitted(t, intervals=30))
            found[-1].predict(phi[:1], confidence=0.9)
    assert np.array_equal(found[0].Theta_, found[1].Theta_)
    assert np.array_equal(found[0].ensemble_.Psi, found[1].ensemble_.Psi)


def test_twice_as_many_intervals_from_the_same_factors():
    seen = lincat.catalog.paper().process.sample(3000, seed=1)
    model = lincat.CategoricalLSTD(gamma=0.75, intervals=50, n_features=3)
    model.fit(seen.state, seen.reward, seen.next_state)
    before, grid = model.Theta_.copy(), model.grid_
    twice = model.doubled()
    expected = model.solve(grid=lincat.Grid(grid.low, grid.high, 100))
    assert twice.grid_ == expected.grid_
    assert (twice.n_seen_, twice.choice_) == (3000, None)
    np.testing.assert_allclose(twice.Theta_, expected.Theta_, atol=1e-6)
    means = [one.predict([0, 1], confidence=0.9).interval("mean") for one in (twice, expected)]
    np.testing.assert_allclose(*means, rtol=1e-3)
    twice.partial_fit(seen.state, seen.reward, seen.next_state)  # which the first does not see
    assert (twice.n_seen_, model.n_seen_, model.grid_) == (6000, 3000, grid)
    np.testing.assert_array_equal(model.Theta_, before)


def test_what_cannot_be_read_again_is_no_refinement():
    t = lincat.Transitions([0, 0], [0.25, 1.0], [0, 0])
    model = lincat.CategoricalLSTD(gamma=0.5, n_features=1, intervals=8)
    with pytest.raises(lincat.InvalidInputError, match="a call of fit or partial_fit first"):
        model.refine(t)
    model.fit(t)
    for wrong in ([t], None):
        with pytest.raises(lincat.InvalidInputError, match="or a function that returns an iterab"):
            model.refine(wrong)
    expected = model.refine(t).Theta_
    np.testing.assert_array_equal(model.refine(lambda: [t]).Theta_, expected)
    assert model.rank_report(np.zeros(3, int)).asked == 3
