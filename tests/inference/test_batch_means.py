import numpy as np
import pytest
import scipy.sparse
from scipy import stats

import lincat
from tests import naive
from tests.inference import coverage
from tests.learners import cases

PROBE = cases.features("dense")[:2]
K = cases.GRID.intervals


def watched(model, t, calls, probe=PROBE, bars=None):
    """Feed a stream in pieces that end at ``calls``, telling the error bars after each."""
    bars = lincat.BatchMeans(probe) if bars is None else bars
    done = 0
    for end in calls:
        bars.update(model.partial_fit(t[done:end]))
        done = end
    return bars


@pytest.fixture(scope="module")
def distributions():
    """CDFs of the two watched states after each of 2,500 updates, shape (2500, 2, K)."""
    data = cases.tuples(cases.stream("dense", 2500))
    iterates = naive.learner_iterates(
        np.zeros((4, K)), data, cases.GRID, "ctd", step_size=("constant", 0.3)
    )
    return np.array([lincat.cdf_from_theta(PROBE, Theta) for Theta in iterates])


@pytest.mark.parametrize(
    ("horizon", "averaging", "n", "step", "boundaries"),
    [
        # Every 50 updates; the window begins after 1,249.
        (2500, "tail", 2500, 50, range(1250, 2501, 50)),
        # Every 20: neighbours are merged after 1,280, and from there on 40 make a batch.
        (2500, "tail", 2500, 20, range(1280, 2481, 40)),
        # Unknown length: the window begins at 512.
        (None, "tail", 2000, 40, range(520, 2001, 40)),
        (None, "full", 1000, 100, range(0, 1001, 100)),
    ],
)
def test_standard_errors_are_those_of_the_batches(
    horizon, averaging, n, step, boundaries, distributions
):
    model = cases.make("ctd", step_size=0.3, horizon=horizon, averaging=averaging)
    bars = watched(model, cases.stream("dense", 2500), range(step, n + 1, step))
    boundaries = list(boundaries)
    assert bars.n_batches == len(boundaries) - 1
    assert bars.state()["counts"].tolist()[-len(boundaries) :] == boundaries
    middle = distributions[boundaries[0] : boundaries[-1]].mean(axis=0)
    np.testing.assert_allclose(bars.mean(), middle, atol=1e-10)
    assert np.abs(bars.mean() - model.predict(PROBE).cdf_values).max() < 0.05
    got = bars.standard_error()
    for i in range(2):
        for k in range(K):
            expected = naive.slow_sums_error(distributions[:, i, k], boundaries)
            assert got[i, k] == pytest.approx(expected, rel=1e-5)
    means = cases.GRID.low + cases.GRID.spacing * (1.0 - distributions).sum(axis=2)
    expected = [naive.slow_sums_error(means[:, i], boundaries) for i in range(2)]
    np.testing.assert_allclose(bars.mean_standard_error(cases.GRID), expected, rtol=1e-5)


def test_unequal_batches_weigh_by_their_length(distributions):
    rng = np.random.default_rng(0)
    calls = [*np.unique(rng.integers(1, 2500, 40)).tolist(), 2500]
    model = cases.make("ctd", step_size=0.3, averaging="full")
    bars = watched(model, cases.stream("dense", 2500), calls)
    expected = naive.slow_sums_error(distributions[:, 0, 3], [0, *calls])
    assert bars.standard_error()[0, 3] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rule", ["ctd", "pmf", "unnormalised"])
def test_the_average_of_all_iterates_is_what_full_averaging_predicts(rule):
    t = cases.stream("dense", 1500)
    tail = cases.make(rule).partial_fit(t)
    full = cases.make(rule, averaging="full").partial_fit(t)
    distribution, left_out = tail.predict_overall(PROBE)
    np.testing.assert_allclose(distribution.cdf_values, full.predict(PROBE).cdf_values, atol=1e-12)
    assert left_out == 512
    assert full.predict_overall(PROBE)[1] == 0
    assert tail.predict_overall(PROBE[:1])[0].cdf_values.shape == (1, K)


