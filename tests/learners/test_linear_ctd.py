import numpy as np
import pytest

import lincat
from lincat.kernels.layout import padded_zeros
from tests import naive
from tests.learners import cases


@pytest.mark.parametrize(("kind", "batch", "schedule", "averaging"), cases.OPTIONS)
def test_equals_naive(kind, batch, schedule, averaging):
    model, mean = cases.check_equals_naive("ctd", kind, batch, schedule, averaging)
    Phi = cases.features(kind)
    expected = Phi @ mean + np.arange(1, 9) / 9
    queries = np.arange(cases.STATES) if kind == "states" else Phi
    np.testing.assert_allclose(model.predict(queries).cdf_values, expected, atol=1e-10)


@pytest.mark.parametrize("schedule", cases.STEPS)
def test_gradient_step_is_twice_the_spacing(schedule):
    cases.check_equals_naive("ctd", "dense", 1, schedule, "tail", gradient_step=True)


@pytest.mark.parametrize("averaging", ["full", "anytime"])
def test_large_batches_of_many_features(averaging):
    """From 256 features and batches of 128 on, matrix products do the work."""
    rng, grid = np.random.default_rng(0), lincat.Grid(0.0, 5.0, 5)
    Phi = rng.normal(size=(40, 256)) / 16.0
    state, after = rng.integers(40, size=1000), rng.integers(40, size=1000)
    reward = rng.choice([0.0, 0.3, 1.0], size=1000)
    t = lincat.Transitions(Phi[state], reward, Phi[after])
    kind = "tail" if averaging == "anytime" else averaging
    model = lincat.LinearCTD(grid=grid, gamma=0.8, step_size=0.3, averaging=kind)
    model.partial_fit(t, batch_size=128)
    rows = zip(state, reward.tolist(), after, strict=True)
    data = [(Phi[s], r, Phi[s_next], 0.8, 1.0) for s, r, s_next in rows]
    iterates = naive.learner_iterates(
        np.zeros((256, 5)), data, grid, "ctd", step_size=("constant", 0.3), batch=128
    )
    np.testing.assert_allclose(model.Theta_, iterates[-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.Theta_mean_, iterates.mean(axis=0), rtol=0, atol=1e-10)


# ------------------------------------------------------------- Prop. mean_preserve_property


def means(model, Phi):
    """Means of the current distributions, not of the averaged ones."""
    cdf = lincat.cdf_from_theta(Phi, np.array(model.Theta_, float))
    return lincat.ReturnDistribution(cdf, model.grid_).mean()


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("batch", [1, 10])
def test_means_are_those_of_linear_td_at_every_step(kind, batch):
    """On a grid around 0 both start at a mean of 0."""
    t, Phi = cases.stream(kind, 1000), cases.features(kind)
    options = {"step_size": 0.3, "n_features": cases.STATES if kind == "states" else None}
    ctd, td = cases.make("ctd", **options), cases.make("td", **options)
    for begin in range(0, 1000, batch):
        piece = t[begin : begin + batch]
        ctd.partial_fit(piece, batch_size=batch)
        td.partial_fit(piece, batch_size=batch)
        np.testing.assert_allclose(means(ctd, Phi), Phi @ td.psi_, rtol=0, atol=1e-9)
    queries = np.arange(cases.STATES) if kind == "states" else Phi
    np.testing.assert_allclose(ctd.predict(queries).mean(), td.predict(queries), rtol=0, atol=1e-9)


@pytest.mark.parametrize("step_size", [0.3, "auto", lincat.PolynomialDecay(0.5, 0.6)])
@pytest.mark.parametrize("averaging", ["none", "full", "tail"])
def test_means_of_averages_are_those_of_linear_td(step_size, averaging):
    t, Phi = cases.stream("dense", 1500), cases.features("dense")
    ctd, td = (
        cases.make(rule, step_size=step_size, averaging=averaging).fit(t) for rule in ("ctd", "td")
    )
    np.testing.assert_allclose(ctd.predict(Phi).mean(), td.predict(Phi), rtol=0, atol=1e-9)


def test_means_are_those_of_linear_td_from_a_matching_start():
    """On any grid, if a constant is among the features: psi_0 must give the mean of Theta = 0."""
    grid = lincat.Grid(-5.0, 8.0, 13)
    t, Phi = cases.stream("dense", 1000), cases.features("dense")
    psi = np.zeros((4, 1))
    psi[0] = 1.5 / Phi[0, 0]  # the intercept
    iterates = naive.learner_iterates(
        psi, cases.tuples(t), None, "td", step_size=("constant", 0.3)
    )[:, :, 0]
    model = cases.make("ctd", grid=grid, step_size=0.3).fit(t)
    np.testing.assert_allclose(means(model, Phi), Phi @ iterates[-1], rtol=0, atol=1e-9)
    expected = Phi @ naive.average(iterates, "tail", 1000)
    np.testing.assert_allclose(model.predict(Phi).mean(), expected, rtol=0, atol=1e-9)


def test_clipping_breaks_the_means():
    """The reason why the user must hear of it."""
    t, Phi = cases.stream("dense", 1000), cases.features("dense")
    td = cases.make("td", step_size=0.3).fit(t)
    narrow = cases.make("ctd", grid=lincat.Grid(-1.0, 1.0, 8), step_size=0.3)
    with pytest.warns(lincat.GridMisfitWarning):
        narrow.fit(t)
    assert np.abs(means(narrow, Phi) - Phi @ td.psi_).max() > 1e-3


# ----------------------------------------------------------------------------- tabular case


def test_one_hot_features_are_tabular_categorical_td():
    """Eq. (ctd_update_rule), on a table of masses."""
    t = cases.stream("states", 1000)
    model = cases.make("ctd", n_features=cases.STATES, step_size=0.3, averaging="none").fit(t)
    pmf = np.full((cases.STATES, 9), 1 / 9)
    rows = zip(t.phi, t.reward, t.phi_next, t.discounts(cases.GAMMA), t.weight, strict=True)
    for s, r, s_next, discount, weight in rows:
        pmf = naive.categorical_td_update(pmf, s, r, s_next, discount, cases.GRID, 0.3 * weight)
    got = model.predict(np.arange(cases.STATES)).pmf
    np.testing.assert_allclose(got, pmf, rtol=0, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 7])
