"""lincat.Statistics against its naive twin; cuts, merges, kinds of features, blocks, memory."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import lincat
from tests import naive


def stream(n, d, seed, rewards="few", kind="dense", ends=0.1, given=False, weighted=False):
    """Transitions and truncation flags of a made-up stream."""
    rng = np.random.default_rng(seed)
    few = np.array([-1.0, 0.0, 0.5, 3.0])[rng.integers(0, 4, n)]
    reward = few if rewards == "few" else rng.standard_t(3, n)
    if kind == "states":
        phi, phi_next = rng.integers(0, d, n), rng.integers(0, d, n)
    else:
        phi, phi_next = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4) for _ in range(2))
    if kind == "sparse":
        phi, phi_next = scipy.sparse.csr_array(phi), scipy.sparse.csr_array(phi_next)
    terminated = rng.random(n) < ends
    discount = rng.choice([0.9, 0.81], n) if given else None
    weight = rng.exponential(size=n) if weighted else None
    truncated = (rng.random(n) < ends / 3) & ~terminated
    return lincat.Transitions(phi, reward, phi_next, terminated, discount, weight), truncated


def assert_equal(left, right):
    """Same totals, to the last bit."""
    for name in ("reward", "power", "given_discount", "phi_sum", "count", "weight"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    for name in ("cross", "Sigma"):
        np.testing.assert_array_equal(dense(getattr(left, name)), dense(getattr(right, name)))


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else x


def assert_close(left, right, tolerance=1e-12):
    np.testing.assert_array_equal(left.reward, right.reward)
    np.testing.assert_array_equal(left.power, right.power)
    np.testing.assert_array_equal(left.given_discount, right.given_discount)
    assert left.count == right.count
    d = left.n_features
    for name in ("cross", "phi_sum", "Sigma", "weight"):
        a, b = dense(getattr(left, name)), dense(getattr(right, name))
        a, b = (np.reshape(x, (-1, d, d)) if name == "cross" else x for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, np.abs(b).max()))


cases = st.builds(
    dict,
    n=st.integers(1, 60),
    d=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    rewards=st.sampled_from(["few", "many"]),
    kind=st.sampled_from(["dense", "sparse", "states"]),
    ends=st.sampled_from([0.0, 0.1, 0.6]),
    given=st.booleans(),
    weighted=st.booleans(),
)


@given(cases)
def test_totals_are_the_naive_sums(case):
    t, truncated = stream(**case)
    statistics = lincat.Statistics(n_features=case["d"]).update(t, truncated)
    assert_close(statistics.totals(), naive.totals(t, case["d"]))


@given(cases, st.lists(st.integers(1, 59), max_size=4))
def test_how_a_stream_was_cut_does_not_matter(case, cuts):
    t, truncated = stream(**case)
    whole = lincat.Statistics(case["d"], max_blocks=5).update(t, truncated)
    parts = lincat.Statistics(case["d"], max_blocks=5)
    edges = sorted({0, *(c for c in cuts if c < case["n"]), case["n"]})
    for a, b in itertools.pairwise(edges):
        parts.update(t[a:b], truncated[a:b])
        parts.totals()  # reading changes nothing
    assert_equal(whole.totals(), parts.totals())
    assert whole.block_counts.tolist() == parts.block_counts.tolist()
    for i in range(whole.n_blocks):
        assert_equal(whole.block_totals(i), parts.block_totals(i))


@pytest.mark.parametrize("kind", ["dense", "sparse", "states"])
@pytest.mark.parametrize("rewards", ["few", "many"])
def test_long_streams_do_not_depend_on_their_cuts_either(kind, rewards):
    d, n = 90, 40_000
    t, truncated = stream(n, d, 3, rewards, kind, ends=0.01, weighted=True)
    whole = lincat.Statistics(d, max_blocks=8).update(t, truncated)
    parts = lincat.Statistics(d, max_blocks=8)
    for a in range(0, n, 2777):
        parts.update(t[a : a + 2777], truncated[a : a + 2777])
    assert_equal(whole.totals(), parts.totals())
    for i in range(whole.n_blocks):
        assert_equal(whole.block_totals(i), parts.block_totals(i))
    assert whole.weight == parts.weight


@given(cases, st.permutations(range(3)))
def test_merged_in_any_order_is_one_pass(case, order):
    t, truncated = stream(**case)
    nodes = "auto" if case["rewards"] == "few" else np.linspace(-3.0, 3.0, 9)
    edges = [0, case["n"] // 3, case["n"] // 2, case["n"]]
    parts = []
    for a, b in itertools.pairwise(edges):
        parts.append(lincat.Statistics(case["d"], nodes=nodes, max_blocks=4))
        if b > a:
            parts[-1].update(t[a:b], truncated[a:b])
    merged = lincat.Statistics(case["d"], nodes=nodes)
    for i in order:
        merged.merge(parts[i])
    whole = lincat.Statistics(case["d"], nodes=nodes).update(t, truncated)
    assert_close(merged.totals(), whole.totals())
    assert merged.count == whole.count
    assert merged.weight == pytest.approx(whole.weight, rel=1e-12)
    assert (merged.reward_low, merged.reward_high) == (whole.reward_low, whole.reward_high)
    assert merged.largest_norm == whole.largest_norm
    assert merged.n_blocks <= 64


@given(cases)
def test_blocks_add_up_and_leave_out_the_rest(case):
    t, truncated = stream(**case)
    statistics = lincat.Statistics(case["d"], max_blocks=6).update(t, truncated)
    n = statistics.n_blocks
    assert 1 <= n <= 6
    assert statistics.block_counts.sum() == case["n"]
    total = statistics.totals()
    blocks = [statistics.block_totals(i) for i in range(n)]
    for b in blocks:
        np.testing.assert_array_equal(b.reward, total.reward)
    np.testing.assert_allclose(sum(dense(b.cross) for b in blocks), dense(total.cross), atol=1e-10)
    np.testing.assert_allclose(
        dense(statistics.leave_out(n - 1).Sigma) + dense(blocks[-1].Sigma),
        dense(total.Sigma),
        atol=1e-10,
    )
    assert_close(statistics.window(0, n), total)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("rewards", ["few", "many"])
def test_dense_sparse_and_states_agree(rewards, given):
    d, n = 80, 3_000
    t, truncated = stream(n, d, 5, rewards, "states", given=given, weighted=True)
    eye = np.eye(d)
    rest = (t.terminated, t.discount, t.weight)
    onehot = lincat.Transitions(eye[t.phi], t.reward, eye[t.phi_next], *rest)
    sparse = lincat.Transitions(
        scipy.sparse.csr_array(onehot.phi), t.reward, scipy.sparse.csr_array(onehot.phi_next), *rest
    )
    states, matrix, table = (lincat.Statistics(d).update(x, truncated) for x in (t, onehot, sparse))
    assert scipy.sparse.issparse(states.totals().cross)
    assert isinstance(matrix.totals().cross, np.ndarray)
    for other in (states, table):
        assert_close(other.totals(), matrix.totals())
        assert other.block_counts.tolist() == matrix.block_counts.tolist()
        assert_close(other.block_totals(2), matrix.block_totals(2))
        assert other.largest_norm == matrix.largest_norm
    # Kinds may be mixed, whatever came first.
    mixed = lincat.Statistics(d, nodes=matrix)
    for part in (t[:1000], onehot[1000:2000], sparse[2000:]):
        mixed.update(part)
    assert_close(mixed.totals(), matrix.totals())
    assert_close(
        lincat.Statistics(d).merge(states).merge(matrix).totals(),
        lincat.Statistics(d).merge(matrix).merge(table).totals(),
    )


def test_whole_episodes_stay_together():
    rng = np.random.default_rng(0)
    n = 5_000
    end = rng.random(n) < 0.05
    end[-1] = True
    t = lincat.Transitions(np.zeros(n, dtype=int), np.zeros(n), np.zeros(n, dtype=int), end)
    statistics = lincat.Statistics(1, max_blocks=16).update(t)
    assert 8 <= statistics.n_blocks <= 16
    assert end[np.cumsum(statistics.block_counts) - 1].all()
    truncated = lincat.Statistics(1, max_blocks=16)
    truncated.update(lincat.Transitions(t.phi, t.reward, t.phi_next), truncated=end)
    assert truncated.block_counts.tolist() == statistics.block_counts.tolist()


@pytest.mark.parametrize("most", [1, 2, 3, 7, 64])
def test_streams_without_ends_have_blocks_of_one_length(most):
    n = 10_000
    zero = np.zeros(n, dtype=int)
    statistics = lincat.Statistics(1, max_blocks=most)
    statistics.update(lincat.Transitions(zero, np.zeros(n), zero))
    counts = statistics.block_counts
    assert counts.sum() == n
    assert most // 2 <= len(counts) <= most
    assert len(set(counts[:-1].tolist())) <= 1
    assert counts[-1] <= counts[0]


def test_episodes_longer_than_a_block_are_cut():
    n = 8_000
    end = np.zeros(n, dtype=bool)
    end[[10, 20, 30, n - 1]] = True
    zero = np.zeros(n, dtype=int)
    statistics = lincat.Statistics(1, max_blocks=8)
    statistics.update(lincat.Transitions(zero, np.zeros(n), zero, end))
    assert 4 <= statistics.n_blocks <= 8
    assert statistics.block_counts.max() <= 4_000


def test_terminated_means_nothing_follows_whatever_discount_was_given():
    t = lincat.Transitions([0, 0, 1], [1.0, 1.0, 1.0], [1, 1, 0], [1, 0, 0], [0.5, 0.5, 0.0])
    totals = lincat.Statistics(2).update(t).totals()
    assert totals.power.tolist() == [-1, 0]
    assert totals.discount(0.9).tolist() == [0.5, 0.0]
    np.testing.assert_array_equal(totals.cross, [[[0, 1], [0, 0]], [[0, 0], [0, 0]]])
    np.testing.assert_array_equal(totals.phi_sum, [[1, 0], [1, 1]])


@pytest.mark.parametrize("rewards", ["few", "many"])
def test_threads_do_not_change_a_bit(rewards):
    t, truncated = stream(40_000, 70, 8, rewards, weighted=True)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(lincat.Statistics().update(t, truncated).totals())
    assert_equal(found[0], found[1])
    assert_equal(found[0], found[2])


@pytest.mark.parametrize("d", [3, 60])
def test_float32_features_are_summed_in_float64(d):
    rng = np.random.default_rng(1)
    phi, phi_next = (rng.random((500, d), dtype=np.float32) for _ in range(2))
    reward = rng.integers(0, 3, 500)
    narrow = lincat.Statistics().update(lincat.Transitions(phi, reward, phi_next)).totals()
    wide = lincat.Transitions(phi.astype(float), reward, phi_next.astype(float))
    assert_equal(narrow, lincat.Statistics().update(wide).totals())
    assert narrow.cross.dtype == narrow.Sigma.dtype == np.float64


def test_what_is_passed_in_may_be_overwritten_afterwards():
    t, _ = stream(50, 3, 7)
    before = lincat.Statistics().update(t).totals()
    statistics = lincat.Statistics().update(t)
    t.phi[:] = t.phi_next[:] = t.reward[:] = np.nan
    assert_equal(before, statistics.totals())


def test_fewer_blocks_where_memory_is_short_then_a_refusal():
    d = 20
    t, truncated = stream(4_000, d, 11)
    limit = lincat.Statistics.nbytes_for(d, n_nodes=4, n_blocks=5)
    statistics = lincat.Statistics(memory_limit=limit).update(t, truncated)
    assert 2 <= statistics.n_blocks <= 5
    assert statistics._settled()._blocks.nbytes <= limit
    assert_close(statistics.totals(), lincat.Statistics().update(t, truncated).totals())
    with pytest.raises(lincat.InvalidInputError, match=r"memory_limit: .*fewer features"):
        lincat.Statistics(memory_limit=10_000).update(t).totals()


def test_bytes_are_known_beforehand():
    d = 6
    t, truncated = stream(9_000, d, 2, ends=0.2)
    statistics = lincat.Statistics(max_blocks=8).update(t, truncated)
    used = statistics._settled()._blocks.nbytes
    assert used == lincat.Statistics.nbytes_for(d, 4, statistics.n_blocks)
    assert statistics.nbytes >= used * 0.5


def test_blocks_have_room_for_the_rewards_of_their_rows_alone_while_these_are_few():
    """A block of 16 rows with 200 rewards would take twelve times as much with room for all."""
    rng, d = np.random.default_rng(0), 3
    t = lincat.Transitions(rng.random((1024, d)), rng.integers(0, 200, 1024), rng.random((1024, d)))
    small = lincat.Statistics(max_blocks=64).update(t)
    assert small.exact_rewards
    assert small._settled()._blocks.nbytes < 0.1 * lincat.Statistics.nbytes_for(d, 200, 64)
    large = lincat.Statistics(max_blocks=1).update(t)
    assert_close(small.totals(), large.totals())
    rewards = small.totals().reward
    for i in (0, 63):
        rows = slice(16 * i, 16 * (i + 1))
        seen = small.block_totals(i).phi_sum.any(axis=1)
        np.testing.assert_array_equal(rewards[seen], np.unique(t.reward[rows]))


def one_row():
    return lincat.Statistics(1).update(lincat.Transitions([0], [1.0], [0]))


def features(d):
    return lincat.Transitions(np.eye(d), np.ones(d), np.eye(d))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: lincat.Statistics(max_blocks=0), "max_blocks: expected an integer of at least 1"),
        (lambda: lincat.Statistics(0), "n_features: expected an integer of at least 1"),
        (lambda: lincat.Statistics(nodes="all"), "nodes: expected 'auto'"),
        (lambda: lincat.Statistics(nodes=[1.0, 0.0, 2.0]), "nodes: .* ascending"),
        (lambda: lincat.Statistics(nodes=[1.0, 2.0]), "nodes: .* three"),
        (lambda: lincat.Statistics(nodes=4), "nodes: expected an integer of at least 5"),
        (lambda: lincat.Statistics().totals(), "statistics: expected at least one"),
        (lambda: lincat.Statistics().update([1.0]), "transitions: expected lincat.Transitions"),
        (lambda: lincat.Statistics(2).merge(3), "other: expected lincat.Statistics"),
        (
            lambda: one_row().block_totals(1),
            "i: expected a block from 0 to 0",
        ),
        (
            lambda: one_row().window(0, 2),
            "window: expected 0 <= first < last <= 1",
        ),
        (
            lambda: lincat.Statistics().update(lincat.Transitions([0], [1.0], [0])),
            "n_features: expected the number of states",
        ),
        (
            lambda: lincat.Statistics(2).update(lincat.Transitions([0], [1.0], [2])),
            "phi: expected states below n_features = 2, got 2",
        ),
        (
            lambda: lincat.Statistics(2).update(features(3)),
            "phi: expected 2 features, got 3",
        ),
        (
            lambda: lincat.Statistics(2).update(features(2)[:0]),
            "transitions: expected at least one",
        ),
        (
            lambda: lincat.Statistics(1).update(
                lincat.Transitions(np.zeros(300, int), np.zeros(300), np.zeros(300, int), None,
                                   np.linspace(0.1, 0.9, 300))
            ).totals(),
            "discount: expected at most 256 distinct",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_line(call, reason):
    with pytest.raises(lincat.InvalidInputError, match=reason) as error:
        call()
    assert "\n" not in str(error.value)


def test_statistics_of_other_features_are_not_merged():
    left = lincat.Statistics().update(features(2))
    right = lincat.Statistics().update(features(3))
    with pytest.raises(lincat.InvalidInputError, match="other: expected statistics of 2 features"):
        left.merge(right)


@pytest.mark.parametrize("kind", ["dense", "sparse", "states"])
@pytest.mark.parametrize("n", [40, 40_000])
def test_a_copy_can_be_added_to_alone(kind, n):
    t, truncated = stream(n, 70, 1, "few", kind)
    statistics = lincat.Statistics(70, max_blocks=4).update(t, truncated)
    before = statistics.totals()
    other = statistics.copy().update(t, truncated)
    assert (statistics.count, other.count) == (n, 2 * n)
    assert_equal(statistics.totals(), before)
    twice = lincat.Statistics(70, max_blocks=4).update(t, truncated).update(t, truncated)
    assert_equal(other.totals(), twice.totals())
    more = statistics.update(t, truncated)
    assert_equal(more.totals(), other.totals())
    more.update(t, truncated)
    assert_equal(other.totals(), twice.totals())


@pytest.mark.parametrize("sparse", [False, True])
def test_what_follows_each_group(sparse):
    """Σ w phi' by group, where phi·e = 1: features whose first is 1."""
    rng = np.random.default_rng(0)
    phi, phi_next = rng.random((2, 300, 70))
    phi[:, 0] = phi_next[:, 0] = 1.0
    reward, weight = rng.choice([0.0, 1.0, 3.0], 300), rng.random(300)
    ended = rng.random(300) < 0.2
    features = [scipy.sparse.csr_array(x) if sparse else x for x in (phi, phi_next)]
    t = lincat.Transitions(features[0], reward, features[1], ended, weight=weight)
    totals = lincat.Statistics().update(t).totals()
    found = totals.following(np.eye(70)[0])
    assert found.shape == (len(totals.reward), 70)
    for row, r, power in zip(found, totals.reward, totals.power, strict=True):
        chosen = (reward == r) & ~ended & (power != 0)
        np.testing.assert_allclose(row, (weight[:, None] * phi_next)[chosen].sum(axis=0), atol=1e-9)
