"""Grids that grow: the same distributions, the same averages, however a stream is cut."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.core.representation import uniform_cdf
from lincat.learners.growing import _LEAVES, EVERY, Constant, GridWatch, constants_of, grown


@given(
    st.integers(1, 12), st.floats(0.0, 9.0), st.floats(0.0, 9.0), st.integers(1, 30), st.integers(0)
)
def test_grown_distributions_are_projections_of_the_old_ones(K, below, above, most, seed):
    grid = lincat.Grid(-1.0, 2.0, K)
    growth = grown(grid, grid.low - below, grid.high + above, most)
    new = growth.new
    assert new.low <= grid.low - below + 1e-6
    assert new.high >= grid.high + above - 1e-6
    assert new.intervals <= max(most, 1)
    assert new.spacing == pytest.approx(growth.merged * grid.spacing)
    rng = np.random.default_rng(seed % 2**32)
    pmf = rng.normal(size=(3, K + 1))
    pmf[:, -1] = 1.0 - pmf[:, :-1].sum(axis=1)
    cdf = np.cumsum(pmf, axis=1)[:, :-1]
    found = growth.sums(cdf - uniform_cdf(K)) + growth.offset() + uniform_cdf(new.intervals)
    expected = np.cumsum(lincat.project(grid.atoms, pmf, new), axis=1)[:, :-1]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_constants_are_found_where_features_have_one(make):
    tiles = make(np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]))
    assert next(c for c in constants_of(tiles) if c.holds(tiles)) == Constant(None, 1.0)
    intercept = make(np.array([[0.3, 2.0], [-0.7, 2.0]]))
    (found,) = [c for c in constants_of(intercept) if c.holds(intercept)]
    np.testing.assert_allclose(intercept @ found.vector(2), 1.0)
    none = make(np.array([[0.3, 2.0], [-0.7, 1.0]]))
    assert not [c for c in constants_of(none) if c.holds(none)]
    assert constants_of(np.array([3, 4])) == [Constant(None, 1.0)]
    assert not Constant(0, 1.0).holds(np.array([0]))


def a_stream(kind, rows=3 * EVERY):
    """Rewards of 0 or 1, and from the second window on now and then a loss of 12."""
    rng = np.random.default_rng(5)
    state = rng.integers(0, 3, rows + 1)
    reward = rng.integers(0, 2, rows).astype(float)
    reward[EVERY:][rng.random(rows - EVERY) < 0.01] = -12.0
    if kind == "states":
        return lincat.Transitions(state[:-1], reward, state[1:])
    Phi = np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
    phi = Phi[state]
    if kind == "sparse":
        phi = scipy.sparse.csr_array(phi)
    return lincat.Transitions(phi[:-1], reward, phi[1:])


def a_learner(make=lincat.LinearCTD, K=8, **options):
    model = make(grid="auto", gamma=0.5, n_features=3, **options)
    Theta = 0.01 * np.random.default_rng(1).normal(size=(3, K))
    return model.start_at(lincat.Grid(0.0, 2.0, K), Theta, after=100)


PROBE = {"states": [0, 1, 2], "dense": np.eye(3), "sparse": scipy.sparse.csr_array(np.eye(3))}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("states", {}),
        ("states", {"dtype": "float32"}),
        ("dense", {"averaging": "full", "make": lincat.LinearPMF}),
        ("dense", {"horizon": 3 * EVERY}),
        ("sparse", {"averaging": "none"}),
    ],
)
def test_a_grid_grows_at_the_same_place_however_a_stream_is_cut(tmp_path, kind, options):
    t = a_stream(kind)
    whole = a_learner(**options).partial_fit(t)
    assert whole.grid_.low <= -12.0
    assert whole.grid_.intervals <= 16
    assert whole.clipped_mass_.sum() < 1e-3
    parts = a_learner(**options)
    for begin in range(0, len(t), 1111):
        parts.partial_fit(t[begin : begin + 1111])
        parts.save(tmp_path / "model.safetensors")
        parts = lincat.load(tmp_path / "model.safetensors")
    assert parts.grid_ == whole.grid_
    np.testing.assert_array_equal(parts.Theta_, whole.Theta_)
    np.testing.assert_array_equal(parts.Theta_mean_, whole.Theta_mean_)
    np.testing.assert_array_equal(parts.clipped_mass_, whole.clipped_mass_)


def test_averages_are_those_of_the_iterates_on_the_grid_that_grew():
    t = a_stream("states", rows=2 * EVERY + 20)
    new = a_learner().partial_fit(t).grid_
    model, total = a_learner(averaging="none"), 0.0
    for begin in range(len(t)):
        model.partial_fit(t[begin : begin + 1])
        now = model.predict(PROBE["states"])
        total = total + lincat.project(now.grid.atoms, now.pmf, new)
    found = a_learner(averaging="full").partial_fit(t).predict(PROBE["states"])
    np.testing.assert_allclose(found.pmf, total / len(t), atol=1e-11)


def test_what_was_learned_on_the_way_is_right():
    t = a_stream("states", rows=20 * EVERY)
    found = a_learner(K=40).partial_fit(t).predict(PROBE["states"])
    batch = lincat.CategoricalLSTD(gamma=0.5, grid=found.grid, n_features=3).fit(t)
    assert lincat.wasserstein(found, batch.predict(PROBE["states"])).max() < 0.05


def test_grids_stay_where_they_must():
    fixed = lincat.LinearCTD(grid=lincat.Grid(0.0, 2.0, 8), gamma=0.5, n_features=3)
    fixed.warn = False
    t = a_stream("states")
    assert fixed.partial_fit(t).grid_ == lincat.Grid(0.0, 2.0, 8)
    # Without a constant among the features, what a distribution is on other atoms is not known.
    phi = np.random.default_rng(0).normal(size=(len(t) + 1, 3))
    other = a_learner(step_size=1e-3)
    other.warn = False
    other.partial_fit(phi[:-1], t.reward, phi[1:])
    assert other.grid_ == lincat.Grid(0.0, 2.0, 8)
    # No further than rewards can lead.
    tame = a_learner(averaging="none").partial_fit(t[:EVERY])
    assert tame.grid_ == lincat.Grid(0.0, 2.0, 8)


def test_steps_are_smaller_after_the_transitions_that_the_start_rests_on():
    t, grid = a_stream("states")[:1], lincat.Grid(0.0, 2.0, 8)

    def first_change(after):
        model = lincat.LinearCTD(grid=grid, gamma=0.5, n_features=3, averaging="none")
        return model.start_at(grid, np.zeros((3, 8)), after=after).partial_fit(t).Theta_[t.phi[0]]

    early, late = first_change(0), first_change(50_000)
    share = (late @ early) / (early @ early)
    np.testing.assert_allclose(late, share * early, atol=1e-15)
    assert 0.0 < share < 0.3


def test_mistakes_are_named():
    grid = lincat.Grid(0.0, 2.0, 8)
    with pytest.raises(lincat.InvalidInputError, match="start_at: expected LinearCTD or LinearPMF"):
        lincat.SoftmaxCTD(grid=grid, gamma=0.5).start_at(grid, np.zeros((1, 8)))
    model = lincat.LinearCTD(grid=grid, gamma=0.5, n_features=1).partial_fit([0], [1.0], [0])
    with pytest.raises(lincat.InvalidInputError, match="has learned nothing yet"):
        model.start_at(grid, np.zeros((1, 8)))
    with pytest.raises(lincat.InvalidInputError, match="as the learner has"):
        lincat.LinearCTD(grid=grid, gamma=0.5).start_at(lincat.Grid(0.0, 1.0, 8), np.zeros((1, 8)))
    model = lincat.LinearCTD(grid="auto", gamma=0.5, n_features=2).start_at(grid, np.zeros((1, 8)))
    with pytest.raises(lincat.InvalidInputError, match="Theta"):
        model.partial_fit([0], [1.0], [1])


def test_a_watch_sees_how_far_a_reward_leads_from_the_middle():
    grid = lincat.Grid(-2.0, 8.0, 10)  # its middle is 3
    watch = GridWatch(20)
    phi, reward, discount = np.zeros(3, int), np.array([1.0, -4.0, 2.0]), np.array([0.5, 0.9, 0.0])
    watch.see(phi, reward, discount, grid)
    assert (watch.low, watch.high) == pytest.approx((-4.0 + 0.9 * 3.0, 1.0 + 0.5 * 3.0))
    watch.see(phi[:1], np.array([7.0]), np.array([0.5]), grid)
    assert (watch.low, watch.high) == pytest.approx((-1.3, 8.5))


def test_a_grid_grows_where_mass_leaves_it_and_only_there():
    grid, anywhere = lincat.Grid(0.0, 8.0, 8), (-np.inf, np.inf)

    def looked(clipped, reach=anywhere):
        watch = GridWatch(40)
        watch.see(np.zeros(2, int), np.array([-9.0, 15.0]), np.array([0.5, 0.5]), grid)
        return watch.look(grid, np.array(clipped), 100, reach)

    assert looked([0.0, 0.0]) is None
    # Of 100 transitions a share of their mass, not a sum, is what matters.
    assert looked([0.0, 50.0 * _LEAVES]) is None
    assert looked([0.0, 200.0 * _LEAVES]) is not None
    below, above = looked([5.0, 0.0]).new, looked([0.0, 5.0]).new
    assert (below.low, below.high) == (-7.0, 8.0)  # -9 and half of the middle
    assert (above.low, above.high) == (0.0, 17.0)
    assert looked([5.0, 5.0], reach=(-2.0, 8.0)).new == lincat.Grid(-2.0, 8.0, 10)
    assert looked([5.0, 5.0], reach=(0.0, 8.0)) is None  # no reward so far can lead there


@given(st.floats(0.0, 9.0), st.floats(0.0, 9.0), st.integers(1, 30), st.floats(-20.0, 20.0))
def test_a_grid_grows_no_further_than_it_must(below, above, most, place):
    grid = lincat.Grid(place, place + 3.0, 7)
    growth = grown(grid, grid.low - below, grid.high + above, most)
    room = (growth.new.high - growth.new.low) - (grid.high + above - grid.low + below)
    # A part of an interval at each end, and what makes their number even.
    assert room <= (growth.merged + 1) * grid.spacing


def test_a_watch_continues_from_its_plain_values():
    grid, fresh = lincat.Grid(0.0, 8.0, 8), GridWatch(16)
    assert GridWatch.from_state(fresh.state()).state() == fresh.state()
    fresh.see(np.array([[0.3, 2.0], [-0.7, 2.0]]), np.array([-9.0, 1.0]), np.full(2, 0.5), grid)
    again = GridWatch.from_state(fresh.state())
    assert again.constants == fresh.constants == [Constant(1, 0.5)]
    assert again.state() == fresh.state()