def test_state_numbers_and_one_hot_features_give_the_same_bits(batch):
    t = cases.stream("states", 1000)
    rest = (t.terminated, t.discount, t.weight)
    one_hot = lincat.Transitions(np.eye(6)[t.phi], t.reward, np.eye(6)[t.phi_next], *rest)
    models = [cases.make("ctd", n_features=6).fit(x, batch_size=batch) for x in (t, one_hot)]
    for name in ("Theta_", "Theta_mean_", "clipped_mass_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in models))


# -------------------------------------------------------------------------------- precision


@pytest.mark.parametrize("intervals", [30, 100])
@pytest.mark.parametrize(
    "step_size",
    [
        "auto",
        0.05,
        0.3,
        1.0,
    ],
)
def test_float32_is_good_to_four_digits_after_a_million_transitions(intervals, step_size):
    problem = lincat.catalog.paper()
    drawn = problem.process.sample(1_000_000, seed=1)
    Phi, grid = problem.Phi, problem.grid(intervals)
    t = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
    double, single = (
        lincat.LinearCTD(grid=grid, gamma=problem.gamma, step_size=step_size, dtype=dtype).fit(t)
        for dtype in ("float64", "float32")
    )
    assert single.Theta_.dtype == np.float32
    assert single.Theta_mean_.dtype == np.float64
    distance = lincat.wasserstein(double.predict(Phi), single.predict(Phi))
    assert distance.max() <= 1e-4
    current = (
        lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, m.Theta_.astype(float)), grid)
        for m in (double, single)
    )
    assert lincat.wasserstein(*current).max() <= 1e-4


