"""What is advised after a divergence is another setting."""

import numpy as np
import pytest

import lincat


def test_the_advice_is_a_smaller_step():
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(500, 4))
    transitions = lincat.Transitions(phi, rng.normal(size=500), np.roll(phi, -1, axis=0))
    grid = lincat.Grid(-40.0, 40.0, intervals=20)
    model = lincat.LinearCTD(grid=grid, gamma=0.9, step_size=3.0)
    with pytest.raises(lincat.DivergenceError) as caught:
        model.partial_fit(transitions)
    assert caught.value.safe_step <= caught.value.step_size / 4.0


def test_automatic_steps_are_not_advised_to_be_automatic():
    assert "or step_size='auto'" in str(lincat.DivergenceError(5, 1.0, 1.0, 0.25))
    assert "'auto'" not in str(lincat.DivergenceError(5, 1.0, 1.0, 0.25, auto=True))
