from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.solvers.influence import CAUTIONS, Ensemble, cosines, influence, thin_share
from tests import naive


def walk(problem, n, seed=0):
    """Features and rewards along a walk of a problem."""
    seen = problem.process.sample(n, seed=seed)
    Phi = np.asarray(problem.Phi)
    return Phi[seen.state], seen.reward, Phi[seen.next_state]


def fitted(problem, n, *, intervals=6, seed=0, **options):
    grid = problem.grid(intervals)
    model = lincat.CategoricalLSTD(gamma=problem.gamma, grid=grid, **options)
    return model.fit(*walk(problem, n, seed))


def covariance(Psi):
    flat = Psi.transpose(0, 2, 1).reshape(len(Psi), -1)  # k outside, as in the dense system
    return flat.T @ flat / len(Psi)


@pytest.mark.parametrize("n", [320, 1600])
def test_equals_the_explicit_sandwich(n):
    problem = lincat.catalog.paper()
    model = fitted(problem, n, max_blocks=32)
    counts = model.statistics_.block_counts
    assert (counts == counts[0]).all()
    phi, reward, phi_next = walk(problem, n)
    discount, ones = np.full(n, problem.gamma), np.ones(n)
    Psi = model.ensemble_.Psi
    expected = naive.influence_covariance(
        phi, reward, phi_next, discount, ones, model.grid_, np.cumsum(counts).tolist(), len(Psi)
    )
    np.testing.assert_allclose(covariance(Psi), expected, atol=1e-5 * expected.max())


def test_tables_of_states_give_what_dense_features_give():
    problem = lincat.catalog.random_process(70, gamma=0.9, seed=1)
    seen = problem.process.sample(30_000, seed=3)
    grid, eye = problem.grid(10), np.eye(70)
    dense = lincat.CategoricalLSTD(gamma=0.9, grid=grid)
    dense.fit(eye[seen.state], seen.reward, eye[seen.next_state])
    table = lincat.CategoricalLSTD(gamma=0.9, grid=grid, n_features=70)
    table.fit(seen.state, seen.reward, seen.next_state)
    assert not isinstance(table.statistics_.totals().Sigma, np.ndarray)
    assert (dense.statistics_.block_counts == table.statistics_.block_counts).all()
    expected = dense.ensemble_.Psi
    np.testing.assert_allclose(table.ensemble_.Psi, expected, atol=1e-5 * np.abs(expected).max())


def test_scores_of_all_parts_cancel():
    model = fitted(lincat.catalog.paper(), 1000)
    parts = [model.statistics_.block_totals(i) for i in range(model.statistics_.n_blocks)]
    scores = np.array(list(model.solution_.scores(parts)))
    assert np.abs(scores.sum(axis=0)).max() < 1e-9 * np.abs(scores).sum(axis=0).max()


@pytest.mark.parametrize("weights", [np.ones(9), np.arange(1.0, 12.0), [3.0, 0.0, 2.0, 5.0, 1.0]])
def test_cosines_are_orthonormal_for_blocks_of_any_size(weights):
    weights = np.asarray(weights)
    w = cosines(weights, len(weights) // 2)
    share = weights / weights.sum()
    np.testing.assert_allclose((w * share) @ w.T, np.eye(len(w)), atol=1e-12)
    np.testing.assert_allclose(w @ share, 0.0, atol=1e-12)
    assert (w[:, 0] > 0.0).all()


def test_cosines_of_equal_blocks_are_cosines():
    j, t = np.arange(1, 5)[:, None], (np.arange(16) + 0.5) / 16
    np.testing.assert_allclose(cosines(np.ones(16), 4), np.sqrt(2) * np.cos(np.pi * j * t))


@pytest.mark.parametrize(("n", "nu"), [(12, 6), (5_000, 8), (40_000, 20), (2**17, 24), (2**19, 32)])
def test_the_size_of_the_ensemble_follows_that_of_the_data(n, nu):
    model = fitted(lincat.catalog.paper(), n, intervals=3, seed=4)
    ensemble = model.ensemble_
    assert ensemble.degrees_of_freedom == nu
    assert ensemble.cautions == (("short",) if n < 1000 else ())


def rewards_of_one_state(reward):
    model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0.0, 2.0, 4), n_features=1)
    state = np.zeros(len(reward), int)
    return model.fit(state, reward, state)


