import itertools

import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat.inference.settling import Settling
from tests import naive
from tests.learners import cases

PROBE = cases.features("dense")[:2]
K = cases.GRID.intervals


def watched(model, t, calls, probe=PROBE, moves=None):
    """Feed a stream in pieces that end at ``calls``, telling what watches after each."""
    moves = Settling(probe) if moves is None else moves
    done = 0
    for end in calls:
        moves.update(model.partial_fit(t[done:end]))
        done = end
    return moves


@pytest.fixture(scope="module")
def distributions():
    """CDFs of the two watched states after each of 2,500 updates, shape (2500, 2, K)."""
    data = cases.tuples(cases.stream("dense", 2500))
    iterates = naive.learner_iterates(
        np.zeros((4, K)), data, cases.GRID, "ctd", step_size=("constant", 0.3)
    )
    return np.array([lincat.cdf_from_theta(PROBE, Theta) for Theta in iterates])


@pytest.mark.parametrize(
    ("horizon", "averaging", "n", "step", "boundaries"),
    [
        # Every 50 updates; the window begins after 1,249.
        (2500, "tail", 2500, 50, range(1250, 2501, 50)),
        # Every 20: neighbours are merged after 1,280, and from there on 40 make a batch.
        (2500, "tail", 2500, 20, range(1280, 2481, 40)),
        # Unknown length: the window begins at 512.
        (None, "tail", 2000, 40, range(520, 2001, 40)),
        (None, "full", 1000, 100, range(0, 1001, 100)),
    ],
)
def test_means_are_those_of_the_batches(horizon, averaging, n, step, boundaries, distributions):
    model = cases.make("ctd", step_size=0.3, horizon=horizon, averaging=averaging)
    moves = watched(model, cases.stream("dense", 2500), range(step, n + 1, step))
    boundaries = list(boundaries)
    assert moves.n_batches == len(boundaries) - 1
    assert moves.state()["counts"].tolist()[-len(boundaries) :] == boundaries
    middle = distributions[boundaries[0] : boundaries[-1]].mean(axis=0)
    np.testing.assert_allclose(moves.mean(), middle, atol=1e-10)
    assert np.abs(moves.mean() - model.predict(PROBE).cdf_values).max() < 0.05
    parts = [distributions[a:b].mean(axis=0) for a, b in itertools.pairwise(boundaries)]
    off = np.array(parts) - np.mean(parts, axis=0)
    expected = (off[1:] * off[:-1]).sum() / (off**2).sum()
    assert moves.autocorrelation() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rule", ["ctd", "pmf", "unnormalised"])
def test_the_average_of_all_iterates_is_what_full_averaging_predicts(rule):
    t = cases.stream("dense", 1500)
    tail = cases.make(rule).partial_fit(t)
    full = cases.make(rule, averaging="full").partial_fit(t)
    distribution, left_out = tail.predict_overall(PROBE)
    np.testing.assert_allclose(distribution.cdf_values, full.predict(PROBE).cdf_values, atol=1e-12)
    assert left_out == 512
    assert full.predict_overall(PROBE)[1] == 0
    assert tail.predict_overall(PROBE[:1])[0].cdf_values.shape == (1, K)


def test_probes_of_all_kinds_say_the_same():
    t = cases.stream("sparse", 1000)
    dense = cases.features("sparse")[:3]
    errors = []
    for probe in (dense, scipy.sparse.csr_array(dense)):
        model = cases.make("ctd")
        errors.append(watched(model, t, range(20, 1001, 20), probe).mean())
    np.testing.assert_allclose(errors[0], errors[1], atol=1e-14)
    model = cases.make("ctd", n_features=cases.STATES)
    moves = watched(model, cases.stream("states", 1000), range(20, 1001, 20), np.array([0, 2]))
    assert moves.mean().shape == (2, K)


def test_memory_is_bounded_and_batches_enough():
    t, model, moves = cases.stream("dense", 9000), cases.make("ctd"), Settling(PROBE)
    for begin in range(0, 9000, 3):
        moves.update(model.partial_fit(t[begin : begin + 3]))
        assert len(moves.state()["counts"]) <= 65
        if begin > 300:
            assert moves.n_batches >= 16
    assert moves.update(model).state()["counts"].shape == moves.state()["counts"].shape


def test_going_on_from_a_saved_state_changes_nothing():
    t, calls = cases.stream("dense", 2000), range(10, 2001, 10)
    whole = watched(cases.make("ctd"), t, calls)
    model, moves = cases.make("ctd"), Settling(PROBE)
    for begin in range(0, 2000, 10):
        moves.update(model.partial_fit(t[begin : begin + 10]))
        moves = Settling.from_state(PROBE, moves.state())
    np.testing.assert_array_equal(moves.mean(), whole.mean())
    state = moves.state()
    assert {type(value) for value in state.values()} == {np.ndarray, int}
    state["sums"][:] = 0.0  # a copy
    np.testing.assert_array_equal(moves.mean(), whole.mean())


