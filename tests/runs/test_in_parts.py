"""Logs that are summed by parts: as one stream is, and the same bits whoever sums."""

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lincat
from lincat._arguments import InvalidInputError
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun
from lincat.runs.parts import cut_in_parts
from lincat.runs.pools import open_pool
from lincat.runs.resuming import continued
from lincat.runs.run import Run
from lincat.runs.sources import open_source
from lincat.scale.pool import Here
from lincat.scale.processes import Processes
from tests.runs.logs import run_whole, write_names
from tests.scale.logs import GROUPS, config_of, learned, run_with, write_log


@pytest.fixture(autouse=True)
def disk_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("lincat._files.os.fsync", lambda _: None)


@pytest.mark.parametrize("options", [{}, {"n_step": 3, "validate": 300}])
def test_by_parts_is_as_in_one_stream(tmp_path, options):
    log = write_log(tmp_path)
    stream = Run(run_whole(tmp_path / "stream", config_of(log, **options)))
    parts = Run(run_with(tmp_path / "parts", config_of(log, workers=1, **options), Here()))
    one, other = (run.model.learner.statistics_ for run in (stream, parts))
    assert one.trace == other.trace  # the same rows, held out and summed
    for name in ("Sigma", "phi_sum", "cross"):
        left, right = (getattr(x.totals(), name) for x in (one, other))
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-12 * np.abs(left).max())
    np.testing.assert_allclose(stream.returns.mean(), parts.returns.mean(), rtol=1e-9)
    said = [run.answer.validation.description for run in (stream, parts)]
    assert said[0] == said[1]  # so many held-out returns
    assert not (parts.path / "parts").exists()


class _Murderer(Processes):
    """Kills a process of its own whenever some pieces are done."""

    def __init__(self, kills):
        super().__init__(2)
        self.kills = kills

    def results(self, job, numbers):
        for done, piece in enumerate(super().results(job, numbers)):
            yield piece
            if done % 5 == 0 and self.kills:
                self.kills -= 1
                os.kill(next(iter(self.pids)), signal.SIGKILL)


def test_processes_and_their_deaths_change_no_bit(tmp_path):
    config = config_of(write_log(tmp_path), workers=2)
    serial = run_with(tmp_path / "serial", config, Here())
    murderer = _Murderer(kills=3)
    assert learned(run_with(tmp_path / "killed", config, murderer)) == learned(serial)
    assert murderer.kills == 0


