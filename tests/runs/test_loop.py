"""The loop: what it writes, and that a run which was killed and resumed is the same run."""

import functools
import io
import json
import math
import os
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest

import lincat
from lincat.data.steps import joined
from lincat.runs.config import EvaluationConfig, read_config
from lincat.runs.folder import RunFolder
from lincat.runs.holding_out import held_out_of_stream, held_out_rows
from lincat.runs.loop import EvaluationRun
from lincat.runs.run import read_run
from lincat.runs.sources import open_source
from tests.runs.logs import (
    KilledError,
    finish,
    in_small_batches,
    learned,
    run_until,
    run_whole,
    write_names,
    write_points,
    write_transitions,
)

FILES = {"points": write_points, "names": write_names, "transitions": write_transitions}
ENDINGS = {"points": "parquet", "names": "csv", "transitions": "parquet"}


def a_config(tmp_path, kind, **options):
    if kind in FILES:
        file = tmp_path / f"log.{ENDINGS[kind]}"
        options = {"gamma": 0.8, "warm_up": 700, "intervals": 20, "passes": 1, **options}
        return EvaluationConfig(source=[FILES[kind](file)], **options)
    return EvaluationConfig(source=[kind], steps=4000, warm_up=700, intervals=20, **options)


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "lincat-reader"]


# ------------------------------------------------------------------------------ what it writes


ALWAYS = {
    "checkpoints",
    "config.toml",
    "features.safetensors",
    "model.safetensors",
    "result.json",
    "states.json",
    "versions.json",
}


CENTRED = {
    f"{name}.safetensors" for name in ("potential", "potential_features", "scale", "scale_features")
}


@pytest.mark.parametrize(
    ("learner", "name", "more"),
    [
        ("auto", "CategoricalLSTD", CENTRED),
        ("linear_ctd", "LinearCTD", {"metrics.jsonl"}),
    ],
)
def test_a_finished_run_holds_all_its_files(tmp_path, learner, name, more):
    config = a_config(tmp_path, "points", validate=200, learner=learner)
    folder = run_whole(tmp_path / "run", config)
    assert {p.name for p in folder.path.iterdir()} == ALWAYS | more
    result = folder.answer
    json.loads(folder.result_file.read_text(), parse_constant=pytest.fail)
    assert result.complete is True
    assert result.gamma == 0.8
    assert result.learner == name
    assert result.returns.cdf_values.shape == (len(result.state_names), result.grid.intervals)
    assert lincat.load(folder.model_file).n_seen_ == result.transitions
    assert lincat.load_features(folder.features_file).describe() == result.features
    assert not list(folder.path.rglob(".*"))  # no drafts left
    assert readers() == []


def test_rows_of_the_curves_go_up(tmp_path, monkeypatch):
    in_small_batches(monkeypatch, rows=100)
    folder = run_whole(tmp_path / "run", a_config(tmp_path, "frozen_lake", learner="linear_ctd"))
    rows = folder.metrics()
    for key in ("transitions", "seconds"):
        values = [getattr(row, key) for row in rows]
        assert values == sorted(values)
    transitions = [row.transitions for row in rows]
    assert len(set(transitions)) == len(transitions)
    assert transitions[-1] == 4000
    n = len(folder.answer.state_names)
    for row in rows:
        assert len(row.mean) == len(row.quantile) == len(row.cvar) == n
        assert all(map(math.isfinite, [*row.mean, *row.quantile, *row.cvar]))
    distribution = read_run(folder.path).returns
    np.testing.assert_allclose(rows[-1].mean, distribution.mean())
    np.testing.assert_allclose(rows[-1].cvar, distribution.proper().cvar(0.05))


