"""Where the error of a solution comes from."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.inference.budget import Budget, Part, error_budget, extrapolate
from tests import naive


def table(states, reward, following, *, gamma=0.5, **options):
    d = int(max(states.max(), following.max())) + 1
    model = lincat.CategoricalLSTD(gamma=gamma, n_features=d, **options)
    return model.fit(states, reward, following)


def coin(n=8000, *, shift=0.0, seed=0, **options):
    """A fair coin for ever, worth more in the second half: the return is uniform on [0, 2]."""
    rng = np.random.default_rng(seed)
    reward = rng.integers(2, size=n) + shift * (np.arange(n) >= n // 2)
    one = np.zeros(n, dtype=np.int64)
    return table(one, reward.astype(float), one, **options)


def budget(model, states=(0,), **options):
    names = tuple(map(str, states))
    return error_budget(model, names, lambda one: one.predict(list(states)), **options)


def test_sampling_is_the_standard_error_of_the_mean():
    model = coin(grid=lincat.Grid(0.0, 2.0, 40))
    found = budget(model)
    directions = model.predict([0], confidence=0.95).uncertainty.directions[:, 0]
    se = np.sqrt(np.mean([(model.grid_.spacing * one.sum()) ** 2 for one in directions]))
    sd = np.sqrt(model.moments_.variance(np.ones((1, 1)))[0])
    assert found["sampling"].size == pytest.approx(se / sd)
    assert found["thin"].size == found["sampling"].size  # one state
    grid = lincat.Grid(0.0, 2.0, 10)
    sizes = [budget(coin(seed=seed, grid=grid))["sampling"].size for seed in range(12)]
    expected = 2 * 0.5 / np.sqrt(8000) * np.sqrt(3)
    assert np.sqrt(np.mean(np.square(sizes))) == pytest.approx(expected, rel=0.25)


def test_a_coarse_grid_is_seen_and_extrapolated():
    """Normal rewards: the return is normal, and its CVaR at 1/4 is −1.2711 standard deviations."""
    n, grids = 60_000, [lincat.Grid(-8.0, 8.0, K) for K in (16, 32)]
    one, reward = np.zeros(n, dtype=np.int64), np.random.default_rng(0).normal(size=n)
    model = table(one, reward, one, gamma=0.8, grid=grids[0])
    found = budget(model, level=0.25)
    assert found.next == "grid"
    assert 2.5 < found.order < 5.5
    reported, finer = (model.solve(grid=grid).predict([0]) for grid in grids)
    (limit,) = found.extrapolated
    for figure, value in (("std", limit.std), ("cvar", limit.cvar)):
        levels = (0.25,) if figure == "cvar" else ()
        h, better = (float(getattr(dist, figure)(*levels)[0]) for dist in (reported, finer))
        assert value == pytest.approx(naive.richardson(h, better))
    exact = float(np.sqrt(model.moments_.variance(np.ones((1, 1)))[0]))
    assert abs(limit.std - exact) < 0.05 * abs(float(reported.std()[0]) - exact)
    true = float(model.moments_.mean(np.ones((1, 1)))[0]) - 1.2711 * exact
    assert abs(limit.cvar - true) < 0.1 * abs(float(reported.cvar(0.25)[0]) - true)
    away = abs(limit.cvar - float(reported.cvar(0.25)[0]))
    assert found["grid"].size == pytest.approx(away / float(reported.std()[0]))


def test_what_would_cost_too_much_is_not_solved(monkeypatch):
    monkeypatch.setattr("lincat.inference.budget._AFFORDED", 79)
    model = coin(grid=lincat.Grid(0.0, 2.0, 40))
    found = budget(model, widening=0.3)
    assert found["grid"].size == 0.3
    assert found.order is None
    assert found.extrapolated == ()


def test_mass_off_the_grid_moves_means():
    inside, outside = (budget(coin(grid=lincat.Grid(0.0, high, 20))) for high in (2.0, 1.5))
    assert inside["off_grid"].size < 1e-9
    model = coin(grid=lincat.Grid(0.0, 1.5, 20))
    away = model.moments_.mean(np.ones((1, 1))) - model.predict([0]).mean()
    sd = np.sqrt(model.moments_.variance(np.ones((1, 1))))
    assert outside["off_grid"].size == pytest.approx(float(away[0] / sd[0]))
    assert outside["off_grid"].size > 0.1


def test_drift_is_half_of_what_the_halves_differ_by():
    rng = np.random.default_rng(3)
    n = 16_000
    walk = rng.integers(3, size=n + 1)
    reward = walk[:-1] + 2.0 * (np.arange(n) >= n // 2)
    model = table(walk[:-1], reward, walk[1:], grid=lincat.Grid(0.0, 10.0, 100))
    found = budget(model, (0, 1, 2))
    halves = [(walk[a:b], reward[a:b], walk[a + 1 : b + 1]) for a, b in ((0, 8000), (8000, n))]
    expected = naive.drift(*halves, 0.5)
    sd = np.sqrt(model.moments_.variance(np.eye(3)))
    assert found["drift"].size == pytest.approx(np.sqrt(np.mean((expected / sd) ** 2)), rel=0.1)
    assert found.next == "drift"
    still = [budget(coin(seed=seed, grid=lincat.Grid(0.0, 2.0, 40)))["drift"].size
             for seed in range(8)]  # fmt: skip
    assert np.mean(np.array(still) > 0.0) <= 0.25


def test_a_half_without_an_end_says_nothing_of_drift():
    """Without discounting, only episodes that end have a mean."""
    n = 4000
    state = np.zeros(n, dtype=np.int64)
    ends = (np.arange(n) % 10 == 9) & (np.arange(n) < n // 2)
    reward = np.random.default_rng(0).normal(size=n)
    model = lincat.CategoricalLSTD(gamma=1.0, n_features=1, grid=lincat.Grid(-60.0, 60.0, 60))
    model.fit(state, reward, state, terminated=ends)
    assert budget(model)["drift"].size is None


def test_rarely_seen_states_are_named():
    rng = np.random.default_rng(1)
    states = np.where(rng.random(20_001) < 0.002, 1, 0)
    reward = rng.normal(size=20_000)
    model = table(states[:-1], reward, states[1:], grid=lincat.Grid(-6.0, 6.0, 60))
    found = budget(model)
    assert found["thin"].size > 3.0 * found["sampling"].size
    assert found.next == "thin"
    assert "rarely seen" in found.sentence


def test_features_that_miss_a_regime_are_seen_in_the_residual():
    rng = np.random.default_rng(2)
    regime = (np.cumsum(rng.random(20_001) < 1 / 1500) % 2).astype(np.int64)
    reward = regime[:-1] + rng.normal(size=20_000)
    found = []
    for states in (np.zeros_like(regime), regime):
        model = table(states[:-1], reward, states[1:], grid=lincat.Grid(-6.0, 8.0, 40))
        found.append(budget(model))
    blind, sees = found
    assert blind.residual > 3.0 > sees.residual
    assert "features are not exact" in blind["features"].text
    assert "do not correlate" in sees["features"].text
    assert blind["features"].size is None


def test_held_out_returns_beyond_their_noise():
    model = coin(grid=lincat.Grid(0.0, 2.0, 40))
    far = lincat.validate(model.predict([0] * 400), np.full(400, 1.9) + np.arange(400) * 1e-4)
    found = budget(model, validation=far)
    group = far["all"]
    assert found["features"].size > 1.0
    assert group.w1 > group.w1_noise
    near = lincat.validate(model.predict([0] * 400), np.random.default_rng(0).random(400) * 2)
    assert budget(model, validation=near)["features"].size < 0.1


def test_where_all_returns_are_the_same_there_is_nothing_to_spend_on():
    one = np.zeros(2000, dtype=np.int64)
    model = table(one, np.ones(2000), one, grid=lincat.Grid(0.0, 4.0, 8))
    found = budget(model)
    assert (found.parts, found.next) == ((), "")
    assert found.sentence.startswith("Nothing is worth spending on")


@given(limit=st.floats(-10, 10), c=st.floats(0.01, 5), spacing=st.floats(0.1, 2))
def test_extrapolation_is_exact_for_an_order_of_two(limit, c, spacing):
    h = [np.array([limit + c * (spacing * f) ** 2]) for f in (2.0, 1.0, 0.5)]
    found, order, seen = extrapolate(*h)
    assert found[0] == pytest.approx(limit, abs=1e-9)
    assert order[0] == pytest.approx(4.0, rel=1e-3)
    assert seen[0]
    assert not extrapolate(h[0], h[1], h[1])[2][0]
    assert not extrapolate(h[2], h[1], h[0])[2][0]


def test_parts_and_what_to_spend_on_are_known_by_code():
    part = {"code": "grid", "size": 0.1, "text": "", "remedy": ""}
    assert msgspec.convert(part, Part).code == "grid"
    with pytest.raises(msgspec.ValidationError, match="code"):
        msgspec.convert({**part, "code": "weather"}, Part)
    budget = {"parts": [part], "next": "", "sentence": "", "residual": 0.0}
    assert msgspec.convert(budget, Budget).next == ""
    with pytest.raises(msgspec.ValidationError, match="next"):
        msgspec.convert({**budget, "next": "weather"}, Budget)
