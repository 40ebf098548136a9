"""Reward nodes: what the split keeps, how nodes grow, and what it does to a discounted sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.statistics.reward_nodes import grown, most_exact, spaced_nodes, three_way
from tests import naive


def rewards_of(name, n, seed):
    """Rewards with a finite variance; the names say which."""
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=n), rng.random(n)
    return {
        "uniform": u,
        "normal": z,
        "lognormal": np.exp(1.25 * z),
        "zero-inflated": np.where(u < 0.9, 0.0, rng.exponential(size=n)),
        "rare loss": np.where(u < 0.002, -50.0, 1.0 + 0.1 * z),
        "bimodal": np.where(u < 0.5, -1.0, 1.0) + 0.05 * z,
        "student": rng.standard_t(4, n),
        "payoffs": np.select([u < 0.04, u < 0.08], [100.0, -50.0], 0.0) - rng.gamma(2.0, 0.5, n),
    }[name]


NAMES = (
    *("uniform", "normal", "lognormal", "zero-inflated", "rare loss", "bimodal", "student"),
    "payoffs",
)
finite = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6))


@given(st.lists(finite, min_size=65, max_size=120, unique=True), st.integers(5, 70))
def test_mass_mean_and_square_are_kept(values, n):
    rewards = np.array(values)
    nodes = grown(spaced_nodes(rewards, np.ones(len(rewards)), n), rewards.min(), rewards.max())
    assert (np.diff(nodes) > 0).all()
    first, weight = three_way(nodes, rewards)
    at = nodes[first[:, None] + np.arange(3)]
    # Relative to the nodes that a reward is split over.
    size = np.abs(at).max(axis=1)
    np.testing.assert_allclose(weight.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.abs((weight * at).sum(axis=1) - rewards) <= 1e-12 * size).all()
    assert (np.abs((weight * at**2).sum(axis=1) - rewards**2) <= 1e-12 * size**2).all()
    for i in range(0, len(rewards), 17):
        expected = naive.split_reward(nodes, rewards[i], exact=False)
        np.testing.assert_allclose(weight[i], [w for _, w in expected], atol=1e-9)


@given(finite, finite, finite, finite)
def test_nodes_grow_beyond_their_ends_alone_and_always_alike(a, b, c, d):
    nodes = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    once = grown(nodes, min(a, b, c, d), max(a, b, c, d))
    twice = grown(grown(nodes, min(a, b), max(a, b)), min(c, d), max(c, d))
    np.testing.assert_array_equal(once, twice)
    start = int(np.flatnonzero(once == -2.0)[0])
    np.testing.assert_array_equal(once[start : start + 5], nodes)
    # A reward is split alike, however far the nodes reach.
    near = grown(nodes, min(a, b), max(a, b))
    for reward in (a, b):
        splits = [naive.split_reward(x, reward, exact=False) for x in (near, once)]
        assert splits[0] == splits[1]


@pytest.mark.parametrize("name", NAMES)
def test_statistics_keep_the_first_two_moments_of_rewards(name):
    rewards = rewards_of(name, 30_000, 1)
    zero = np.zeros(len(rewards), dtype=int)
    statistics = lincat.Statistics(1).update(lincat.Transitions(zero, rewards, zero))
    totals = statistics.totals()
    mass = totals.phi_sum[:, 0]
    assert not statistics.exact_rewards
    assert len(statistics.nodes_) <= 64 + 40  # ends that grew with the stream
    assert mass.sum() == pytest.approx(len(rewards), rel=1e-12)
    assert mass @ totals.reward == pytest.approx(rewards.sum(), rel=1e-10, abs=1e-8)
    assert mass @ totals.reward**2 == pytest.approx((rewards**2).sum(), rel=1e-10)


def discounted_sum_error(rewards, n, gamma=0.8, steps=40):
    """W1 between Σ gamma^t r_t and the same with rewards on nodes, in standard deviations.

    Both are convolved on one fine grid, on which a mass is split between its two neighbours.
    """
    nodes = spaced_nodes(rewards[:8192], np.ones(8192), n)
    nodes = grown(nodes, rewards.min(), rewards.max())
    first, weight = three_way(nodes, rewards)
    mass = np.zeros(len(nodes))
    for k in range(3):
        np.add.at(mass, first + k, weight[:, k] / len(rewards))
    sd = rewards.std() / np.sqrt(1.0 - gamma**2)
    spacing, size = sd / 400.0, 2**18
    difference = None
    for atoms, masses in ((rewards, np.full(len(rewards), 1.0 / len(rewards))), (nodes, mass)):
        transform = 1.0
        for t in range(steps):
            line = np.zeros(size)
            place = gamma**t * (atoms - rewards.mean()) / spacing
            low = np.floor(place)
            np.add.at(line, low.astype(int) % size, masses * (1.0 - (place - low)))
            np.add.at(line, (low.astype(int) + 1) % size, masses * (place - low))
            transform = transform * np.fft.rfft(line)
        pmf = np.roll(np.fft.irfft(transform, size), size // 2)
        difference = pmf if difference is None else difference - pmf
    return float(np.abs(np.cumsum(difference)).sum() * spacing / sd)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "bar"), [(32, 0.002), (64, 0.001)])
def test_a_discounted_sum_hardly_changes(name, n, bar):
    assert discounted_sum_error(rewards_of(name, 50_000, 2), n) < bar


@pytest.mark.parametrize(("name", "bar"), [("bimodal", 0.005), ("payoffs", 0.003)])
def test_rewards_that_lie_in_places_keep_their_shape(name, bar):
    """Of a single reward, W1 in its standard deviations; nodes about one median had 0.02, 0.013."""
    assert discounted_sum_error(rewards_of(name, 50_000, 2), 64, gamma=1e-9, steps=1) < bar


@given(st.lists(finite, min_size=2, max_size=120, unique=True), st.integers(5, 90), st.data())
def test_nodes_are_few_graded_and_hold_what_is_frequent(values, n, data):
    rewards = np.array(values)
    counts = np.ones(len(rewards))
    often = data.draw(st.integers(0, len(rewards) - 1))
    counts[often] = 2.0 * len(rewards)
    nodes = spaced_nodes(rewards, counts, n)
    assert 3 <= len(nodes) <= n
    assert {rewards.min(), rewards.max(), rewards[often]} <= set(nodes.tolist())
    assert nodes[0] < rewards.min()
    assert rewards.max() < nodes[-1]
    if len(nodes) < n:  # there was room for more between them
        gap = np.diff(nodes)
        assert max(np.max(gap[1:] / gap[:-1]), np.max(gap[:-1] / gap[1:])) <= 4.0 + 1e-6


def test_more_values_than_can_be_kept_are_split_again_without_loss():
    rng = np.random.default_rng(3)
    few, many = rng.integers(0, 20, 40_000) * 1.0, rng.normal(size=40_000)
    zero = np.zeros(40_000, dtype=int)
    statistics = lincat.Statistics(1)
    statistics.update(lincat.Transitions(zero, few, zero))
    assert statistics.exact_rewards
    np.testing.assert_array_equal(statistics.nodes_, np.arange(20.0))
    statistics.update(lincat.Transitions(zero, many, zero))
    assert not statistics.exact_rewards
    totals = statistics.totals()
    both = np.concatenate([few, many])
    for k in range(3):
        assert totals.phi_sum[:, 0] @ totals.reward**k == pytest.approx((both**k).sum(), rel=1e-11)


@pytest.mark.parametrize(("d", "n"), [(1, 256), (60, 145), (100, 256)])  # 100 states are sparse
def test_so_many_values_stay_exact_and_the_next_does_not(d, n, tmp_path):
    zero = np.zeros(n, dtype=int)
    statistics = lincat.Statistics(d)
    statistics.update(lincat.Transitions(zero, np.sqrt(np.arange(n)), zero))
    statistics.save(tmp_path / "sums")
    read = lincat.Statistics.load(tmp_path / "sums")
    for kept in (statistics, lincat.Statistics().merge(statistics), read):
        assert kept.exact_rewards
        np.testing.assert_array_equal(kept.totals().reward, np.sqrt(np.arange(n)))
        kept.update(lincat.Transitions(zero[:1], [99.5], zero[:1]))
        assert not kept.exact_rewards


def test_dense_features_keep_as_many_values_as_take_little_memory():
    assert most_exact(100, dense=True) == 64
    reward = np.arange(65.0)
    wide = lincat.Statistics().update(
        lincat.Transitions(np.ones((65, 100)), reward, np.ones((65, 100)))
    )
    assert not wide.exact_rewards


def test_sites_agree_on_nodes_or_are_refused():
    rng = np.random.default_rng(4)
    zero = np.zeros(10_000, dtype=int)
    first, second = (lincat.Transitions(zero, rng.normal(size=10_000) * s, zero) for s in (1, 30))
    site = lincat.Statistics(1).update(first)
    alone = lincat.Statistics(1).update(second)
    with pytest.raises(lincat.InvalidInputError, match=r"nodes: .*give nodes=other.nodes_"):
        lincat.Statistics(1).merge(site).merge(alone)
    for nodes in (site, site.nodes_):
        agreeing = lincat.Statistics(1, nodes=nodes).update(second)
        both = lincat.Statistics(1).merge(site).merge(agreeing)
        assert len(both.nodes_) > len(site.nodes_)
        assert np.isin(site.nodes_, both.nodes_).all()
        sums = both.totals().phi_sum[:, 0] @ both.totals().reward
        assert sums == pytest.approx(first.reward.sum() + second.reward.sum(), rel=1e-10)
    # A site with few values has no nodes of its own.
    few = lincat.Statistics(1).update(lincat.Transitions(zero, np.arange(10_000) % 5, zero))
    assert not lincat.Statistics(1).merge(few).merge(site).exact_rewards
    assert not lincat.Statistics(1).merge(site).merge(few).exact_rewards


def test_rewards_that_differ_in_their_last_digits_are_no_trouble():
    rewards = 1e6 + np.arange(100) * np.spacing(1e6)
    zero = np.zeros(100, dtype=int)
    totals = lincat.Statistics(1).update(lincat.Transitions(zero, rewards, zero)).totals()
    assert totals.phi_sum[:, 0] @ totals.reward == pytest.approx(rewards.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "usual", "far", "refused"),
    [
        (9_000, 1.0, 1e300, "a number of at most 4e"),  # nodes are chosen with it,
        (40_000, 1.0, 1e300, "a number of at most 4e"),  # and before it comes
        (40_000, 1e-100, 1e60, "rewards that 512 nodes"),
    ],
)
def test_rewards_beyond_all_bounds_are_refused_in_one_line(n, usual, far, refused):
    rewards = usual * np.random.default_rng(5).normal(size=n)
    zero = np.zeros(n, dtype=int)
    statistics = lincat.Statistics(1).update(lincat.Transitions(zero, rewards, zero))
    with pytest.raises(lincat.InvalidInputError, match=f"reward: expected {refused}"):
        statistics.update(lincat.Transitions(zero[:1], [far], zero[:1])).totals()
