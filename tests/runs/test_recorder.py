"""Learning recorder: few rows for long runs, none twice, and error bars that go on after a kill."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps, joined
from lincat.inference.settling import Settling
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.model import Model
from lincat.runs.recorder import Recorder, _after
from lincat.runs.shown import choose_states
from lincat.runs.sources import open_source

CONFIG = EvaluationConfig(source=["frozen_lake"], steps=40_000, level=0.1)


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run", CONFIG)


@pytest.fixture(scope="module")
def steps():
    return joined(list(open_source(CONFIG).source.batches()))


def begin(folder, steps, make=lincat.LinearCTD, **options):
    features = lincat.Tabular(n_states=16).fit(steps.observation)
    learner = make(grid=lincat.Grid(0.0, 1.0, 10), gamma=0.95, n_features=16, **options)
    shown = choose_states(steps.observation, np.array([0]), n_states=3, seed=0)
    model = Model(features, learner)
    return model, shown, Recorder(folder, model, shown)


def learn(model, recorder, steps, size, start=0):
    for i in range(start, len(steps), size):
        model.learner.partial_fit(model.transitions(steps[i : i + size]))
        recorder.record(i / 1e6)


def test_rows_come_ever_more_seldom(folder, steps):
    model, _, recorder = begin(folder, steps)
    learn(model, recorder, steps, size=10)
    transitions = np.array([row.transitions for row in folder.metrics()])
    assert transitions[0] >= 1024
    assert 32 <= len(transitions) <= 32 * np.log2(40_000 / 1024) + 2
    assert np.diff(transitions / np.roll(transitions, 1)).max() < 1.1


def test_the_last_row_is_written_once(folder, steps):
    model, _, recorder = begin(folder, steps)
    learn(model, recorder, steps[:2000], size=500)
    recorder.record(1.0, last=True)
    recorder.record(2.0, last=True)
    transitions = [row.transitions for row in folder.metrics()]
    assert transitions == [1500, 2000]


def test_a_short_run_has_a_row_all_the_same(folder, steps):
    model, _, recorder = begin(folder, steps)
    learn(model, recorder, steps[:10], size=10)
    recorder.record(1.0, last=True)
    assert [row.transitions for row in folder.metrics()] == [10]


def test_rows_say_what_the_model_says(folder, steps):
    model, shown, recorder = begin(folder, steps)
    learn(model, recorder, steps[:2000], size=2000)
    (row,) = folder.metrics()
    distribution = model.predict_shown(shown)
    assert row.mean == tuple(distribution.mean())
    assert row.quantile == tuple(distribution.proper().quantile(0.1))
    assert row.cvar == tuple(distribution.proper().cvar(0.1))
    assert row.negative_mass == distribution.negative_mass.max()
    clipped = [row.clipped_below, row.clipped_above]
    np.testing.assert_array_equal(clipped, model.learner.clipped_mass_)


def test_after_a_kill_it_goes_on_without_rows_that_were_lost(folder, steps, tmp_path):
    model, shown, recorder = begin(folder, steps)
    learn(model, recorder, steps[:10_000], size=100)
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    for name, content in recorder.files().items():
        (checkpoint / name).write_bytes(content)
    model.learner.save(checkpoint / "model.safetensors")
    learn(model, recorder, steps[:12_000], size=100, start=10_000)
    rows = folder.metrics()

    again = Model(model.features, lincat.load(checkpoint / "model.safetensors"))
    resumed = Recorder.read(checkpoint, folder, again, shown)
    assert max(row.transitions for row in folder.metrics()) <= 10_000
    learn(again, resumed, steps[:12_000], size=100, start=10_000)
    resumed.record(1.0, last=True)
    after = [row.transitions for row in folder.metrics()]
    assert after == sorted(set(after))
    assert after[-1] == 12_000
    assert len(after) >= len(rows)
    assert resumed.moves.n_batches >= recorder.moves.n_batches - 1
    cdf = again.predict_shown(shown).cdf_values
    assert np.abs(resumed.moves.mean() - cdf).max() < 0.05


@pytest.mark.parametrize(
    ("make", "options", "is_watched"),
    [
        (lincat.LinearCTD, {}, True),
        (lincat.LinearPMF, {"averaging": "full"}, True),
        (lincat.UnnormalisedCTD, {}, True),
        (lincat.LinearCTD, {"averaging": "none"}, False),
        (lincat.SoftmaxCTD, {}, False),
    ],
)
def test_settling_is_watched_where_it_can_be(folder, steps, make, options, is_watched):
    model, _, recorder = begin(folder, steps, make, **options)
    learn(model, recorder, steps[:3000], size=100)
    assert (recorder.moves is not None) == is_watched
    assert bool(recorder.files()) == is_watched
    assert len(folder.metrics()) > 10


def test_the_next_row_is_never_now():
    for solves in (False, True):
        assert all(_after(done, solves) > done for done in (0, 1, 1023, 1024, 10**6, 10**12))


@pytest.mark.parametrize("live", [False, True])
def test_a_live_stream_is_solved_with_every_doubling(folder, steps, monkeypatch, live):
    monkeypatch.setattr("lincat.runs.recorder._FIRST_SOLVED", 1000)
    features = lincat.Tabular(n_states=16).fit(steps.observation)
    learner = lincat.CategoricalLSTD(gamma=0.95, n_features=16, intervals=20)
    shown = choose_states(steps.observation, np.array([0]), n_states=3, seed=0)
    model = Model(features, learner)
    recorder = Recorder(folder, model, shown, live=live)
    learn(model, recorder, steps[:5000], size=500)
    recorder.record(1.0, last=True)
    rows = folder.metrics()
    assert [row.transitions for row in rows] == ([1000, 2000, 4000, 5000] if live else [])
    if live:
        assert rows[-1].mean == tuple(model.predict_shown(shown).mean())
        assert recorder.files() == {}


def test_running_figures_wait_until_there_is_an_answer(folder, monkeypatch):
    monkeypatch.setattr("lincat.runs.recorder._FIRST_SOLVED", 100)
    features = lincat.Tabular(n_states=2).fit(np.arange(2))
    state, no = np.tile([0, 1], 100), np.zeros(200, dtype=bool)
    walk = Steps(state, np.ones(200), 1 - state, no, no)
    model = Model(features, lincat.CategoricalLSTD(gamma=1.0, n_features=2))
    recorder = Recorder(
        folder, model, choose_states(state, np.array([0]), n_states=2, seed=0), live=True
    )
    learn(model, recorder, walk, size=100)  # at gamma = 1, and no episode has ended
    assert folder.metrics() == []
    with pytest.raises(lincat.InvalidInputError):
        model.predict_shown(recorder.shown)


def test_what_is_watched_begins_anew_when_features_grow(folder, steps):
    model, shown, recorder = begin(folder, steps)
    learn(model, recorder, steps[:3000], size=100)
    before = recorder.moves
    recorder.look_again()
    assert recorder.moves is not before
    empty = Settling(model.mean_features(shown)).state()
    for name, value in recorder.moves.state().items():
        np.testing.assert_array_equal(value, empty[name])
    silent = begin(RunFolder.create(folder.path.parent / "other", CONFIG), steps, averaging="none")
    silent[2].look_again()
    assert silent[2].moves is None
