"""Intervals of the batch learner; its answers are tested in tests/solvers/test_batch.py."""

import numpy as np
import pytest

import lincat

GRID = lincat.Grid(0.0, 4.0, 10)


def fitted(n=3000, seed=0, **options):
    problem = lincat.catalog.paper()
    seen = problem.process.sample(n, seed=seed)
    Phi = np.asarray(problem.Phi)
    model = lincat.CategoricalLSTD(gamma=0.75, grid=GRID, **options)
    return model.fit(Phi[seen.state], seen.reward, Phi[seen.next_state]), Phi


def test_directions_are_those_of_the_ensemble():
    model, Phi = fitted()
    dist = model.predict(Phi, confidence=0.9)
    assert dist.uncertainty.confidence == 0.9
    np.testing.assert_allclose(
        dist.uncertainty.directions, np.einsum("nd,jdk->jnk", Phi, model.ensemble_.Psi), atol=1e-15
    )
    np.testing.assert_array_equal(dist.cdf_values, model.predict(Phi).cdf_values)
    assert model.predict(Phi).uncertainty is None


def test_the_ensemble_is_kept_in_files(tmp_path):
    model, Phi = fitted(900)
    model.save(tmp_path / "without")
    expected = model.predict(Phi, confidence=0.95).interval("cvar", 0.1)
    model.save(tmp_path / "with")
    loaded = lincat.load(tmp_path / "with")
    assert loaded._ensemble_.cautions == model.ensemble_.cautions == ("short",)
    assert loaded._ensemble_.correlation == model.ensemble_.correlation
    np.testing.assert_array_equal(loaded.ensemble_.Psi, model.ensemble_.Psi)
    without = lincat.load(tmp_path / "without")
    assert without._ensemble_ is None
    for other in (loaded, without):
        found = other.predict(Phi, confidence=0.95).interval("cvar", 0.1)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_another_question_or_more_data_need_another_ensemble():
    model, Phi = fitted()
    before = model.ensemble_
    other = model.solve(intervals=20)
    assert other.predict(Phi, confidence=0.95).band()[0].shape == (3, 20)
    assert model.ensemble_ is before
    model.partial_fit(Phi[:2], [0.0, 0.5], Phi[1:])
    assert model.ensemble_ is not before


def test_states_of_which_the_data_say_nothing_are_known_to_be_unknown():
    seen = lincat.catalog.uniform_coin().process.sample(2000)
    for d, states in ((3, [0, 2]), (200, [0, 150])):
        model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0.0, 2.0, 4), n_features=d)
        model.fit(seen.state, seen.reward, seen.next_state)
        low, high = model.predict(states, confidence=0.95).interval("mean")
        assert np.isfinite(low).tolist() == [True, False]
        assert high[1] == np.inf


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, "high"])
def test_bad_confidence_is_named(confidence):
    model, Phi = fitted(100)
    with pytest.raises(lincat.InvalidInputError, match="confidence: expected"):
        model.predict(Phi, confidence=confidence)
