"""The model that a run begins with."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import joined
from lincat.runs.beginning import begin_model, pilot_rows
from lincat.runs.config import EvaluationConfig
from lincat.runs.sources import open_source
from tests.runs.logs import write_names, write_points


def begun(*source, rows=2000, **options):
    config = EvaluationConfig(source=list(source), **options)
    opened = open_source(config)
    sample = joined(list(opened.source.batches()))[:rows]
    return begin_model(sample, config, opened)


def test_how_many_rows_are_looked_at():
    def rows(**options):
        return pilot_rows(EvaluationConfig(**{"source": ["log.csv"], **options}))

    assert rows() == 200_000
    assert rows(source=["-"]) == rows(source=["-"], learner="lstd") == 200_000
    assert rows(learner="linear_ctd") == 10_000
    assert rows(warm_up=7) == rows(warm_up=7, learner="linear_ctd") == 7


def test_ids_are_a_table_solved_from_sums(tmp_path):
    model, steps, said = begun(write_names(tmp_path / "log.csv"), gamma=0.8)
    assert isinstance(model.features, lincat.Tabular)
    assert isinstance(model.learner, lincat.CategoricalLSTD)
    assert (model.potential, steps) == (None, 1)
    assert said[-1] == "Learner: the batch solution (CategoricalLSTD), from sums."


def test_points_get_smooth_features_about_a_potential(tmp_path):
    model, steps, said = begun(write_points(tmp_path / "log.parquet"), gamma=0.8)
    assert isinstance(model.features.beside, lincat.Smooth)
    assert isinstance(model.learner, lincat.CategoricalLSTD)
    assert model.done == 0
    assert "potential" in said[0] or "rewards of" in said[0]
    assert (model.potential is not None) == (steps == 1)


def test_what_is_given_is_kept(tmp_path):
    file = write_points(tmp_path / "log.parquet")
    model, steps, _ = begun(
        file, gamma=0.8, features="scaling", n_step=4, low=-3.0, high=5.0, intervals=40
    )
    assert isinstance(model.features, lincat.Scaling)
    assert model.learner.grid == lincat.Grid(-3.0, 5.0, 40)
    assert (model.potential, steps) == (None, 4)
    assert begun(file, gamma=0.8, n_step=3)[1] == 3
    assert begun(file, gamma=0.8, intervals=77)[0].learner.intervals == 77


@pytest.mark.parametrize("learner", ["linear_ctd", "linear_pmf", "softmax_ctd", "unnormalised_ctd"])
def test_step_by_step_where_it_is_asked_for(tmp_path, learner):
    file = write_points(tmp_path / "log.parquet")
    model, steps, said = begun(file, gamma=0.8, learner=learner)
    assert isinstance(model.learner, lincat.learners.registry.LEARNERS[learner])
    assert (model.potential, steps) == (None, 1)
    assert said[0].startswith("Features chosen: ")
    if learner.startswith("linear"):
        assert said[-1].startswith("Grid and first distributions: the batch solution of the first")
        assert model.learner.grid == "auto"  # it may grow
        model.learner.partial_fit(model.transitions(open_steps(file)[:1]))
    grid = model.learner.grid_ if learner.startswith("linear") else model.learner.grid
    assert -8.0 < grid.low < -3.0
    assert 3.0 < grid.high < 8.0
    assert 200 <= grid.intervals <= 400
    given = begun(file, gamma=0.8, learner=learner, low=-9.0, high=7.0, intervals=40)[0].learner
    assert given.grid == lincat.Grid(-9.0, 7.0, 40)
    few = begun(file, gamma=0.8, learner=learner, intervals=40)[0].learner
    assert few.intervals == 40


def open_steps(file):
    return joined(list(open_source(EvaluationConfig(source=[file], gamma=0.8)).source.batches()))


def test_a_process_with_features_keeps_them():
    model, _, _ = begun("paper", steps=500)
    assert isinstance(model.features, lincat.Lookup)
    assert isinstance(model.learner, lincat.CategoricalLSTD)


def test_a_table_too_large_for_sums_is_learned_step_by_step(monkeypatch):
    monkeypatch.setattr("lincat.runs.beginning._MOST_ROWS", 10)
    model, _, said = begun("frozen_lake", steps=500)
    assert isinstance(model.learner, lincat.LinearCTD)
    assert said[0] == "Learner: Linear-CTD, step by step, as sums of 16 features are too many."
    assert said[-1].endswith("first 500 transitions, with the same features.")
    model, _, _ = begun("frozen_lake", steps=500, learner="lstd")
    assert isinstance(model.learner, lincat.CategoricalLSTD)


def test_a_model_that_has_learned_nothing_knows_its_width(tmp_path):
    model, _, _ = begun(write_points(tmp_path / "log.parquet"), gamma=0.8)
    assert model.learner.n_features == model.features.n_features_
    assert np.isfinite(model.features.transform(np.zeros((1, 2)))).all()


def test_variance_reduction_begins_at_the_batch_solution_and_steps_may_decay(tmp_path):
    file = write_points(tmp_path / "log.parquet")
    model, _, said = begun(file, gamma=0.8, learner="variance_reduced_ctd")
    assert isinstance(model.learner, lincat.VarianceReducedCTD)
    assert said[-1].startswith("Grid and first distributions: the batch solution of the first")
    options = {"learner": "linear_ctd", "step_size": 0.5, "step_power": 0.6}
    decaying = begun(file, gamma=0.8, **options)[0].learner
    assert decaying.step_size == lincat.PolynomialDecay(0.5, 0.6)
