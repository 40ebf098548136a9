"""Dense loops: the same bits for any split of a stream, and what stops them."""

import numpy as np
import pytest

from lincat.kernels import rules
from lincat.kernels.dense import dense_batches
from lincat.kernels.layout import padded_zeros
from tests import naive
from tests.kernels.cases import KINDS, LIMIT, RULES, loop, run, step, transitions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("batch", "splits"), [(1, range(1, 200)), (1, (1, 2, 17, 33, 50, 199)), (5, (5, 50, 60))]
)
@pytest.mark.parametrize(("d", "K"), [(3, 30), (7, 51), (64, 33)])
def test_any_split_gives_the_same_bits(kind, name, dtype, batch, splits, d, K):
    data = transitions(200, d, K, one_hot=kind == "states")
    steps = np.linspace(1, 0.5, 200) * step(name, K)
    whole = run(kind, data, steps, K, name, batch=batch, dtype=dtype, start=3)
    pieces = run(kind, data, steps, K, name, batch=batch, dtype=dtype, start=3, splits=splits)
    for a, b in zip(whole, pieces, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize(("d", "K"), [(1, 30), (9, 51)])
def test_sums_beside_parameters_give_the_same_bits(kind, dtype, batch, d, K):
    data, steps = transitions(200, d, K, one_hot=kind == "states"), np.full(200, step("ctd", K))
    apart, paired = (
        run(kind, data, steps, K, "ctd", batch=batch, dtype=dtype, start=3, paired=paired)
        for paired in (False, True)
    )
    for a, b in zip(apart, paired, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_batch_of_one_is_streaming():
    data = transitions(300, 7, 51)
    steps = np.full(300, 0.3)
    expected, mean, _ = run("dense", data, steps, 51, "ctd")
    Theta, U = padded_zeros(7, 51), padded_zeros(7, 51)
    dense_batches(Theta, U, np.zeros(2), *data, steps, LIMIT, 51, rules.CTD, 0, 1)
    np.testing.assert_array_equal(Theta[:, :51], expected)
    np.testing.assert_allclose((Theta + U / 300)[:, :51], mean, rtol=0, atol=1e-14)


def test_no_transitions_change_nothing():
    data = transitions(0, 3, 30)
    Theta, mean, clipped = run("dense", data, np.empty(0), 30, "ctd")
    assert not Theta.any()
    assert not mean.any()
    assert not clipped.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ctd", "pmf", "unnormalised"])
@pytest.mark.parametrize("batch", [1, 5])
def test_the_limit_stops_before_the_offending_transition(kind, name, batch):
    """The parameters are those of the naive version just before ‖F − target‖² passes the limit."""
    K, d, n, limit = 17, 3, 400, 1e4
    rule = RULES[name]
    phi, phi_next, rho, delta = transitions(n, d, K, one_hot=kind == "states", mixed=False)
    steps = np.full(n, 5.0 / batch if name != "pmf" else 0.05 / batch)
    columns = rules.columns(K, rule)
    Theta, U = padded_zeros(d, columns), padded_zeros(d, columns)
    start = np.random.default_rng(0).normal(size=(d, columns))
    Theta[:, :columns] = start
    data = (phi, phi_next, rho, delta, steps)
    done = loop(kind, Theta, U, np.zeros(2), *data, limit, K, rule, 0, batch)
    assert 0 < done < n
    assert done % batch == 0
    before = [x[:done] for x in data]
    expected, mean, _ = naive.rule_updates(start, *before, K, name, batch)
    np.testing.assert_allclose(Theta[:, :columns], expected, rtol=1e-9)
    got_mean = (Theta + U / (done // batch))[:, :columns]
    np.testing.assert_allclose(got_mean, mean, rtol=0, atol=1e-9 * np.abs(expected).max())
    # The next batch holds a transition beyond the limit, and none before it did.
    squares = []
    for t in range(done, done + batch):
        G = naive.projection_matrix(rho[t], delta[t], K)
        kind_of_error = "ctd" if name == "pmf" else name
        row = naive.rule_direction(expected, phi[t], phi_next[t], delta[t], G, K, kind_of_error)
        squares.append(row[:K] @ row[:K])
    assert max(squares) > limit


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_beyond_the_limit_parameters_stay_finite(dtype):
    K, n = 30, 2000
    data = (*transitions(n, 3, K, mixed=False), np.full(n, 1e4))
    Theta = padded_zeros(3, K, dtype)
    U = padded_zeros(3, K)
    done = loop("dense", Theta, U, np.zeros(2), *data, LIMIT, K, rules.CTD, 0, 1)
    assert done < n
    assert np.isfinite(Theta).all()
    assert np.isfinite(U).all()
