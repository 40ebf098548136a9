"""Where rewards land on the grid, targets of many rows, and mass that leaves; see tests/core."""

from fractions import Fraction

import numpy as np
import pytest

from lincat.kernels.bellman import (
    add_expected_targets,
    mass_outside,
    reward_shift,
    reward_shifts,
    target_rows,
)
from tests import naive
from tests.kernels.cases import KINDS, RULES, run, step, transitions


def test_shifts_are_exact_far_from_the_origin():
    """(r − (1 − δ) low)/spacing to the last digits, though the difference cancels."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        low, spacing = rng.normal() * 10.0 ** rng.uniform(0, 8), 10.0 ** rng.uniform(-3, 1)
        discount = rng.choice([0.0, 1.0, rng.random(), 1.0 - 10.0 ** rng.uniform(-6, 0)])
        reward = (1.0 - discount) * low + rng.uniform(-10, 10) * spacing
        exact = (
            Fraction(reward) - (1 - Fraction(float(discount))) * Fraction(float(low))
        ) / Fraction(float(spacing))
        got = reward_shift(reward, float(discount), float(low), float(spacing), 1000)
        assert got == pytest.approx(float(exact), rel=1e-14, abs=1e-15)


def test_shifts_beyond_the_grid_are_cut_off():
    out = np.empty(4)
    reward = np.array([-1e300, 1e300, 100.0, -100.0])
    reward_shifts(out, reward, np.full(4, 0.5), 0.0, 1.0, 8)
    np.testing.assert_array_equal(out, [-9.0, 9.0, 9.0, -9.0])
    reward_shifts(out, reward, np.full(4, 1.5), 0.0, 1.0, 8)
    np.testing.assert_array_equal(out, [-13.0, 9.0, 9.0, -13.0])


def test_rows_equal_naive_in_grid_units():
    rng, K = np.random.default_rng(1), 9
    cdf = rng.normal(size=(50, K))
    delta = rng.choice([0.0, 0.3, 0.9, 1.0, 1.7, 3.2], size=50)
    rho = rng.uniform(-2 * K - 1, K + 1, size=50)
    out = np.full((50, K), np.nan)
    target_rows(out, cdf, rho, delta)
    for i in range(50):
        pmf = np.diff(cdf[i], prepend=0.0, append=1.0)
        expected = np.cumsum(pmf @ naive.projection_matrix(rho[i], delta[i], K))[:K]
        np.testing.assert_allclose(out[i], expected, rtol=0, atol=1e-13)


def test_expected_targets_add_up_the_outcomes_of_each_state():
    rng, K = np.random.default_rng(2), 6
    cdf, rho, delta = rng.random((2, K)), rng.uniform(0, 3, 4), np.array([0.5, 0.0, 0.9, 0.5])
    offsets, next_state = np.array([0, 1, 4]), np.array([1, 0, 1, 0])
    probability = np.array([1.0, 0.25, 0.25, 0.5])
    out, rows = np.zeros((2, K)), np.empty((4, K))
    add_expected_targets(out, cdf, offsets, next_state, rho, delta, probability, 1.0)
    target_rows(rows, cdf[next_state], rho, delta)
    np.testing.assert_allclose(out[0], rows[0], atol=1e-15)
    np.testing.assert_allclose(out[1], probability[1:] @ rows[1:], atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
def test_counted_like_naively(kind, name):
    K, steps = 17, np.full(400, step(name, 17))
    data = transitions(400, 5, K, one_hot=kind == "states", seed=4)
    _, _, clipped = run(kind, data, steps, K, name)
    zero = np.zeros((5, naive.rule_columns(K, name)))
    _, _, expected = naive.rule_updates(zero, *data, steps, K, name)
    assert (np.abs(expected) > 1e-3).all()  # below and above
    np.testing.assert_allclose(clipped, expected, rtol=0, atol=1e-10)


def test_nothing_is_counted_on_a_grid_that_holds_everything():
    data = transitions(400, 5, 30, mixed=False)
    _, _, clipped = run("dense", data, np.full(400, 0.3), 30, "ctd")
    assert not clipped.any()


@pytest.mark.parametrize("rounding", [-1e-12, 1e-12])
@pytest.mark.parametrize(("rho", "delta"), [(0.0, 0.5), (2.0, 0.5), (4.0, 0.0), (0.0, 0.0)])
def test_rounding_at_an_end_is_not_clipping(rho, delta, rounding):
    source = np.array([0.1, 0.3, 0.6, 0.8])
    assert mass_outside(source, 0, 1.0, rho + rounding, delta, 4) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("rho", "delta", "expected"),
    [
        (-1.0, 1.0, (0.1, 0.0)),  # the first of five atoms leaves
        (-1.5, 1.0, (0.3, 0.0)),
        (1.0, 1.0, (0.0, 0.2)),  # the last one
        (-5.0, 1.0, (1.0, 0.0)),  # all
        (5.0, 1.0, (0.0, 1.0)),
        (-1.0, 0.0, (1.0, 0.0)),  # the end of an episode
        (5.0, 0.0, (0.0, 1.0)),
    ],
)
def test_known_answers(rho, delta, expected):
    source = np.array([0.1, 0.3, 0.6, 0.8])
    np.testing.assert_allclose(mass_outside(source, 0, 1.0, rho, delta, 4), expected, atol=1e-15)