class _Lost:
    """A pool that is lost after some pieces, and counts those that it is asked for."""

    description, notes = "nobody", ()

    def __init__(self, after):
        self.after, self.asked = after, 0

    def results(self, job, numbers):
        self.asked = len(numbers)
        for done, piece in enumerate(Here().results(job, numbers)):
            if done == self.after:
                raise InvalidInputError("lost")
            yield piece

    def close(self):
        pass


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run to the end."""
    place = tmp_path_factory.mktemp("whole")
    return run_with(place / "run", config_of(write_log(place), workers=1), Here())


def test_what_is_done_is_kept(tmp_path, monkeypatch, whole):
    config = whole.config
    with pytest.raises(InvalidInputError, match=r"lost; 17 of \d+ parts are kept: lincat res") as e:
        run_with(tmp_path / "run", config, _Lost(after=17))
    parts = int(str(e.value).split()[3])
    later = _Lost(after=GROUPS)
    monkeypatch.setattr("lincat.runs.resuming.open_pool", lambda *_: later)
    folder = RunFolder.open(tmp_path / "run")
    for _ in continued(folder, workers=1).run():
        pass
    assert later.asked == parts - 17
    assert parts >= 40
    assert learned(folder) == learned(whole)
    assert not folder.parts.exists()


def test_a_run_that_is_stopped_amid_parts_continues(tmp_path, whole):
    """As Ctrl-C does: an answer from the parts that are there, and later one from all."""
    folder = RunFolder.create(tmp_path / "run", whole.config)
    run = EvaluationRun(folder, open_source(whole.config), pool=Here())
    for _ in run.run():
        if folder.parts.is_dir() and len(list(folder.parts.iterdir())) == 5:
            run.stop()
    assert not folder.answer.complete
    assert len(list(folder.parts.iterdir())) == 5
    for _ in continued(folder, workers=1).run():
        pass
    assert learned(folder) == learned(whole)


def test_a_run_that_is_killed_after_its_last_part_forgets_them_too(tmp_path, whole, monkeypatch):
    folder = RunFolder.create(tmp_path / "run", whole.config)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as before_the_answer:
        before_the_answer.setattr(EvaluationRun, "_conclude", killed)
        with pytest.raises(KeyboardInterrupt):
            for _ in EvaluationRun(folder, open_source(whole.config), pool=Here()).run():
                pass
    assert any(folder.parts.iterdir())
    for _ in continued(RunFolder.open(folder.path), workers=1).run():
        pass
    assert learned(folder) == learned(whole)
    assert not folder.parts.exists()


def test_too_few_rows_for_the_features(tmp_path):
    pq.write_table(
        pa.table({"x": [0.1, 0.5, 0.3], "reward": [1.0, 0.0, 1.0]}), tmp_path / "a.parquet"
    )
    config = config_of(tmp_path / "a.parquet", feature_options={"order": 9}, validate=0, workers=1)
    with pytest.raises(
        InvalidInputError, match=r"at least 10 rows, for as many features, got 3; use"
    ):
        run_with(tmp_path / "run", config, Here())
    sums = lincat.stats(tmp_path / "a.parquet", features="fourier", feature_options={"order": 9})
    with pytest.raises(InvalidInputError, match="statistics: expected at least 10 rows"):
        sums.returns(gamma=0.9)


def test_ids_and_rewards_that_come_late_are_the_same_in_all_parts(tmp_path):
    rows, rng = 2000, np.random.default_rng(0)
    late = np.arange(rows) >= 1000
    state = np.where(late, rng.integers(0, 300, rows), rng.integers(0, 4, rows))
    reward = np.where(late, rng.normal(size=rows), state % 2)
    table = {"state": [f"s{x}" for x in state], "reward": reward, "step": np.arange(rows)}
    pq.write_table(pa.table(table), tmp_path / "log.parquet", row_group_size=100)
    log = tmp_path / "log.parquet"
    options = {"features": "tabular", "feature_options": {}, "warm_up": 500, "validate": 0}
    options |= {"learner": "lstd"}
    parts = Run(run_with(tmp_path / "parts", config_of(log, workers=1, **options), Here()))
    room = {**options, "feature_options": {"capacity": 400}}
    stream = Run(run_whole(tmp_path / "stream", config_of(log, **room)))
    assert parts.model.features.ids_ == stream.model.features.ids_  # in the order of the log
    asked = [f"s{x}" for x in range(4)]
    got, expected = (run.predict(asked).mean() for run in (parts, stream))
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_nothing_is_left_of_a_run_that_fails_at_once(tmp_path):
    log = write_log(tmp_path)
    config = config_of(log, workers=1)
    opened = open_source(config)
    (tmp_path / "1.parquet").write_bytes(b"PAR1 and then nothing")
    folder = RunFolder.create(tmp_path / "run", config)
    with pytest.raises(InvalidInputError, match=r"1\.parquet"), folder.kept_if_learned():
        list(EvaluationRun(folder, opened, pool=Here()).run())
    assert not (tmp_path / "run").exists()


def test_parts_are_whole_row_groups_and_not_too_many():
    parts = cut_in_parts([10] * 10_000, held=[], cuts=False)
    assert len(parts) == 64
    assert parts[0][0].stop == parts[1][0].first
    huge = cut_in_parts([10**6] * 10**4, held=[], cuts=False)
    assert 3000 < len(huge) <= 4096


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "linear_ctd"}, "--learner lstd, which adds sums up, got linear_ctd"),
        ({"steps": 500}, "no --steps: all rows count, got 500; leave one of them out"),
        ({"window": 500}, "no --window: all rows count"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "nothing beside --scheduler, got 2; leave one out"),
    ],
)
def test_what_cannot_be_done_by_parts_is_refused_at_once(tmp_path, options, message):
    config = config_of(write_log(tmp_path), workers=2, **options)
    with pytest.raises(InvalidInputError, match=message):
        open_pool(config, open_source(config))


def test_only_row_groups_are_parts(tmp_path):
    file = write_names(tmp_path / "log.csv", rows=100)
    with pytest.raises(InvalidInputError, match="Parquet files, a Dask frame or a dataset of Arr"):
        lincat.evaluate(file, gamma=0.9, workers=2)
    with pytest.raises(InvalidInputError, match="a log, got statistics; they are summed already"):
        open_pool(EvaluationConfig(source=["-"], workers=2), None)
