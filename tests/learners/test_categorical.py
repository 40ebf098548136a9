"""The grid: given or chosen, and what falls off it."""

import warnings

import numpy as np
import pytest

import lincat
from tests import naive
from tests.learners import cases

RULES = pytest.mark.parametrize("rule", ["ctd", "pmf", "unnormalised", "softmax"])


def rewards(n, seed=0):
    """Rewards that grow, so that the first thousand do not show them all."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 2.0, size=n) * np.linspace(0.5, 1.0, n)


def auto_stream(n, *, scale=1.0, ends=False):
    t = cases.stream("dense", n, everything=False)
    terminated = np.random.default_rng(3).random(n) < 0.1 if ends else None
    return lincat.Transitions(t.phi, scale * rewards(n), t.phi_next, terminated)


@RULES
def test_automatic_grid_is_the_range_of_the_first_thousand_and_a_tenth(rule):
    t = auto_stream(3000)
    model = cases.make(rule, grid="auto", intervals=12)
    with pytest.warns(lincat.GridMisfitWarning):
        model.fit(t)
    reach = t.reward[:1000] / (1 - cases.GAMMA)
    low, high = reach.min(), reach.max()
    assert model.grid_.intervals == 12
    assert model.grid_.low == pytest.approx(low - 0.1 * (high - low), rel=1e-14)
    assert model.grid_.high == pytest.approx(high + 0.1 * (high - low), rel=1e-14)
    assert model.grid == "auto"


def test_rewards_that_end_an_episode_count_once():
    t = auto_stream(1000, ends=True)
    model = cases.make("ctd", grid="auto").fit(t)
    reach = t.reward / (1 - t.discounts(cases.GAMMA))
    assert model.grid_.low == pytest.approx(reach.min() - 0.1 * np.ptp(reach), rel=1e-14)
    assert model.grid_.high == pytest.approx(reach.max() + 0.1 * np.ptp(reach), rel=1e-14)
    assert not model.clipped_mass_.any()


@RULES
@pytest.mark.parametrize("size", [1, 7, 333, 1000, 2500])
def test_automatic_grid_does_not_depend_on_chunks(rule, size):
    t = auto_stream(2500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lincat.GridMisfitWarning)
        whole = cases.make(rule, grid="auto").partial_fit(t)
        parts = cases.make(rule, grid="auto")
        for begin in range(0, 2500, size):
            parts.partial_fit(t[begin : begin + size])
        assert parts.grid_ == whole.grid_
        for a, b in zip(cases.parameters(whole), cases.parameters(parts), strict=True):
            assert a.tobytes() == b.tobytes()
        np.testing.assert_array_equal(whole.clipped_mass_, parts.clipped_mass_)


def test_nothing_is_learned_before_the_grid_is_known():
    t = auto_stream(1000)
    model = cases.make("ctd", grid="auto").partial_fit(t[:999])
    assert model.n_seen_ == 0
    assert model.partial_fit(t[999:]).n_seen_ == 1000


@pytest.mark.parametrize("ask", ["predict", "Theta_", "grid_", "clipped_mass_"])
def test_asking_ends_the_waiting(ask):
    t = auto_stream(100)
    model = cases.make("ctd", grid="auto").partial_fit(t)
    model.predict(t.phi) if ask == "predict" else getattr(model, ask)
    assert model.n_seen_ == 100
    fitted = cases.make("ctd", grid="auto", averaging="none").fit(t)
    np.testing.assert_array_equal(model.Theta_, fitted.Theta_)


def test_batch_sizes_are_remembered_while_waiting():
    t = auto_stream(900)
    model = cases.make("ctd", grid="auto", step_size=0.2)
    model.partial_fit(t[:450], batch_size=9).partial_fit(t[450:], batch_size=5)
    assert model.grid_ is not None
    assert model.n_updates_ == 50 + 90


def test_a_certain_reward_gets_a_grid_around_it():
    model = cases.make("ctd", grid="auto", n_features=1).fit([0] * 5, [1.0] * 5, [0] * 5)
    assert model.grid_.low < 5.0 < model.grid_.high
    assert not model.clipped_mass_.any()


def test_nothing_is_rescaled():
    """Rewards 2^10 times as large: a grid 2^10 times as wide, and the same parameters."""
    t, wide = auto_stream(1000), auto_stream(1000, scale=1024.0)
    one, other = (cases.make("ctd", grid="auto").fit(x) for x in (t, wide))
    assert other.grid_.low == pytest.approx(1024.0 * one.grid_.low, rel=1e-14)
    np.testing.assert_allclose(other.Theta_, one.Theta_, rtol=0, atol=1e-12)
    means = [model.predict(cases.features("dense")).mean() for model in (one, other)]
    np.testing.assert_allclose(means[1], 1024.0 * means[0], rtol=1e-10)


@RULES
def test_mass_off_the_grid_is_counted_and_told_once(rule):
    grid = lincat.Grid(-1.0, 2.0, 8)
    t = cases.stream("dense", 1500)
    model = cases.make(rule, grid=grid, step_size=0.01)
    with pytest.warns(lincat.GridMisfitWarning) as caught:
        model.partial_fit(t)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "\n" not in message
    assert "[-1, 2]" in message
    reach = t.reward / (1 - t.discounts(cases.GAMMA))
    assert f"[{reach.min():.6g}, {reach.max():.6g}]" in message
    below, above = model.clipped_mass_
    assert f"{below:.3g} of the mass falls below" in message
    assert f"{above:.3g} above it" in message
    assert caught[0].filename == __file__
    model.partial_fit(t)  # a second warning would be an error here

    data = cases.tuples(t)
    Theta, expected = cases.initial(rule, data, grid), np.zeros(2)
    for phi, reward, phi_next, discount, weight in data:
        rho = (reward - (1 - discount) * grid.low) / grid.spacing
        expected += naive.mass_outside(Theta, phi_next, rho, discount, 8, rule)
        change = naive.learner_change(Theta, phi, reward, phi_next, discount, grid, rule)
        Theta = Theta + 0.01 * weight * change
    again = cases.make(rule, grid=grid, step_size=0.01)
    with pytest.warns(lincat.GridMisfitWarning):
        again.fit(t)
    np.testing.assert_allclose(again.clipped_mass_, expected / 1500, rtol=0, atol=1e-10)


def test_each_fit_tells_anew():
    model = cases.make("ctd", grid=lincat.Grid(-1.0, 1.0, 8))
    for _ in range(2):
        with pytest.warns(lincat.GridMisfitWarning):
            model.fit(cases.stream("dense", 100))


@RULES
def test_a_grid_that_holds_all_returns_is_quiet(rule):
    model = cases.make(rule).fit(cases.stream("dense", 1500))
    np.testing.assert_array_equal(model.clipped_mass_, [0.0, 0.0])


@pytest.mark.parametrize(
    "bad", [None, "automatic", 30, (0.0, 4.0, 30), np.linspace(0.0, 4.0, 31), [0.0, 1.0]]
)
def test_bad_grids_are_named_in_one_line(bad):
    model = cases.make("ctd", grid=bad)
    with pytest.raises(
        lincat.InvalidInputError, match=r"^grid: expected a lincat.Grid or"
    ) as error:
        model.fit(cases.stream("dense", 5))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bad", [0, 2.5, None, "many"])
def test_bad_intervals_are_named(bad):
    model = cases.make("ctd", grid="auto", intervals=bad)
    with pytest.raises(lincat.InvalidInputError, match=r"^intervals: expected an integer"):
        model.fit(auto_stream(20))


def test_no_transitions_no_grid():
    with pytest.raises(lincat.InvalidInputError, match=r"^grid: expected transitions"):
        cases.make("ctd", grid="auto").fit(auto_stream(20)[:0])


@RULES
@pytest.mark.parametrize("kind", cases.KINDS)
def test_predictions_of_every_form_agree(rule, kind):
    t = cases.stream(kind, 1000)
    model = cases.make(rule, n_features=cases.STATES if kind == "states" else None).fit(t)
    dense = model.predict(cases.features(kind))
    other = model.predict(cases.as_kind(kind, np.arange(cases.STATES)))
    assert isinstance(dense, lincat.ReturnDistribution)
    assert dense.grid == model.grid_
    np.testing.assert_allclose(other.cdf_values, dense.cdf_values, rtol=0, atol=1e-14)


def test_an_automatic_grid_needs_a_discount_below_one():
    phi = np.ones((1000, 1))
    model = lincat.LinearCTD(grid="auto", gamma=0.9)
    with pytest.raises(lincat.InvalidInputError, match="a discount of 1 sets no bounds"):
        model.partial_fit(phi, np.ones(1000), phi, discount=1.0)


def test_a_transition_refused_as_divergent_is_not_counted_as_clipped():
    grid = lincat.Grid(0.0, 1.0, 4)
    model = lincat.LinearCTD(grid=grid, gamma=0.5, step_size=1e9)
    with pytest.raises(lincat.DivergenceError):
        model.partial_fit(np.ones((50, 1)), np.full(50, 0.4), np.ones((50, 1)))
    assert np.abs(model.clipped_mass_).max() <= 1.0


def test_one_interval_is_a_grid():
    model = lincat.LinearCTD(grid="auto", gamma=0.5, intervals=1, n_features=1)
    found = model.fit([0, 0], [0.0, 1.0], [0, 0]).predict([0])
    assert found.grid.intervals == 1
    assert (found.grid.low, found.grid.high) == pytest.approx((-0.2, 2.2))  # with a margin
    with pytest.raises(lincat.InvalidInputError, match="intervals: expected an integer of at l"):
        lincat.LinearCTD(grid="auto", gamma=0.5, intervals=0, n_features=1).fit([0], [1.0], [0])
