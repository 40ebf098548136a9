"""Where learning step by step begins."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps
from lincat.runs.warm_start import warm_start
from tests.runs.logs import walk

LOG = walk(3001)
NO = np.zeros(3000, dtype=bool)
POINTS = Steps(LOG["x"][:-1], LOG["reward"][:-1], LOG["x"][1:], NO, LOG["step"][:-1] == 49)
CELLS = np.round(4.0 * LOG["x"][:, 0]).astype(int)
NAMES = np.array([f"place {cell}" for cell in CELLS], dtype=object)
PLACES = Steps(NAMES[:-1], POINTS.reward, NAMES[1:], NO, POINTS.truncated)


def begun(features, steps, **options):
    start = warm_start(features, steps, 0.8, **options)
    d = features.n_features_
    model = lincat.LinearCTD(grid="auto", gamma=0.8, n_features=d, step_size=1e-15)
    model.start_at(start.grid, start.Theta)
    phi, phi_next = steps[:10].both(features.transform)
    return start, model.partial_fit(phi, steps.reward[:10], phi_next)  # nothing is learned yet


def batch(features, steps, grid):
    model = lincat.CategoricalLSTD(gamma=0.8, grid=grid, n_features=features.n_features_)
    phi, phi_next = steps.both(features.transform)
    return model.fit(phi, steps.reward, phi_next)


@pytest.mark.parametrize(
    ("features", "steps", "word", "off"),
    [
        (lincat.Tiles(tilings=2, bins=4), POINTS, "with the same features", 0.05),
        (lincat.Tiles(tilings=8, bins=6), POINTS, "smooth features", 0.25),
        (lincat.Tabular(), PLACES, "with the same features", 0.1),
    ],
)
def test_the_first_distributions_are_about_the_batch_solution(features, steps, word, off):
    features = features.fit(steps.observation)
    start, model = begun(features, steps, intervals=60)
    assert word in start.reason
    assert "the first 3,000 transitions" in start.reason
    shown = features.lookup(steps.observation[::100])
    found, expected = model.predict(shown), batch(features, steps, start.grid).predict(shown)
    scale = expected.proper().std().mean()
    assert lincat.wasserstein(found, expected).mean() / scale < off
    # Far from it, what is not among these states is like all of them together.
    assert abs(found.mean().mean() - expected.mean().mean()) / scale < 0.1


def test_a_large_table_begins_with_the_distribution_of_all_states(monkeypatch):
    monkeypatch.setattr("lincat.runs.warm_start._FEW", 3)
    features = lincat.Tabular(capacity=100).fit(PLACES.observation)
    start, model = begun(features, PLACES, intervals=40)
    assert "all states together" in start.reason
    found = model.predict(np.arange(100)).cdf_values  # rows that no id has yet among them
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), atol=1e-12)


def test_what_is_given_is_kept():
    features = lincat.Tiles(tilings=2, bins=4).fit(POINTS.observation)
    grid = lincat.Grid(-7.0, 7.0, 30)
    assert warm_start(features, POINTS, 0.8, grid=grid).grid == grid
    assert warm_start(features, POINTS, 0.8, intervals=33).grid.intervals == 33
    assert 50 <= warm_start(features, POINTS, 0.8).grid.intervals <= 400


def test_without_a_solution_there_is_no_start(monkeypatch):
    def refuse(*_):
        raise lincat.InvalidInputError("no single solution")

    monkeypatch.setattr("lincat.runs.warm_start.CategoricalLSTD.predict", refuse)
    features = lincat.Tabular().fit(PLACES.observation)
    assert warm_start(features, PLACES, 0.8, intervals=10) is None