def test_a_warm_up_is_left_alone():
    t = cases.stream("dense", 1200)
    model = cases.make("ctd", grid="auto")
    moves = watched(model, t, range(100, 1201, 100))
    # The grid was chosen from the first 1,000 transitions, not from the first 100.
    assert moves.state()["counts"].tolist() == [0, 1000, 1100, 1200]
    assert model.grid_ == cases.make("ctd", grid="auto").fit(t).grid_


def test_a_run_that_was_too_short_is_told_by_its_autocorrelation():
    slow = lincat.catalog.random_process(20, n_features=5, branching=3, gamma=0.9, seed=3)
    found = []
    for problem, step_size in ((lincat.catalog.paper(), 0.1), (slow, "auto")):
        drawn = problem.process.sample(20_000, seed=0, kind="generative")
        Phi = np.asarray(problem.Phi)
        t = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
        grid = problem.grid(30)
        model = lincat.LinearCTD(grid=grid, gamma=problem.gamma, step_size=step_size)
        found.append(watched(model, t, range(100, 20_001, 100), Phi[:3]).autocorrelation())
    assert found[0] < 0.5 < found[1]


def test_ahead_is_where_a_fading_drift_ends():
    counts = np.arange(0, 97) * 100
    end, rate = np.array([[0.3, 0.7]]), 0.997
    path = end + rate ** np.arange(1, 9601)[:, None, None] * np.array([[0.5, -0.5]])
    sums = np.concatenate([np.zeros((1, 1, 2)), np.cumsum(path, axis=0)])[counts]
    state = {"counts": counts, "sums": sums, "length": 1, "begin": 0}
    moves = Settling.from_state(np.ones((1, 1)), state)
    np.testing.assert_allclose(moves.mean() + moves.ahead(), end, atol=2e-4)
    assert np.abs(moves.ahead()).max() > 0.01


def test_what_never_moves_has_settled():
    grid = lincat.Grid(0.0, 1.0, intervals=2)
    model = lincat.LinearCTD(grid=grid, gamma=0.5, step_size=0.5, averaging="full")
    phi = np.zeros((400, 1))
    moves = watched(model, lincat.Transitions(phi, np.zeros(400), phi), range(20, 401, 20), [[1.0]])
    assert moves.autocorrelation() == 0.0
    np.testing.assert_allclose(moves.ahead(), 0.0, atol=1e-15)


def test_mistakes_are_named():
    t = cases.stream("dense", 700)
    moves = Settling(PROBE)
    with pytest.raises(lincat.InvalidInputError, match="at least 8 batches in the window, got 0"):
        moves.mean()
    for rule in ("td", "softmax"):
        with pytest.raises(lincat.InvalidInputError, match="learner: expected"):
            moves.update(cases.make(rule).fit(t))
    with pytest.raises(lincat.InvalidInputError, match="averaging: expected 'tail' or 'full'"):
        moves.update(cases.make("ctd", averaging="none").fit(t))
    moves = watched(cases.make("ctd"), t, range(10, 701, 10))
    with pytest.raises(lincat.InvalidInputError, match="at least 700 updates, as before, got 10"):
        moves.update(cases.make("ctd").fit(t[:10]))
    state = moves.state()
    for broken, message in (
        ({"length": 0}, "length: expected an integer"),
        ({"counts": state["counts"][1:]}, "counts: expected numbers that increase"),
        ({"sums": state["sums"][:, :1]}, "sums: expected an array of shape"),
    ):
        with pytest.raises(lincat.InvalidInputError, match=message):
            Settling.from_state(PROBE, {**state, **broken})
    with pytest.raises(lincat.InvalidInputError, match="state: expected what Settling"):
        Settling.from_state(PROBE, {})


def test_ahead_is_told_by_the_means_of_three_parts():
    rng = np.random.default_rng(0)
    batches = np.sort(rng.uniform(size=(12, 2, 3)), axis=2) + np.linspace(0, 1, 12)[:, None, None]
    counts = 5 * np.arange(13)
    sums = np.concatenate([np.zeros((1, 2, 3)), np.cumsum(5.0 * batches, axis=0)])
    state = {"counts": counts, "sums": sums, "length": 5, "begin": 0}
    moves = Settling.from_state(np.eye(2), state)
    first, second, third = (batches[a : a + 4].mean(axis=0) for a in (0, 4, 8))
    ratio = min(np.linalg.norm(third - second) / np.linalg.norm(second - first), 0.9)
    end = third + (third - second) * ratio / (1.0 - ratio)
    np.testing.assert_allclose(moves.mean() + moves.ahead(), end, rtol=1e-12)
    np.testing.assert_allclose(moves.mean(), batches.mean(axis=0), rtol=1e-12)
