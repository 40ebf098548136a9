"""Rows that are added while a table is learned from are as if they had always been there."""

import numpy as np
import pytest

import lincat
from lincat.learners.more_rows import add_rows

GRID = lincat.Grid(0.0, 4.0, 12)


def walk(low, high, n, seed):
    rng = np.random.default_rng(seed)
    state = rng.integers(low, high, n + 1)
    return state[:-1], rng.uniform(0.0, 1.0, n), state[1:]


@pytest.mark.parametrize("averaging", ["tail", "full", "none"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("start", [False, True])
def test_nothing_tells_when_rows_came(averaging, dtype, start):
    grown, whole = (
        lincat.LinearCTD(
            grid=GRID, gamma=0.75, step_size=0.2, averaging=averaging, dtype=dtype, n_features=d
        )
        for d in (5, 30)
    )
    if start:
        row = np.linspace(-0.1, 0.1, 12)
        for model in (grown, whole):
            model.start_at(GRID, np.tile(row, (model.n_features, 1)))
    for model in (grown, whole):
        model.partial_fit(*walk(0, 4, 3000, seed=0))  # the last row is not touched
    add_rows(grown, 30)
    for model in (grown, whole):
        model.partial_fit(*walk(0, 29, 3000, seed=1))
    np.testing.assert_array_equal(grown.Theta_, whole.Theta_)
    np.testing.assert_array_equal(grown.Theta_mean_, whole.Theta_mean_)
    assert grown.n_seen_ == whole.n_seen_


def test_rows_are_added_before_anything_is_learned_and_never_taken_away(tmp_path):
    model = lincat.LinearCTD(grid=GRID, gamma=0.75, n_features=2)
    model.start_at(GRID, np.zeros((2, 12)))
    add_rows(model, 5)
    model.partial_fit([4, 0], [1.0, 0.0], [0, 4])
    model.save(tmp_path / "model")
    assert len(lincat.load(tmp_path / "model").Theta_) == 5
    with pytest.raises(lincat.InvalidInputError, match="at least the 5 that there are, got 3"):
        add_rows(model, 3)


def test_sums_beside_a_stream_are_dropped_with_their_intervals(tmp_path):
    model = lincat.LinearCTD(grid=GRID, gamma=0.75, n_features=2, statistics=True)
    model.partial_fit([0, 0], [1.0, 0.0], [0, 0])
    assert model.statistics_ is not None
    add_rows(model, 3)
    assert (model.statistics, model.statistics_) == (False, None)
    model.partial_fit([2], [1.0], [0]).save(tmp_path / "model")
    assert lincat.load(tmp_path / "model").statistics_ is None