def test_slow_regimes_leave_four_degrees_of_freedom_and_a_caution():
    rng = np.random.default_rng(0)
    regime = np.repeat(rng.integers(0, 2, 12), 2500)  # three blocks long, or so
    ensemble = rewards_of_one_state(rng.random(30_000) < 0.2 + 0.6 * regime).ensemble_
    assert ensemble.correlation > 0.3
    assert ensemble.degrees_of_freedom == 4
    assert "dependent" in ensemble.cautions


def test_drift_is_named():
    rng = np.random.default_rng(0)
    ensemble = rewards_of_one_state(rng.random(30_000) < np.linspace(0.4, 0.6, 30_000)).ensemble_
    assert "drift" in ensemble.cautions
    assert set(ensemble.cautions) <= set(CAUTIONS)


def walked(places, rows=20_000, seed=0):
    """A slow walk over a ring of places, and one that jumps anywhere."""
    rng = np.random.default_rng(seed)
    slow = np.cumsum(rng.integers(-1, 2, rows + 1)) % places
    return slow, rng.integers(0, places, rows + 1), rng.random(rows)


@pytest.mark.parametrize("places", [9, 90])  # summed densely, and sparsely
def test_places_that_are_seen_in_a_few_stretches_are_told_of(places):
    slow, jumps, reward = walked(places)
    for path, thin in ((slow, places == 90), (jumps, False)):
        model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0.0, 2.0, 8), n_features=places)
        model.fit(path[:-1], reward, path[1:])
        assert ("thin" in model.ensemble_.cautions) == thin


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 99))
def test_the_share_in_few_stretches_is_its_definition(blocks, d, seed):
    rng = np.random.default_rng(seed)
    visits = rng.exponential(size=(blocks, d)) * (rng.random((blocks, d)) < 0.3)
    thin, everything = 0.0, 0.0
    for j in range(d):
        total = sum(visits[:, j])
        everything += total
        if total and total**2 / sum(visits[:, j] ** 2) < min(8, blocks / 3):
            thin += total
    assert thin_share(visits) == pytest.approx(thin / everything if everything else 0.0)


def test_a_ridge_does_not_enter_the_errors():
    problem = lincat.catalog.paper()
    plain, drawn = (fitted(problem, 4000, ridge=r).ensemble_.Psi for r in (0.0, 1e-9))
    np.testing.assert_allclose(drawn, plain, atol=1e-5 * np.abs(plain).max())


def test_too_few_blocks_are_refused():
    model = fitted(lincat.catalog.paper(), 1000, max_blocks=2)
    with pytest.raises(lincat.InvalidInputError, match=r"at least 4 blocks .* max_blocks="):
        influence(model.statistics_, model.solution_)


def test_intervals_of_the_mean_are_those_of_a_sample_of_independent_rewards():
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(20):
        model = rewards_of_one_state(rng.random(20_000) < 0.5)
        low, high = model.predict([0], confidence=0.95).interval("mean")
        widths.append(high[0] - low[0])
    # The mean of the return is that of the rewards over 1 − gamma.
    assert np.mean(widths) == pytest.approx(2 * 1.96 * 1.065 * 2 * 0.5 / np.sqrt(20_000), rel=0.15)


CERTAIN, NODES = 0.633, np.linspace(-0.02, 1.02, 53)


def certain_among_noise(n):
    """A state whose reward is always the same, between nodes, and one with any; both end."""
    rng = np.random.default_rng(2)
    state = np.arange(n) % 2
    reward = np.where(state == 1, CERTAIN, rng.random(n))
    return lincat.Transitions(state, reward, state, terminated=np.ones(n, bool))


def on_nodes(intervals):
    grid = lincat.Grid(0.0, 1.0, intervals)
    return lincat.CategoricalLSTD(gamma=0.9, grid=grid, n_features=2, nodes=NODES)


