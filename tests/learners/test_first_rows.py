"""What the first rows tell automatic steps: walks are recognised, slow directions found."""

import numpy as np
import pytest

import lincat
from lincat.learners.first_rows import ROWS, FirstRows

GRID = lincat.Grid(0.0, 10.0, 5)


def drawn(kind, seed=0, d=4, n=ROWS):
    """Rows of a process with random dense features, one of which is short."""
    process = lincat.catalog.random_process(30, branching=4, seed=seed).process
    rng = np.random.default_rng(seed)
    Phi = np.concatenate([np.ones((30, 1)), rng.normal(size=(30, d - 1))], axis=1)
    Phi[:, -1] *= 0.05
    if kind == "turns":  # of five walks
        walks = [process.sample(n // 5 + 1, seed=10 * seed + i, kind="markov") for i in range(5)]
        columns = zip(*walks, strict=True)
        state, reward, after, _ = (np.stack(x, axis=1).ravel()[:n] for x in columns)
    else:
        state, reward, after, _ = process.sample(n, seed=seed, kind=kind)
    if kind == "markov" and seed == 1:  # written backwards
        state, reward, after = state[::-1], reward[::-1], after[::-1]
    return lincat.Transitions(Phi[state], reward, Phi[after])


def judged(data, gamma=0.9):
    first = FirstRows.none_yet(data.phi.shape[1])
    first.see(data, gamma)
    return first.slowest()


@pytest.mark.parametrize("seed", range(3))
def test_independent_rows_and_walks_are_told_apart(seed):
    for kind in ("markov", "turns"):
        assert judged(drawn(kind, seed)) == 0.0
    data = drawn("generative", seed)
    smallest = min(np.linalg.eigvals(data.phi.T @ data.phi / ROWS).real)
    assert judged(data) == pytest.approx(0.1 * smallest, rel=1e-9)


def test_features_that_are_noisy_or_say_nothing_are_no_reason_to_wait():
    walk = drawn("markov")
    rng = np.random.default_rng(0)
    noisy = [x + 0.2 * rng.normal(size=x.shape) for x in (walk.phi, walk.phi_next)]
    assert judged(lincat.Transitions(noisy[0], walk.reward, noisy[1])) == 0.0
    assert judged(lincat.Transitions(np.ones((ROWS, 2)), walk.reward, np.ones((ROWS, 2)))) == 0.0


def test_directions_that_never_occur_do_not_count():
    data = drawn("generative")
    twice = [np.concatenate([x, x[:, :1]], axis=1) for x in (data.phi, data.phi_next)]
    found = judged(lincat.Transitions(twice[0], data.reward, twice[1]))
    assert 0.5 * judged(data) < found < 2.0 * judged(data)


def test_steps_stay_large_for_longer_where_rows_are_independent():
    for kind, longer in (("generative", True), ("markov", False)):
        model = lincat.LinearCTD(grid=GRID, gamma=0.9).partial_fit(drawn(kind, n=3000))
        assert (model._seen_.slowest > 0.0) == longer
        assert model._first_ is None


@pytest.mark.parametrize("cut", [300, 1023, 1024, 2000])
@pytest.mark.parametrize("batch", [1, 7])
def test_cuts_and_files_change_no_bit(tmp_path, cut, batch):
    data = drawn("generative", n=2500)
    cut -= cut % batch
    whole = lincat.LinearCTD(grid=GRID, gamma=0.9).partial_fit(data, batch_size=batch)
    half = lincat.LinearCTD(grid=GRID, gamma=0.9).partial_fit(data[:cut], batch_size=batch)
    half.save(tmp_path / "half")
    for model in (half, lincat.load(tmp_path / "half")):
        model.partial_fit(data[cut:], batch_size=batch)
        np.testing.assert_array_equal(model.Theta_mean_, whole.Theta_mean_)


def test_features_that_are_all_the_same_say_nothing_whatever_their_sign():
    n = np.full((ROWS, 2), -1.0)
    assert judged(lincat.Transitions(n, np.zeros(ROWS), n)) == 0.0
