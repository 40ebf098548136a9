import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lincat
import lincat.kernels
from lincat.processes import stationary
from tests.strategies import processes


@given(processes())
def test_is_stationary_and_sums_to_one(problem):
    mu = problem.process.stationary
    P = problem.process.transition_matrix()
    np.testing.assert_allclose(mu @ P.toarray(), mu, atol=1e-14)
    assert mu.sum() == pytest.approx(1.0, abs=1e-14)
    assert mu.min() >= 0.0


@given(st.integers(0, 10_000))
def test_agrees_with_quantecon(quantecon, seed):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(6, 0.3), size=6)
    theirs = quantecon.MarkovChain(P).stationary_distributions
    if len(theirs) == 1:
        ours = lincat.MarkovRewardProcess.from_matrices(P, np.zeros(6))
        np.testing.assert_allclose(
            ours.stationary_distribution(allow_periodic=True), theirs[0], atol=1e-12
        )


def test_transient_states_have_no_share():
    process = lincat.MarkovRewardProcess.from_matrices([[0.5, 0.5], [0.0, 1.0]], [0.0, 1.0])
    np.testing.assert_allclose(process.stationary, [0.0, 1.0])


def test_a_nearly_decomposable_chain_keeps_its_digits():
    e = 1e-9
    P = [[1 - e, e], [2 * e, 1 - 2 * e]]
    process = lincat.MarkovRewardProcess.from_matrices(P, [0.0, 1.0])
    np.testing.assert_allclose(process.stationary, [2 / 3, 1 / 3], rtol=1e-6)


def test_several_closed_classes_are_named():
    P = np.diag([1.0, 0.5, 0.5, 1.0])
    P[1, 2] = P[2, 1] = 0.5
    process = lincat.MarkovRewardProcess.from_matrices(P, np.zeros(4))
    with pytest.raises(lincat.InvalidInputError) as caught:
        _ = process.stationary
    assert "3 closed classes: {0}; {1, 2}; {3}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_period_is_named_with_its_class_and_can_be_allowed():
    P = np.roll(np.eye(3), 1, axis=1)
    process = lincat.MarkovRewardProcess.from_matrices(P, np.zeros(3))
    with pytest.raises(lincat.InvalidInputError) as caught:
        _ = process.stationary
    assert "period 3 in the closed class {0, 1, 2}" in str(caught.value)
    np.testing.assert_allclose(process.stationary_distribution(allow_periodic=True), 1 / 3)


def test_long_classes_are_cut_short():
    P = np.eye(20)
    P[:12, :12] = np.roll(np.eye(12), 1, axis=1) * 0.5 + np.eye(12) * 0.5
    process = lincat.MarkovRewardProcess.from_matrices(P, np.zeros(20))
    with pytest.raises(lincat.InvalidInputError, match=r"\.\.\. \(12 states\)\}"):
        _ = process.stationary


def test_large_chain_that_mixes_fast():
    problem = lincat.catalog.random_process(20_000, branching=3, seed=1)
    mu = problem.process.stationary
    P = problem.process.transition_matrix()
    np.testing.assert_allclose(P.T @ mu, mu, rtol=1e-9, atol=1e-15)


def test_large_chain_that_mixes_slowly_in_closed_form():
    """A birth-death chain: mu_s is geometric by detailed balance."""
    n, up, down = 3000, 0.2, 0.201
    s = np.arange(n)
    rows = np.concatenate([s[:-1], s[1:], s])
    columns = np.concatenate([s[1:], s[:-1], s])
    stay = 1.0 - up * (s < n - 1) - down * (s > 0)
    values = np.concatenate([np.full(n - 1, up), np.full(n - 1, down), stay])
    P = scipy.sparse.csr_array((values, (rows, columns)), shape=(n, n))
    mu = (up / down) ** s
    ours = lincat.MarkovRewardProcess.from_matrices(P, np.zeros(n)).stationary
    np.testing.assert_allclose(ours, mu / mu.sum(), rtol=1e-9)


def test_both_methods_agree():
    block = lincat.catalog.random_process(200, seed=4).process.transition_matrix()
    np.testing.assert_allclose(
        stationary._iterate(block), stationary._eliminate(block), rtol=1e-11, atol=1e-16
    )


def test_the_oracle_keeps_its_cache_to_itself(quantecon, tmp_path_factory):
    """What it compiled while it was imported is where no other worker writes (conftest.py)."""
    own = tmp_path_factory.getbasetemp()
    assert list(own.glob("quantecon*/**/*.nbi"))
    assert str(own) not in lincat.kernels.bellman.reward_shift._cache.cache_path