def test_progress_goes_up_and_ends(tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    folder = RunFolder.create(tmp_path / "run", a_config(tmp_path, "transitions", validate=100))
    said = finish(folder)
    assert said[0].doing == "reading"
    assert [p.doing for p in said[-2:]] == ["checking", "done"]
    seen = [p.transitions for p in said]
    assert seen == sorted(seen)
    assert said[-1].transitions == said[-1].total


def test_two_checkpoints_are_kept_while_it_runs(tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    folder = RunFolder.create(tmp_path / "run", a_config(tmp_path, "frozen_lake"))
    most = 0
    for _ in EvaluationRun(folder).run():
        most = max(most, len(folder.checkpoints._all()))
    assert most == 2
    assert folder.checkpoints.newest().name == f"{4000:012d}"


@pytest.mark.parametrize("learner", ["auto", "linear_ctd"])
@pytest.mark.parametrize("kind", ["paper", "frozen_lake", "names", "points"])
def test_its_own_settings_run_it_again_to_the_bit(tmp_path, kind, learner):
    config = a_config(tmp_path, kind, batch_size=3, seed=5, learner=learner)
    first = run_whole(tmp_path / "first", config)
    again = run_whole(tmp_path / "again", read_config(first.config_file))
    assert learned(again) == learned(first)
    one, other = (msgspec.structs.replace(f.answer, seconds=0.0) for f in (first, again))
    assert one == other


# ----------------------------------------------------------------------- the end of the process


@pytest.mark.parametrize("after", [1, 2500])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("paper", {}),
        ("paper", {"learner": "linear_ctd"}),
        ("frozen_lake", {"validate": 1}),
        ("frozen_lake", {"learner": "linear_ctd", "averaging": "full"}),
        (
            "frozen_lake",
            {
                "learner": "linear_ctd",
                "sampling": "generative",
                "dtype": "float32",
                "batch_size": 7,
            },
        ),
        ("points", {}),
        ("points", {"validate": 300, "features": "fourier", "feature_options": {"order": 2}}),
        ("points", {"n_step": 3}),
        ("points", {"n_step": 3, "batch_size": 7, "learner": "linear_pmf"}),
        ("points", {"learner": "variance_reduced_ctd"}),
        ("names", {"validate": 300, "n_step": 3, "batch_size": 7, "feature_options": {}}),
        ("names", {"n_step": 3, "batch_size": 7, "learner": "linear_ctd"}),
        ("names", {"learner": "softmax_ctd", "averaging": "none"}),
        ("transitions", {"validate": 300, "n_step": 3, "batch_size": 7}),
        ("transitions", {"n_step": 3, "batch_size": 7, "learner": "linear_ctd"}),
        ("transitions", {"steps": 3000, "learner": "unnormalised_ctd"}),
    ],
)
def test_killed_and_resumed_is_the_same_to_the_bit(tmp_path, monkeypatch, kind, options, after):
    in_small_batches(monkeypatch, rows=333)
    config = a_config(tmp_path, kind, **options)
    whole = run_whole(tmp_path / "whole", config)
    folder = RunFolder.create(tmp_path / "killed", config)
    with pytest.raises(KilledError):
        run_until(folder, after)
    assert not folder.finished
    assert folder.checkpoints.newest() is not None
    finish(folder)
    assert learned(folder) == learned(whole)
    # Rows of the curves depend on when batches came; bands and intervals do not.
    apart = {"seconds": 0.0, "curves": None}
    one, other = (msgspec.structs.replace(f.answer, **apart) for f in (whole, folder))
    assert one == other
    transitions = [row.transitions for row in folder.metrics()]
    assert transitions == sorted(set(transitions))


def test_after_a_damaged_checkpoint_the_one_before_leads_to_the_same(tmp_path, monkeypatch):
    in_small_batches(monkeypatch, rows=333)
    config = a_config(tmp_path, "points", learner="linear_ctd")
    whole = run_whole(tmp_path / "whole", config)
    folder = RunFolder.create(tmp_path / "killed", config)
    with pytest.raises(KilledError):
        run_until(folder, 2000)
    model = folder.checkpoints.newest() / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[-9] ^= 1  # of a number
    model.write_bytes(content)
    looked = read_run(folder.path)
    assert looked.answer.warnings[-1].code == "damaged_checkpoint"
    assert looked.model.done == int(folder.checkpoints.intact().place.name)
    finish(folder)
    assert learned(folder) == learned(whole)
    assert [x for x in folder.answer.notes if "checkpoint is damaged: the one before is used" in x]


