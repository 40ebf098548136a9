"""Mass that leaves the grid, counted while learning."""

import numpy as np
import pytest

from lincat.kernels.clipped import mass_outside
from tests import naive
from tests.kernels.samples import KINDS, RULES, run, step, transitions


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