def test_probes_of_all_kinds_say_the_same():
    t = cases.stream("sparse", 1000)
    dense = cases.features("sparse")[:3]
    errors = []
    for probe in (dense, scipy.sparse.csr_array(dense)):
        model = cases.make("ctd")
        errors.append(watched(model, t, range(20, 1001, 20), probe).standard_error())
    np.testing.assert_allclose(errors[0], errors[1], atol=1e-14)
    model = cases.make("ctd", n_features=cases.STATES)
    bars = watched(model, cases.stream("states", 1000), range(20, 1001, 20), np.array([0, 2]))
    assert bars.standard_error().shape == (2, K)


def test_memory_is_bounded_and_batches_enough():
    t, model, bars = cases.stream("dense", 9000), cases.make("ctd"), lincat.BatchMeans(PROBE)
    for begin in range(0, 9000, 3):
        bars.update(model.partial_fit(t[begin : begin + 3]))
        assert len(bars.state()["counts"]) <= 65
        if begin > 300:
            assert bars.n_batches >= 16
    assert bars.update(model).state()["counts"].shape == bars.state()["counts"].shape


def test_going_on_from_a_saved_state_changes_nothing():
    t, calls = cases.stream("dense", 2000), range(10, 2001, 10)
    whole = watched(cases.make("ctd"), t, calls)
    model, bars = cases.make("ctd"), lincat.BatchMeans(PROBE)
    for begin in range(0, 2000, 10):
        bars.update(model.partial_fit(t[begin : begin + 10]))
        bars = lincat.BatchMeans.from_state(PROBE, bars.state())
    np.testing.assert_array_equal(bars.standard_error(), whole.standard_error())
    state = bars.state()
    assert {type(value) for value in state.values()} == {np.ndarray, int}
    state["sums"][:] = 0.0  # a copy
    np.testing.assert_array_equal(bars.standard_error(), whole.standard_error())


def test_a_warm_up_is_left_alone():
    t = cases.stream("dense", 1200)
    model = cases.make("ctd", grid="auto")
    bars = watched(model, t, range(100, 1201, 100))
    # The grid was chosen from the first 1,000 transitions, not from the first 100.
    assert bars.state()["counts"].tolist() == [0, 1000, 1100, 1200]
    assert model.grid_ == cases.make("ctd", grid="auto").fit(t).grid_


def test_bands_are_proper_and_hold_the_estimate():
    model = cases.make("ctd")
    bars = watched(model, cases.stream("dense", 2000), range(20, 2001, 20))
    estimate = model.predict(PROBE)
    widths = []
    for options in ({"confidence": 0.5}, {}, {"simultaneous": True}, {"confidence": 0.999}):
        low, high = bars.bands(estimate, **options)
        assert low.shape == high.shape == (2, K)
        for end in (low, high):
            assert (np.diff(end, axis=1) >= 0.0).all()
            assert end.min() >= 0.0
            assert end.max() <= 1.0
        proper = estimate.proper().cdf_values
        assert (low <= proper).all()
        assert (proper <= high).all()
        widths.append((high - low).mean())
    assert widths == sorted(widths)
    low, high = bars.bands()
    np.testing.assert_array_equal(low, bars.bands(bars.mean())[0])
    np.testing.assert_array_equal(low, bars.bands(bars.mean(), simultaneous=False)[0])


def test_factors_lie_between_one_value_and_all_at_once():
    """Student's for one value; at most Scheffé's for any number of values."""
    model = cases.make("ctd")
    bars = watched(model, cases.stream("dense", 2000), range(20, 2001, 20))
    # So steep that the ends of the bands increase as they are, and not out of [0, 1] at first.
    middle, error = np.tile(np.linspace(0.1, 0.9, K), (2, 1)), bars.standard_error()
    factor = ((bars.bands(middle)[1] - middle) / error)[:, :3]
    np.testing.assert_allclose(factor, stats.t.ppf(0.975, 4), rtol=1e-9)
    factor = ((bars.bands(middle, simultaneous=True)[1] - middle) / error)[:, :3]
    np.testing.assert_allclose(factor, factor[:, :1] * np.ones(3), rtol=1e-9)
    assert (factor > 2.8).all()
    assert (factor < np.sqrt(4 * stats.f.ppf(0.96, 4, 4))).all()


