"""Sums beside a stream: intervals of learners that go step by step."""

import numpy as np
import pytest

import lincat
from tests import naive
from tests.learners import cases


def fitted(rule="ctd", kind="dense", n=3000, **params):
    states = cases.STATES if kind == "states" else None
    model = cases.make(rule, n_features=states, statistics=True, **params)
    return model.fit(cases.stream(kind, n))


@pytest.mark.parametrize("rule", ["ctd", "pmf"])
def test_the_centre_is_one_newton_step_away(rule):
    model = fitted(rule, n=300)
    K, d = cases.GRID.intervals, model.Theta_mean_.shape[0]
    columns = map(np.array, zip(*cases.tuples(cases.stream("dense", 300)), strict=True))
    matrix, rest = naive.totals_system(*columns, cases.GRID)
    start = model.Theta_mean_.ravel(order="F")
    step = np.linalg.solve(matrix, rest - matrix @ start)
    expected = cases.features("dense") @ (start + step).reshape(d, K, order="F")
    found = model.predict(cases.features("dense"), confidence=0.95).cdf_values
    np.testing.assert_allclose(found, expected + np.arange(1, K + 1) / (K + 1), atol=1e-9)
    assert np.abs(step).max() > 1e-3


@pytest.mark.parametrize("kind", cases.KINDS)
def test_intervals_are_those_of_the_batch_learner(kind):
    states = cases.as_kind(kind, np.arange(cases.STATES))
    model = fitted(kind=kind)
    options = {} if kind != "states" else {"n_features": cases.STATES}
    batch = lincat.CategoricalLSTD(gamma=cases.GAMMA, grid=cases.GRID, **options)
    batch.fit(cases.stream(kind, 3000))
    mine, theirs = (one.predict(states, confidence=0.9) for one in (model, batch))
    np.testing.assert_array_equal(mine.cdf_values, theirs.cdf_values)
    np.testing.assert_array_equal(mine.interval("cvar", 0.1), theirs.interval("cvar", 0.1))
    assert model.ensemble_.cautions == batch.ensemble_.cautions
    assert model.predict(states).uncertainty is None


def test_what_is_learned_does_not_depend_on_it():
    t = cases.stream("dense", 2000)
    with_sums, without = (cases.make("ctd", statistics=one).fit(t) for one in (True, False))
    np.testing.assert_array_equal(with_sums.Theta_mean_, without.Theta_mean_)
    assert without.statistics_ is None


def test_a_stream_that_was_interrupted_has_the_same_bands_to_the_bit(tmp_path):
    Phi, t = cases.features("dense"), cases.stream("dense", 9000)
    whole = cases.make("ctd", statistics=True).partial_fit(t)
    part = cases.make("ctd", statistics=True)
    for begin in range(0, 9000, 1750):
        part.partial_fit(t[begin : begin + 1750])
        part.save(tmp_path / "model")
        part = lincat.load(tmp_path / "model")
    for ask in (whole, part):
        assert ask.statistics_.count == 9000
    ends = [one.predict(Phi, confidence=0.95).band(simultaneous=True) for one in (whole, part)]
    np.testing.assert_array_equal(*ends)


def test_more_data_mean_other_intervals():
    model, Phi = fitted(), cases.features("dense")
    before = model.predict(Phi, confidence=0.95).interval("mean")
    model.partial_fit(cases.stream("dense", 500, seed=3))
    assert not np.array_equal(before, model.predict(Phi, confidence=0.95).interval("mean"))


def test_a_damaged_file_is_refused(tmp_path):
    file = tmp_path / "model"
    fitted(n=200).save(file)
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(lincat.InvalidInputError, match="checksum"):
        lincat.load(file)


@pytest.mark.parametrize("rule", ["softmax", "unnormalised"])
def test_what_settles_elsewhere_has_no_sums(rule):
    t, Phi = cases.stream("dense", 1200), cases.features("dense")
    with pytest.raises(lincat.InvalidInputError, match=r"statistics: expected False .* elsewhere"):
        cases.make(rule, statistics=True).fit(t)
    with pytest.raises(lincat.InvalidInputError, match=r"confidence: .*settles elsewhere; take"):
        cases.make(rule).fit(t).predict(Phi, confidence=0.95)


def test_a_learner_without_sums_says_what_to_do():
    t, Phi = cases.stream("dense", 200), cases.features("dense")
    with pytest.raises(lincat.InvalidInputError, match="pass statistics=True to LinearCTD"):
        cases.make("ctd").fit(t).predict(Phi, confidence=0.95)
    with pytest.raises(lincat.InvalidInputError, match="confidence: expected none for LinearTD"):
        cases.make("td").fit(t).predict(Phi, confidence=0.95)
