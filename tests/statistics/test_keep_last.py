"""Sums of the last transitions alone: as if the others had never been."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat


def transitions(n, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    reward = rng.integers(0, 3, n) + shift
    return lincat.Transitions(rng.integers(0, 4, n), reward, rng.integers(0, 4, n))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6000), st.integers(1, 3000), st.integers(1, 16), st.integers(1, 2000))
def test_blocks_hold_the_last_rows_and_not_many_more(n, keep, most, size):
    whole = transitions(n)
    kept = lincat.Statistics(4, max_blocks=most, keep_last=keep)
    for begin in range(0, n, size):
        kept.update(whole[begin : begin + size])
    held = int(kept.block_counts.sum())
    assert kept.count == n
    assert held >= min(keep, n)
    assert kept.n_blocks == 1 or held - int(kept.block_counts[0]) < keep
    last = lincat.Statistics(4).update(whole[n - held :]).totals()
    np.testing.assert_allclose(kept.totals().Sigma, last.Sigma)
    assert kept.totals().count == held


def test_a_learner_forgets_what_has_changed(tmp_path):
    learner = lincat.CategoricalLSTD(gamma=0.5, n_features=4, keep_last=2000, intervals=40)
    learner.partial_fit(transitions(20_000)).partial_fit(transitions(40_000, 1, shift=10.0))
    assert learner.n_seen_ == 60_000
    np.testing.assert_allclose(learner.predict([0, 1, 2, 3]).mean(), 22.0, atol=0.3)
    learner.save(tmp_path / "model")
    again = lincat.load(tmp_path / "model").partial_fit(transitions(40_000, 2))
    np.testing.assert_allclose(again.predict([0]).mean(), 2.0, atol=0.3)
    assert lincat.LSTD(gamma=0.5, keep_last=7).keep_last == 7
    with pytest.raises(lincat.InvalidInputError, match="keep_last"):
        lincat.Statistics(4, keep_last=0)
