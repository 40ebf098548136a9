"""Small cases of ``python -m tests.attack.cost``: counts of intervals, numbers and products."""

import numpy as np
import pytest

import lincat
from lincat import CategoricalLSTD
from tests.attack import cost


@pytest.mark.parametrize("gamma", [0.99, 1.0 - 1e-6])
def test_what_is_certain_asks_for_no_more_intervals_than_anything_else(gamma):
    state = np.random.default_rng(0).integers(0, 2, 4_000)
    model = CategoricalLSTD(gamma=gamma, n_features=2)
    model.fit(state[:-1], np.full(3_999, 7.7), state[1:])
    assert model.choice_.wanted <= model.grid_.intervals <= 1_000


def test_an_answer_that_is_exact_is_trusted():
    run = lincat.evaluate(cost.constant(1_000, 0), gamma=0.9)
    assert run.trusted
    np.testing.assert_allclose(run.returns.mean(), 77.0, rtol=1e-9)


def test_spread_that_is_small_beside_the_mean_is_no_rounding():
    rng = np.random.default_rng(0)
    state, noise = rng.integers(0, 2, 4_000), rng.normal(size=3_999)
    model = CategoricalLSTD(gamma=0.9, n_features=2)
    model.fit(state[:-1], 1.0 + 1e-5 * noise, state[1:])
    sd = np.sqrt(model.moments_.variance(np.eye(2)))
    np.testing.assert_allclose(sd, 1e-5 / np.sqrt(1.0 - 0.81), rtol=0.05)