@pytest.mark.parametrize(
    ("problem", "n", "step_size", "kind", "held"),
    [
        (lincat.catalog.paper(), 20_000, "auto", "generative", (0.90, 0.99)),
        (lincat.catalog.paper(), 20_000, 0.1, "generative", (0.90, 0.99)),
        (coverage.slow(), 40_000, 0.1, "markov", (0.82, 0.99)),
        # Honesty: along this walk the step size leaves a bias that no band holds.
        (lincat.catalog.paper(), 20_000, 0.1, "markov", (0.0, 0.6)),
    ],
)
def test_how_often_bands_hold_the_fixed_point(problem, n, step_size, kind, held):
    each, whole, _ = coverage.coverage(problem, n, step_size, kind, range(30))
    low, high = held
    assert low <= each <= high
    assert high < 0.9 or whole >= low - 0.05


def test_short_runs_are_told_by_their_autocorrelation():
    _, quick = coverage.run(lincat.catalog.paper(), 20_000, 0.1, "generative", 0)
    _, slow = coverage.run(coverage.slow(), 20_000, "auto", "generative", 0)
    assert quick.autocorrelation() < 0.5 < slow.autocorrelation()


def test_ahead_is_where_a_fading_drift_ends():
    counts = np.arange(0, 97) * 100
    end, rate = np.array([[0.3, 0.7]]), 0.997
    path = end + rate ** np.arange(1, 9601)[:, None, None] * np.array([[0.5, -0.5]])
    sums = np.concatenate([np.zeros((1, 1, 2)), np.cumsum(path, axis=0)])[counts]
    state = {"counts": counts, "sums": sums, "length": 1, "begin": 0}
    bars = lincat.BatchMeans.from_state(np.ones((1, 1)), state)
    np.testing.assert_allclose(bars.mean() + bars.ahead(), end, atol=2e-4)
    assert np.abs(bars.ahead()).max() > 0.01


def test_what_never_moves_has_no_error():
    grid = lincat.Grid(0.0, 1.0, intervals=2)
    model = lincat.LinearCTD(grid=grid, gamma=0.5, step_size=0.5, averaging="full")
    phi = np.zeros((400, 1))
    bars = watched(model, lincat.Transitions(phi, np.zeros(400), phi), range(20, 401, 20), [[1.0]])
    np.testing.assert_allclose(bars.standard_error(), 0.0, atol=1e-15)
    assert bars.autocorrelation() == 0.0
    low, high = bars.bands(simultaneous=True)
    np.testing.assert_allclose(low, high, atol=1e-15)
    np.testing.assert_allclose(bars.ahead(), 0.0, atol=1e-15)


def test_mistakes_are_named():
    t = cases.stream("dense", 700)
    bars = lincat.BatchMeans(PROBE)
    with pytest.raises(lincat.InvalidInputError, match="at least 8 batches in the window, got 0"):
        bars.bands()
    for rule in ("td", "softmax"):
        with pytest.raises(lincat.InvalidInputError, match="learner: expected"):
            bars.update(cases.make(rule).fit(t))
    with pytest.raises(lincat.InvalidInputError, match="averaging: expected 'tail' or 'full'"):
        bars.update(cases.make("ctd", averaging="none").fit(t))
    bars = watched(cases.make("ctd"), t, range(10, 701, 10))
    with pytest.raises(lincat.InvalidInputError, match="at least 700 updates, as before, got 10"):
        bars.update(cases.make("ctd").fit(t[:10]))
    with pytest.raises(lincat.InvalidInputError, match="confidence: expected a number in"):
        bars.bands(confidence=1.0)
    with pytest.raises(lincat.InvalidInputError, match="estimate: expected an array of shape"):
        bars.bands(np.zeros((1, 2)))
    with pytest.raises(lincat.InvalidInputError, match="grid: expected 8 intervals"):
        bars.mean_standard_error(lincat.Grid(0.0, 1.0, 3))
    state = bars.state()
    for broken, message in (
        ({"length": 0}, "length: expected an integer"),
        ({"counts": state["counts"][1:]}, "counts: expected numbers that increase"),
        ({"sums": state["sums"][:, :1]}, "sums: expected an array of shape"),
    ):
        with pytest.raises(lincat.InvalidInputError, match=message):
            lincat.BatchMeans.from_state(PROBE, {**state, **broken})
    with pytest.raises(lincat.InvalidInputError, match="state: expected what BatchMeans"):
        lincat.BatchMeans.from_state(PROBE, {})
