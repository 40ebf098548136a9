"""Learning without discounting, from episodes that end."""

import numpy as np
import pytest

import lincat


def walk(n=60_000):
    drawn = lincat.catalog.boyan_chain(gamma=1.0).process.sample(n, seed=3)
    return lincat.Transitions(drawn.state, drawn.reward, drawn.next_state, drawn.terminated)


def test_linear_td_learns_boyans_values():
    model = lincat.LinearTD(gamma=1.0, n_features=13).fit(walk())
    np.testing.assert_allclose(model.predict(np.arange(1, 13)), -2.0 * np.arange(1, 13), atol=0.5)


@pytest.mark.filterwarnings("ignore::lincat.GridMisfitWarning")  # the uniform start leaves any grid
def test_linear_ctd_learns_the_distribution_on_a_grid_from_its_episodes():
    model = lincat.LinearCTD(gamma=1.0, grid="auto", intervals=40, n_features=13)
    found = model.fit(walk()).predict(np.arange(1, 13))
    assert -45.0 < model.grid_.low < -24.0
    assert -2.0 < model.grid_.high < 5.0
    np.testing.assert_allclose(found.mean(), -2.0 * np.arange(1, 13), atol=0.6)


def test_a_grid_is_asked_for_where_no_episode_ends():
    phi = np.ones((50, 1))
    model = lincat.LinearCTD(gamma=1.0, grid="auto")
    words = (
        "grid: expected a lincat.Grid, as a discount of 1 sets no bounds, got 'auto' with no end"
    )
    with pytest.raises(lincat.InvalidInputError, match=words):
        model.fit(phi, np.ones(50), phi)
