import numpy as np
import pytest

import lincat

ONE = lincat.MarkovRewardProcess([0], [3.0], [0], [1.0])


def test_a_certain_return_gets_a_grid_around_it():
    grid = lincat.Problem("certain", ONE, gamma=0.5).grid(4)
    assert (grid.low, grid.high) == (3.0, 9.0)
    dist = lincat.true_returns(ONE, 0.5, grid)
    np.testing.assert_allclose(dist.mean(), 6.0)


def test_features_default_to_a_table():
    problem = lincat.catalog.uniform_coin()
    assert problem.is_tabular
    np.testing.assert_array_equal(problem.Phi.toarray(), [[1.0]])
    assert problem.state_names == ("0",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 1.0}, r"gamma: expected below 1, or a process whose episodes end"),
        ({"Phi": [[1.0], [1.0]]}, r"features: expected an array of shape \(1, any\)"),
        ({"state_names": ["a", "b"]}, "states: expected 1 names"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Problem("bad", ONE, **{"gamma": 0.5, **options})
