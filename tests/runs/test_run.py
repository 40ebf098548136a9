"""Finished runs as objects."""

import numpy as np
import pandas as pd
import pytest

import lincat
from lincat.runs.asking import Figures, answered, wanted_by
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.tables.asked import read_asked
from tests.runs.logs import write_points


def test_what_comes_back_is_what_is_on_disk(tmp_path):
    file = write_points(tmp_path / "log.parquet")
    run = lincat.evaluate(file, out=tmp_path / "run", gamma=0.8, validate=200, intervals=10)
    again = lincat.read_run(str(tmp_path / "run"))
    assert again.names == run.names
    assert again.answer == run.answer
    assert again.config == run.config
    assert (again.trusted, again.verdict) == (run.trusted, run.verdict)
    assert run.answer.curves is None
    assert again.warnings == run.warnings
    assert again.validation == run.validation
    assert again.validation["all"].n_returns == 200
    points = np.array([[0.0, 0.0], [1.0, -1.0]])
    np.testing.assert_array_equal(again.predict(points).cdf_values, run.predict(points).cdf_values)
    assert run.returns.cdf_values.shape == (len(run.names), run.answer.grid.intervals)


def test_a_run_answers_with_proper_distributions_everywhere(tmp_path):
    """Also where what was learned is signed: one mean, not two."""
    x = np.cumsum(np.random.default_rng(3).normal(size=1000))
    frame = pd.DataFrame({"x": x, "reward": x})  # no CDF of it is a line in x, as features would be
    run = lincat.evaluate(frame, out=tmp_path / "run", gamma=0.7, features="scaling", validate=0)
    asked = frame[["x"]][::100]
    points = asked.to_numpy()
    learned, found = run.model.predict(points, confidence=0.9), run.predict(points, confidence=0.9)
    assert learned.negative_mass.max() > 0.01
    assert np.abs(learned.mean() - learned.proper().mean()).max() > 1e-3
    assert found.negative_mass.max() == 0.0
    np.testing.assert_array_equal(found.cdf_values, learned.proper().cdf_values)
    assert (found.std() >= 0.0).all()
    low, high = found.interval("mean")
    assert ((low <= found.mean()) & (found.mean() <= high)).all()
    rows, _ = answered(run, read_asked(asked, wanted_by(run)), Figures((0.5,), 0.1))
    np.testing.assert_allclose(rows["mean"], found.mean(), rtol=1e-9)
    np.testing.assert_allclose(rows["negative_mass"], learned.negative_mass, atol=1e-9)
    shown = run.summary_frame()
    np.testing.assert_allclose(shown["mean"], run.returns.mean(), rtol=1e-9)
    assert run.returns.negative_mass.max() == 0.0


def test_what_is_no_finished_run_is_one_line(tmp_path):
    with pytest.raises(lincat.InvalidInputError, match="expected the folder of a run"):
        lincat.read_run(tmp_path)
    RunFolder.create(tmp_path / "run", EvaluationConfig(source=["paper"]))
    with pytest.raises(lincat.InvalidInputError, match="expected a finished run"):
        lincat.read_run(tmp_path / "run")


def test_features_that_run_code_need_trust(tmp_path):
    file = write_points(tmp_path / "log.parquet", rows=500)
    run = lincat.evaluate(
        file,
        out=tmp_path / "run",
        gamma=0.5,
        features="sklearn.preprocessing:StandardScaler",
    )
    point = np.zeros((1, 2))
    mean = run.predict(point).mean()
    with pytest.raises(lincat.InvalidInputError, match="trust_code"):
        lincat.read_run(tmp_path / "run").predict(point)
    trusted = lincat.read_run(tmp_path / "run", trust_code=True)
    assert trusted.predict(point).mean() == mean


def test_the_page_from_python(tmp_path):
    run = lincat.evaluate("frozen_lake", out=tmp_path / "run", steps=100_000, validate=1)
    assert run.trusted
    assert run.report() == tmp_path / "run" / "report.html"
    page = run.report().read_text()
    assert str(tmp_path / "run" / "config.toml") in page
    careful = run.report(tmp_path / "careful.html", level=0.01, threshold=0.5)
    assert "The chance to end below 0.5 is" in careful.read_text()
    assert "The chance to end below" not in page
    # The same page, but for the command that only a run knows.
    assert lincat.page(run.answer).count("<section") == page.count("<section")


def test_an_answer_on_the_states_of_another_run(tmp_path):
    one = lincat.evaluate("frozen_lake", out=tmp_path / "one", steps=3000, n_states=2)
    two = lincat.evaluate("frozen_lake", out=tmp_path / "two", steps=3000, n_states=5, seed=1)
    answer = two.answer_on(one.shown)
    assert answer.state_names == one.answer.state_names
    assert answer.bands is None
    expected = two.model.predict_shown(one.shown).cdf_values
    np.testing.assert_array_equal(answer.returns.cdf_values, expected)