# ------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize("batch", [1, 25])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_too_large_a_step_is_told_at_once(batch, dtype):
    problem = lincat.catalog.paper()
    drawn = problem.process.sample(50_000, seed=1)
    Phi, grid = problem.Phi, problem.grid(30)
    t = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
    model = lincat.LinearCTD(grid=grid, gamma=problem.gamma, step_size=3.0, dtype=dtype)
    with pytest.raises(lincat.DivergenceError) as caught:
        model.fit(t, batch_size=batch)
    error = caught.value
    assert "\n" not in str(error)
    assert f"transition {error.transition} " in str(error)
    assert "step size 3;" in str(error)
    assert "squared feature norm was 1.09;" in str(error)
    assert f"try step_size={error.safe_step:.3g} or step_size='auto'" in str(error)
    assert error.step_size == pytest.approx(3.0)
    assert error.largest_squared_norm == pytest.approx(1.09)
    assert error.safe_step == pytest.approx(0.25 / 1.09)
    assert 0 < error.transition < len(t)
    assert model.n_seen_ == 0  # so soon that nothing good was learned
    assert not model.Theta_.any()
    safe = model.clone().set_params(step_size=error.safe_step).fit(t, batch_size=batch)
    star = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    fixed = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, star), grid)
    weights = problem.process.stationary
    assert lincat.cramer(safe.predict(Phi), fixed, weights=weights) < 0.15


def test_parameters_stay_as_the_naive_ones_until_the_bound():
    """The transition named is the first whose ‖F(s) − target‖ is above a million."""
    t = cases.stream("dense", 5000, everything=False)
    model = cases.make("ctd", step_size=200.0, averaging="none")
    model.recovers = False
    with pytest.raises(lincat.DivergenceError) as caught:
        model.fit(t)
    n = caught.value.transition
    assert n < 4096
    data = cases.tuples(t)[: n + 1]
    iterates = naive.learner_iterates(
        np.zeros((4, 8)), data, cases.GRID, "ctd", step_size=("constant", 200.0)
    )
    np.testing.assert_allclose(model.Theta_, iterates[n - 1], rtol=1e-8)
    phi, reward, phi_next, discount, _ = data[n]
    change = naive.learner_change(
        np.array(model.Theta_), phi, reward, phi_next, discount, cases.GRID, "ctd"
    )
    assert np.linalg.norm(change) / np.linalg.norm(phi) > 1e6


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_lie_beside_the_parameters_where_features_touch_few_rows(dtype, tmp_path):
    t = cases.stream("states", 600)
    model = cases.make("ctd", n_features=cases.STATES, dtype=dtype).fit(t)
    model.save(tmp_path / "model")
    loaded = lincat.load(tmp_path / "model")
    for one in (model.partial_fit(t), loaded.partial_fit(t)):
        for i in range(cases.STATES):
            Theta, U = one._Theta_[i], one._U_[i]
            assert U.ctypes.data == Theta.ctypes.data + Theta.nbytes
    assert cases.make("ctd").fit(cases.stream("dense", 10))._U_.flags.c_contiguous


def test_kinds_of_features_may_change_on_the_way():
    t = cases.stream("states", 600)
    rest = (t.terminated, t.discount, t.weight)
    one_hot = lincat.Transitions(np.eye(6)[t.phi], t.reward, np.eye(6)[t.phi_next], *rest)
    expected = cases.make("ctd", n_features=6).fit(t).partial_fit(t)
    for first, second in ((t, one_hot), (one_hot, t)):
        model = cases.make("ctd", n_features=6).fit(first).partial_fit(second)
        np.testing.assert_array_equal(model.Theta_, expected.Theta_)
        np.testing.assert_array_equal(model.Theta_mean_, expected.Theta_mean_)


def test_parameters_are_laid_out_for_the_kernels_and_shown_without_padding():
    model = cases.make("ctd").fit(cases.stream("dense", 10))
    assert model.Theta_.shape == (4, 8)
    assert model._Theta_.shape == padded_zeros(4, 8).shape
    before = model.Theta_
    model.Theta_[0, 0] = 1.0  # a copy: what was learned is safe, and does not change under a reader
    np.testing.assert_array_equal(model.Theta_, before)
