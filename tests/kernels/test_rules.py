"""Every rule, feature kind and batch size against the naive version."""

import numpy as np
import pytest

from lincat.kernels import rules
from lincat.kernels.dense import dense_updates
from lincat.kernels.layout import padded_zeros
from tests import naive
from tests.kernels.cases import KINDS, LIMIT, RULES, loop, run, step, transitions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("d", "K", "batch"), [(3, 30, 1), (9, 8, 25), (2, 1, 7), (5, 17, 1)])
def test_equals_naive_over_a_thousand_transitions(kind, name, d, K, batch):
    data = transitions(1000, d, K, one_hot=kind == "states")
    steps = np.linspace(1.0, 0.5, 1000) * step(name, K) / batch
    got = run(kind, data, steps, K, name, batch=batch, start=7)
    zero = np.zeros((d, naive.rule_columns(K, name)))
    expected = naive.rule_updates(zero, *data, steps, K, name, batch, start=7)
    assert 1e-3 < np.abs(expected[0]).max() < 100  # it learns, and does not diverge
    for a, b, tolerance in zip(got, expected, (1e-12, 1e-12, 1e-10), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


@pytest.mark.parametrize("K", [1, 3, 4, 30, 51, 201, 450])
@pytest.mark.parametrize("name", RULES)
def test_one_step_from_random_parameters(K, name):
    """Each transition alone, from fresh parameters, to 1e-12."""
    rule, rng = RULES[name], np.random.default_rng(K)
    phi, phi_next, rho, delta = transitions(120, 4, K, seed=K)
    columns = rules.columns(K, rule)
    assert columns == naive.rule_columns(K, name)
    steps = np.full(1, 1.0 / K**2 if name == "pmf" else 1.0)  # ‖C Cᵀ‖ is of order K²
    for t in range(120):
        Theta, start = padded_zeros(4, columns), rng.normal(size=(4, columns))
        Theta[:, :columns] = start
        one = slice(t, t + 1)
        data = (phi[one], phi_next[one], rho[one], delta[one], steps)
        dense_updates(Theta, np.zeros((0, 0)), np.zeros(2), *data, LIMIT, K, rule, 0)
        G = naive.projection_matrix(rho[t], delta[t], K)
        row = naive.rule_direction(start, phi[t], phi_next[t], delta[t], G, K, name)
        expected = start - steps * np.outer(phi[t], row)
        np.testing.assert_allclose(Theta[:, :columns], expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
def test_float32_stays_near(kind, name):
    K, steps = 51, np.full(1000, step(name, 51))
    phi, phi_next, rho, delta = transitions(1000, 5, K, one_hot=kind == "states")
    data = (*(x.astype(np.float32).astype(float) for x in (phi, phi_next)), rho, delta)
    Theta, mean, _ = run(kind, data, steps, K, name, dtype=np.float32, start=100)
    zero = np.zeros((5, naive.rule_columns(K, name)))
    expected, expected_mean, _ = naive.rule_updates(zero, *data, steps, K, name, start=100)
    np.testing.assert_allclose(Theta, expected, rtol=0, atol=2e-5)
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=2e-5)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("field", ["phi", "phi_next", "rho", "delta", "step"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_are_not_swallowed(name, field, bad):
    """A NaN or infinity stops the loop before it is learned from, or reaches the parameters."""
    K, rule = 30, RULES[name]
    phi, phi_next, rho, delta = transitions(50, 3, K, mixed=False)
    data = {"phi": phi, "phi_next": phi_next, "rho": rho, "delta": delta, "step": np.full(50, 1e-3)}
    data[field].reshape(50, -1)[20, 0] = bad
    Theta = padded_zeros(3, rules.columns(K, rule))
    U = np.zeros((0, 0))
    done = loop("dense", Theta, U, np.zeros(2), *data.values(), LIMIT, K, rule, 0, 1)
    if field == "step" and bad == np.inf:
        assert done < 50  # nothing can be saved: the callers' step sizes are finite
    else:
        assert done == 20
        assert np.isfinite(Theta).all()


def test_a_product_with_C_and_its_transpose():
    rng = np.random.default_rng(0)
    for K in (1, 2, 7):
        C, rows = np.tril(np.ones((K, K))), rng.normal(size=(3, K + 2))
        expected = rows.copy()
        expected[1, :K] = rows[1, :K] @ C @ C.T
        rules.multiply_by_CCt(rows, 1, K)
        np.testing.assert_allclose(rows, expected, rtol=1e-13)