def test_intervals_hold_what_nodes_move():
    """One atom becomes three, though nothing is uncertain about it."""
    data, model = certain_among_noise(4_000), on_nodes(400)
    dist = model.fit(data).predict([1], confidence=0.95)
    alone = replace(dist.uncertainty, moved=None)
    blind = lincat.ReturnDistribution(dist.cdf_values, dist.grid, alone)
    masses = lincat.project([CERTAIN], [1.0], dist.grid)
    truth = lincat.ReturnDistribution(np.cumsum(masses)[None, :-1], dist.grid)
    for ends, missed, value in (
        (dist.interval("cvar", 0.05), blind.interval("cvar", 0.05), truth.cvar(0.05)),
        (dist.band(), blind.band(), truth.cdf_values),
    ):
        held, held_blind = (
            (low <= value + 1e-9) & (value <= high + 1e-9) for low, high in (ends, missed)
        )
        assert held.all()
        assert not held_blind.all()
    exact = model.refine(data).predict([1], confidence=0.95)
    np.testing.assert_allclose(exact.cdf_values, truth.cdf_values, atol=1e-9)
    assert exact.uncertainty.moved is None


def test_what_nodes_move_comes_back_from_files(tmp_path):
    data, model = certain_among_noise(2_000), on_nodes(20)
    moved = model.fit(data).ensemble_.moved
    for refined in (False, True):
        if refined:
            model.refine(data)
        model.save(tmp_path / "model")
        known = lincat.load(tmp_path / "model").predict([1], confidence=0.95).uncertainty
        if refined:
            assert known.moved is None
        else:
            np.testing.assert_array_equal(known.moved, moved[[1]])


@given(st.integers(0, 10**6), st.booleans())
def test_coarser_sums_keep_means_and_squares(seed, sparse):
    rng = np.random.default_rng(seed)
    state, d = rng.integers(0, 70, 400), 70 if sparse else 2
    data = lincat.Transitions(
        state % d, rng.standard_cauchy(400), state[::-1] % d, terminated=rng.random(400) < 0.2
    )
    fine = lincat.Statistics(d, nodes=20).update(data).totals()
    coarse = fine.coarser()
    for power in range(3):
        for one in (fine.power > 0, fine.power == 0):
            left, right = ((x.reward[one] ** power) @ x.phi_sum[one] for x in (fine, coarse))
            np.testing.assert_allclose(right, left, rtol=1e-9, atol=1e-9 * np.abs(left).max())
    assert (coarse.phi_sum != 0.0).any(axis=1).sum() < 0.7 * (fine.phi_sum != 0.0).any(axis=1).sum()
    assert coarse.cross.shape == fine.cross.shape


def test_a_reward_that_comes_often_is_a_node_of_fewer_too():
    """Nothing, but now and then a payment of any size: nodes are about payments, not about 0."""
    rng, n = np.random.default_rng(0), 20_000
    reward = np.where(rng.random(n) < 0.02, 1000.0 * rng.random(n) ** 2, 0.0)
    state = np.zeros(n, dtype=np.int64)
    model = lincat.CategoricalLSTD(gamma=0.9, n_features=1, nodes=24)
    model.fit(state, reward, state, terminated=rng.random(n) < 0.1)
    totals = model.statistics_.totals()
    nothing = (totals.reward == 0.0) & (np.abs(totals.phi_sum[:, 0]) > 0.4 * n * totals.power)
    assert nothing.any()
    kept = totals.coarser().phi_sum[nothing, 0] / totals.phi_sum[nothing, 0]
    np.testing.assert_allclose(kept, 1.0, atol=0.01)
    # Most returns are nothing, or nearly: how nodes split payments says little of them.
    low, high = model.predict([0], confidence=0.95).interval("cvar", 0.05)
    assert high[0] - low[0] < 0.1 * model.predict([0]).std()[0]


def test_errors_without_a_direction_are_refused():
    with pytest.raises(lincat.InvalidInputError, match="at least one direction"):
        Ensemble(np.zeros((0, 2, 3)))