@pytest.mark.parametrize("learner", ["auto", "linear_ctd"])
def test_a_stream_that_is_piped_again_goes_on_to_the_bit(tmp_path, monkeypatch, learner):
    in_small_batches(monkeypatch, rows=333)
    text = Path(write_names(tmp_path / "log.csv")).read_bytes()
    config = EvaluationConfig(
        source=["-"], format="csv", gamma=0.8, warm_up=1000, intervals=20, learner=learner
    )

    def pipe():
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))

    pipe()
    whole = run_whole(tmp_path / "whole", config)
    folder = RunFolder.create(tmp_path / "killed", config)
    pipe()
    with pytest.raises(KilledError):
        run_until(folder, 2000)
    pipe()
    finish(folder)
    assert learned(folder) == learned(whole)
    assert folder.answer.validation == whole.answer.validation
    held = held_out_of_stream(open_source_first(tmp_path, 1332), gamma=0.8)
    assert whole.answer.transitions == 4000 - held
    assert (whole.answer.learner == "CategoricalLSTD") == (learner == "auto")


def open_source_first(tmp_path, rows):
    """As many steps of the log as are looked at: batches of 333 until there are a thousand."""
    source = open_source(EvaluationConfig(source=[str(tmp_path / "log.csv")], gamma=0.8)).source
    return joined(list(source.batches()))[:rows]


@pytest.mark.parametrize("after", [2500, 3600, 4500, 8000])
def test_killed_in_any_pass_is_the_same_to_the_bit(tmp_path, monkeypatch, after):
    in_small_batches(monkeypatch, rows=900)
    config = a_config(
        tmp_path, "names", learner="linear_ctd", passes=3, validate=400, n_step=2, batch_size=7
    )
    whole = run_whole(tmp_path / "whole", config)
    in_pass = 4000 - held_out_rows(400, open_source(config))
    assert whole.answer.transitions == 3 * in_pass
    assert f"3 passes over {in_pass:,} transitions" in whole.answer.notes[-1]
    folder = RunFolder.create(tmp_path / "killed", config)
    with pytest.raises(KilledError):
        run_until(folder, after)
    finish(folder)
    assert learned(folder) == learned(whole)
    assert folder.answer.validation == whole.answer.validation


def test_passes_go_on_until_learning_has_settled(tmp_path):
    def passes(folder, **options):
        config = a_config(tmp_path, "names", **{"passes": "auto", "validate": 0, **options})
        return run_whole(tmp_path / folder, config).answer.transitions / 4000

    assert passes("a", learner="linear_ctd", step_size=1e-5) == 1  # it began at the solution
    slow = passes("b", learner="unnormalised_ctd", step_size=0.02)  # it did not
    assert 2 <= slow <= 10
    assert passes("c", learner="linear_ctd", averaging="none") == 1
    assert passes("d", learner="softmax_ctd") == 1
    assert passes("e", learner="linear_ctd", passes=2) == 2
    assert passes("f", passes=5) == 1  # what is solved from sums has nothing to learn twice


