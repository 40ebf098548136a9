import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from tests import naive

CASES = [
    lincat.catalog.random_process(5, n_features=3, gamma=0.8, seed=1),
    lincat.catalog.boyan_chain(5),
]


@pytest.mark.parametrize("problem", CASES, ids=lambda p: p.name)
def test_asymptotic_error_equals_dense_matrices(problem):
    process, grid, gamma = problem.process, problem.grid(6), problem.gamma
    Phi = problem.Phi if isinstance(problem.Phi, np.ndarray) else problem.Phi.toarray()
    used = process.stationary @ Phi**2 > 0  # a terminal state is never left
    Phi = Phi[:, used]
    Theta = lincat.solve_categorical(process, Phi, grid, gamma)
    found = lincat.asymptotic_error(process, Phi, grid, gamma, Theta)
    for walk, value in ((False, found.independent), (True, found.walk)):
        expected = naive.asymptotic_error(process, Phi, grid, gamma, walk=walk)[0]
        assert value == pytest.approx(expected, rel=1e-9)


def test_a_coin_has_no_memory_and_a_closed_form():
    """One state: e = F − target; N ℓ2² → E‖B-resolvent e‖²; at K = 1 the mean is all there is."""
    coin = lincat.catalog.uniform_coin()
    grid = coin.grid(1)
    Theta = lincat.solve_categorical(coin.process, coin.Phi, grid, coin.gamma)
    found = lincat.asymptotic_error(coin.process, coin.Phi, grid, coin.gamma, Theta)
    # F_0 = 1 − mean/2; the mean's error is that of the average reward over 1 − gamma.
    variance_of_mean = 0.25 / (1 - coin.gamma) ** 2
    assert found.independent == pytest.approx(grid.spacing * variance_of_mean / 4.0)
    assert found.walk == pytest.approx(found.independent)
    assert lincat.mixing_time(coin.process) == 0.0


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_mixing_time_of_two_states_has_its_closed_form(a, b):
    process = lincat.MarkovRewardProcess.from_matrices([[1 - a, a], [b, 1 - b]], [0.0, 1.0])
    start, rate = max(a, b) / (a + b), abs(1 - a - b)
    expected = 0
    while start * rate**expected > 0.25 + 1e-12:
        expected += 1
    close = abs(start * rate ** max(expected - 1, 0) - 0.25) < 1e-9
    assert lincat.mixing_time(process) == expected or close


def test_a_period_never_mixes():
    ring = lincat.MarkovRewardProcess.from_matrices(np.roll(np.eye(3), 1, axis=1), np.zeros(3))
    assert lincat.mixing_time(ring) == math.inf


def test_too_many_unknowns_are_refused():
    problem = lincat.catalog.random_process(50)
    grid = problem.grid(200)
    with pytest.raises(lincat.InvalidInputError, match="fewer intervals"):
        lincat.asymptotic_error(problem.process, problem.Phi, grid, 0.9, np.zeros((50, 200)))
