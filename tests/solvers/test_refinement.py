"""The fixed point of the rewards themselves, against the dense system of the rows."""

import numpy as np
import pytest

import lincat
from tests import naive

GRID, GAMMA = lincat.Grid(-12.0, 12.0, 9), 0.9


def stream(kind, n=300, d=3, seed=0):
    """Continuous rewards along a walk that comes back to its start."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, d, n)
    phi = np.eye(d)[state] if kind == "states" else rng.random((n, d))
    if kind == "deficient":
        phi[:, 2] = phi[:, 0] + phi[:, 1]
    given = rng.choice([0.5, 0.9, 0.81], n) if kind == "steps" else np.full(n, GAMMA)
    ends = rng.random(n) < 0.2 if kind == "terminal" else np.zeros(n, bool)
    weight = rng.random(n) + 0.5 if kind == "weights" else np.ones(n)
    reward, ahead = rng.normal(size=n), np.roll(phi, -1, axis=0)
    columns = (state, reward, np.roll(state, -1)) if kind == "states" else (phi, reward, ahead)
    t = lincat.Transitions(*columns, ends, given, weight)
    A, b = naive.totals_system(phi, reward, ahead, np.where(ends, 0.0, given), weight, GRID)
    return t, np.linalg.lstsq(A, b, rcond=1e-11)[0].reshape(GRID.intervals, d).T


@pytest.mark.parametrize("kind", ["plain", "states", "steps", "terminal", "weights", "deficient"])
def test_the_answer_is_that_of_the_rewards_themselves(kind):
    t, expected = stream(kind)
    model = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID, nodes=9, n_features=3).fit(t)
    off = np.abs(model.Theta_ - expected).max()
    assert model.refine(t).residual_ <= 1e-12
    np.testing.assert_allclose(model.Theta_, expected, atol=1e-10 * np.abs(expected).max())
    assert off > 1e-5  # nodes alone are not exact


def test_a_ridge_stays_what_it_is():
    t, _ = stream("plain")
    few = lincat.Transitions(t.phi, np.round(t.reward), t.phi_next)
    model = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID, ridge=0.1).fit(few)
    before = model.Theta_.copy()
    assert model.refine(few).residual_ <= 1e-12
    np.testing.assert_allclose(model.Theta_, before, atol=1e-11)
    exact = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID, ridge=0.1, nodes=300).fit(t).refine(t)
    nodes = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID, ridge=0.1, nodes=9).fit(t)
    off = np.abs(nodes.Theta_ - exact.Theta_).max()
    assert np.abs(nodes.refine(t).Theta_ - exact.Theta_).max() < 0.1 * off


def test_data_may_come_in_pieces_and_in_any_order():
    t, expected = stream("plain")
    model = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID, nodes=9).fit(t)
    model.refine(lambda: (t[a : a + 100] for a in (200, 0, 100)))
    np.testing.assert_allclose(model.Theta_, expected, atol=1e-10 * np.abs(expected).max())
    more = model.partial_fit(t)
    assert more.residual_ <= 1e-12  # solved again


def test_a_few_passes_are_enough():
    t, expected = stream("plain")
    model = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID).fit(t)
    model.refine(t, passes=8)
    assert model.residual_ <= 1e-12
    np.testing.assert_allclose(model.Theta_, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda t: ((t[:10],), {}), "transitions: expected the 300 that were learned from, got 10"),
        (lambda t: (([t],), {}), "transitions: expected lincat.Transitions, or a function"),
        (lambda t: ((t,), {"passes": 0}), "passes: expected an integer of at least 3"),
        (lambda t: ((t,), {"tolerance": 0.0}), "tolerance: expected"),
    ],
)
def test_bad_input_is_named_in_one_line(arguments, message):
    t, _ = stream("plain")
    model = lincat.CategoricalLSTD(gamma=GAMMA, grid=GRID).fit(t)
    positional, named = arguments(t)
    with pytest.raises(lincat.InvalidInputError, match=message) as error:
        model.refine(*positional, **named)
    assert "\n" not in str(error.value)
