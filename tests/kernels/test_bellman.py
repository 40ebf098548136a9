"""Where rewards land on the grid, and targets of many rows; more is in tests/core."""

from fractions import Fraction

import numpy as np
import pytest

from lincat.kernels.bellman import add_expected_targets, reward_shift, reward_shifts, target_rows
from tests import naive


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


def test_rows_equal_naive_in_grid_units():
    rng, K = np.random.default_rng(1), 9
    cdf = rng.normal(size=(50, K))
    delta = rng.choice([0.0, 0.3, 0.9, 1.0], size=50)
    rho = rng.uniform(-K - 1, K + 1, size=50)
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