def test_a_stream_and_an_environment_are_not_read_twice(tmp_path, monkeypatch):
    text = Path(write_names(tmp_path / "log.csv")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    options = {"learner": "linear_ctd", "passes": 3, "validate": 0}
    config = EvaluationConfig(source=["-"], format="csv", gamma=0.8, warm_up=700, **options)
    assert run_whole(tmp_path / "stream", config).answer.transitions == 4000
    config = a_config(tmp_path, "frozen_lake", **options)
    assert run_whole(tmp_path / "process", config).answer.transitions == 4000


@pytest.mark.parametrize("learner", ["auto", "linear_ctd"])
def test_killed_again_and_again(tmp_path, monkeypatch, learner):
    in_small_batches(monkeypatch, rows=333)
    config = a_config(tmp_path, "names", validate=100, n_step=2, batch_size=4, learner=learner)
    whole = run_whole(tmp_path / "whole", config)
    folder = RunFolder.create(tmp_path / "killed", config)
    times = 0
    for after in range(100, 3700, 400):
        with pytest.raises(KilledError):
            run_until(folder, after)
        times += 1
    finish(folder)
    assert times == 9
    assert learned(folder) == learned(whole)


@pytest.mark.parametrize(
    ("kind", "learner"), [("names", "linear_ctd"), ("points", "auto"), ("paper", "auto")]
)
def test_killed_at_any_write_it_is_the_same_to_the_bit(tmp_path, monkeypatch, kind, learner):
    in_small_batches(monkeypatch, rows=1500)
    config = a_config(tmp_path, kind, learner=learner, n_states=2)
    whole = run_whole(tmp_path / "whole", config)
    replace, calls = os.replace, 0

    def count(source, target, last=None):
        nonlocal calls
        calls += 1
        if calls == last:
            raise KilledError
        replace(source, target)

    monkeypatch.setattr("os.replace", count)
    run_whole(tmp_path / "counted", config)
    assert calls > 15
    for last in range(3, calls + 1):  # after the settings, which make a folder a run
        calls = 0
        monkeypatch.setattr("os.replace", functools.partial(count, last=last))
        path = tmp_path / f"killed at {last}"
        with pytest.raises(KilledError):
            run_whole(path, config)
        monkeypatch.setattr("os.replace", replace)
        folder = RunFolder.open(path)
        assert not folder.finished
        finish(folder)
        assert learned(folder) == learned(whole)
        assert folder.answer.cdf == whole.answer.cdf
        transitions = [row.transitions for row in folder.metrics()]
        assert transitions == sorted(set(transitions))


def test_killed_before_the_first_checkpoint_it_starts_afresh(tmp_path, monkeypatch):
    in_small_batches(monkeypatch, seconds=1e9)
    config = a_config(tmp_path, "names", learner="linear_ctd")
    whole = run_whole(tmp_path / "whole", config)
    folder = RunFolder.create(tmp_path / "killed", config)
    with pytest.raises(KilledError):
        run_until(folder, 2500)
    assert folder.checkpoints.newest() is None
    assert folder.metrics()
    finish(folder)
    assert learned(folder) == learned(whole)
    rows, expected = ([row.transitions for row in f.metrics()] for f in (folder, whole))
    assert rows == expected


def test_stopped_it_finishes_and_goes_on(tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    config = a_config(tmp_path, "points", validate=300)
    whole = run_whole(tmp_path / "whole", config)
    folder = RunFolder.create(tmp_path / "stopped", config)
    run = EvaluationRun(folder)
    for progress in run.run():
        if progress.transitions >= 1000:
            run.stop()
    result = folder.answer
    assert result.complete is False
    assert result.validation is None
    assert 1000 <= result.transitions < whole.answer.transitions
    assert lincat.load(folder.model_file).n_seen_ == result.transitions
    assert readers() == []
    finish(folder)
    assert learned(folder) == learned(whole)
    assert folder.answer.validation == whole.answer.validation


def test_stopped_at_once_it_still_has_something_to_say(tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    folder = RunFolder.create(tmp_path / "run", a_config(tmp_path, "frozen_lake"))
    run = EvaluationRun(folder)
    run.stop()
    for _ in run.run():
        pass
    assert folder.answer.complete is False
    assert folder.answer.transitions >= 0
    finish(folder)
    assert folder.answer.transitions == 4000


def test_an_error_leaves_no_thread_behind(tmp_path, monkeypatch):
    in_small_batches(monkeypatch, rows=50)
    config = a_config(tmp_path, "frozen_lake", learner="linear_ctd", step_size=50.0)
    folder = RunFolder.create(tmp_path / "run", config)
    with pytest.raises(lincat.DivergenceError) as caught:
        finish(folder)
    assert readers() == []
    assert "\n" not in str(caught.value)


def test_of_a_run_that_diverges_the_last_good_model_is_kept(tmp_path, monkeypatch):
    in_small_batches(monkeypatch, rows=20)
    config = a_config(tmp_path, "frozen_lake", learner="linear_ctd", step_size=2.4)
    folder = RunFolder.create(tmp_path / "run", config)
    with pytest.raises(lincat.DivergenceError) as caught:
        finish(folder)
    assert 0 < int(folder.checkpoints.newest().name) < caught.value.transition
    found = read_run(folder.path).model.learner.predict(np.arange(16))
    assert np.abs(found.cdf_values).max() <= 10.0
    assert np.abs(found.mean()).max() <= 10.0 * found.grid.high


# -------------------------------------------------------------------------------- what it reads


@pytest.mark.parametrize("kind", ["points", "names", "transitions"])
@pytest.mark.parametrize("steps", [None, 3000])
def test_nothing_that_is_held_out_is_learned_from(tmp_path, monkeypatch, kind, steps):
    in_small_batches(monkeypatch)
    config = a_config(tmp_path, kind, validate=250, steps=steps)
    opened = open_source(config)
    everything = joined(list(opened.source.batches()))[:steps]
    held = held_out_rows(250, opened)
    folder = RunFolder.create(tmp_path / "run", config)
    run = EvaluationRun(folder)
    for progress in run.run():
        if progress.doing == "preparing":
            seen = []
            monkeypatch.setattr(
                "lincat.runs.model.Model.transitions", watched(seen, run_transitions)
            )
    assert folder.answer.transitions == len(everything) - held
    learned_from = joined(seen)
    assert len(learned_from) == len(everything) - held
    np.testing.assert_array_equal(learned_from.reward, everything.reward[:-held])


def run_transitions(model, steps):
    phi, phi_next = steps.both(model.features.transform)
    return lincat.Transitions(
        phi, steps.reward, phi_next, steps.terminated, steps.discount, steps.weight
    )


def watched(seen, function):
    def watch(model, steps):
        seen.append(steps)
        return function(model, steps)

    return watch


def test_the_learner_gets_what_it_would_get_by_hand(tmp_path):
    config = a_config(
        *(tmp_path, "points"),
        learner="linear_ctd",
        features="scaling",
        low=-5.0,
        high=5.0,
        batch_size=5,
        validate=0,
    )
    folder = run_whole(tmp_path / "run", config)
    steps = joined(list(open_source(config).source.batches()))
    features = lincat.Scaling().fit(steps.observation[:700])
    phi, phi_next = (
        features.transform(steps.observation),
        features.transform(steps.next_observation),
    )
    grid = lincat.Grid(-5.0, 5.0, 20)
    # It begins with the batch solution of the warm-up, drawn together by 15 rows.
    first = lincat.CategoricalLSTD(grid=grid, gamma=0.8, ridge=15 / 700)
    first.fit(phi[:700], steps.reward[:700], phi_next[:700], terminated=steps.terminated[:700])
    learner = lincat.LinearCTD(grid=grid, gamma=0.8).start_at(grid, first.Theta_, after=700)
    learner.partial_fit(phi, steps.reward, phi_next, terminated=steps.terminated, batch_size=5)
    model = lincat.load(folder.model_file)
    np.testing.assert_allclose(model.Theta_, learner.Theta_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.Theta_mean_, learner.Theta_mean_, rtol=1e-12, atol=1e-12)


def test_a_batch_larger_than_all_there_is_is_one_update(tmp_path):
    config = a_config(tmp_path, "paper", batch_size=10**15, learner="linear_ctd")
    folder = run_whole(tmp_path / "run", config)
    model = lincat.load(folder.model_file)
    assert (model.n_seen_, model.n_updates_) == (4000, 1)


def test_steps_beyond_the_limit_are_not_even_read(tmp_path, monkeypatch):
    in_small_batches(monkeypatch, rows=100)
    file = tmp_path / "log.csv"
    good = "".join(f"{i % 3},1\n" for i in range(500))
    file.write_text("state,reward\n" + good + "1,NaN\n")
    config = EvaluationConfig(source=[str(file)], gamma=0.5, steps=150, warm_up=50, validate=0)
    folder = run_whole(tmp_path / "run", config)
    assert folder.answer.transitions == 150


def test_more_to_hold_out_than_there_is_says_so(tmp_path):
    folder = RunFolder.create(tmp_path / "run", a_config(tmp_path, "names", validate=5000))
    with pytest.raises(lincat.InvalidInputError, match=r"none that are not held out .*5000"):
        finish(folder)


def test_features_chosen_are_explained_once(tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    folder = RunFolder.create(tmp_path / "run", a_config(tmp_path, "points"))
    with pytest.raises(KilledError):
        run_until(folder, 1000)
    finish(folder)
    notes = folder.answer.notes
    assert len(notes) == len(set(notes))
    columns, features, learner, held, grid = notes
    assert columns.startswith("Columns: observed obs_0, obs_1; reward; episode; step")
    assert held.endswith(" of 4,000 rows are held out, to check the figures.")
    assert features.startswith("Distributions about a potential V")
    assert learner == "Learner: the batch solution (CategoricalLSTD), from sums."
    assert grid.startswith("Grid: [")
