"""A log of texts and numbers, some missing, evaluated as it is, against simulated truth."""

import csv

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import lincat
from lincat.data.mixed import mixed_of

SITES = np.array(["north", "south", "east"], dtype=object)
MOVES = np.array([[0.6, 0.2, 0.2], [0.3, 0.4, 0.3], [0.2, 0.4, 0.4]])
GAMMA = 0.6


def step(rng, site, queue, load):
    """Machines at sites: reward and next state of n at once."""
    n = len(site)
    reward = np.array([0.0, 1.0, -1.0])[site] - 0.2 * queue + np.array([0.5, 1.0, 0.2])[site] * load
    site = (rng.random(n)[:, None] > MOVES[site].cumsum(axis=1)).sum(axis=1)
    queue = np.clip(queue + rng.integers(-4, 5, n), 0, 10)
    return reward + 0.5 * rng.normal(size=n), site, queue, 0.6 * load + 0.5 * rng.normal(size=n)


def write_log(path, rows, seed=0):
    rng, state = np.random.default_rng(seed), (np.array([0]), np.array([3]), np.array([0.0]))
    lost = np.random.default_rng(seed + 1).random((rows, 2)) < (0.02, 0.03)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", "queue", "load", "reward"])
        for t in range(rows):
            reward, *following = step(rng, *state)
            site, queue, load = (x[0] for x in state)
            cells = ["" if lost[t, 0] else SITES[site], queue, "" if lost[t, 1] else f"{load:.4f}"]
            writer.writerow([*cells, f"{reward[0]:.4f}"])
            state = tuple(following)
    return path


def returns(site, queue, load, n=4000):
    rng = np.random.default_rng(5)
    state, total = (np.full(n, site), np.full(n, queue), np.full(n, load)), np.zeros(n)
    for t in range(20):
        reward, *state = step(rng, *state)
        total += GAMMA**t * reward
    return total


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    log = write_log(folder / "log.csv", 20_000)
    return lincat.evaluate(log, gamma=GAMMA, out=folder / "run")


def test_distributions_are_within_a_tenth_of_a_deviation_of_the_truth(run):
    states = [(0, 2, 0.2), (1, 2, 0.0), (2, 8, -0.7), (1, 8, 0.3), (0, 5, 0.8), (2, 3, 0.6)]
    site, queue, load = (np.array(x) for x in zip(*states, strict=True))
    found = run.predict(mixed_of({"site": SITES[site], "queue": queue, "load": load})).proper()
    for i, state in enumerate(states):
        truth = returns(*state)
        w1 = wasserstein_distance(truth, found.grid.atoms, None, np.maximum(found.pmf[i], 0.0))
        assert w1 < 0.1 * truth.std(), state
    assert run.trusted


def test_the_run_says_what_was_done(run):
    notes = " ".join(run.answer.notes)
    assert "Columns: observed site, queue, load" in notes
    assert "Missing: site in" in notes
    assert "Texts one-hot: site, 4 values" in notes
    assert "Where load is missing, an indicator and the mean" in notes
    assert any("north" in name for name in run.names)
    again = lincat.read_run(run.path)
    np.testing.assert_array_equal(
        again.model.predict_shown(again.shown).proper().cdf_values, run.returns.cdf_values
    )
