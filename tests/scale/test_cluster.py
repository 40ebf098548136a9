"""A real Dask cluster of separate processes: its workers and its scheduler may die."""

import os
import signal
import subprocess
import sys
import time

import pytest

import lincat
from lincat._arguments import InvalidInputError
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.resuming import continued
from lincat.scale.cluster import Cluster
from lincat.scale.pool import Here
from tests.scale.logs import config_of, learned, run_with, write_log

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of Dask's own threads and sockets, as they are killed
]


def lincat_cluster(**options):
    """Two processes, as `dask worker` starts them."""
    quiet = {"dashboard_address": None, "silence_logs": 60, "threads_per_worker": 1}
    return distributed.LocalCluster(n_workers=2, processes=True, **quiet, **options)


class _Killing(Cluster):
    """Kills a worker whenever some pieces are done."""

    kills = 0

    def results(self, job, numbers):
        for done, piece in enumerate(super().results(job, numbers)):
            yield piece
            if done % 8 == 0 and self.kills:
                self.kills -= 1
                alive = self._client.run(os.getpid, on_error="ignore")
                os.kill(next(iter(alive.values())), signal.SIGKILL)


@pytest.fixture(scope="module")
def client():
    with lincat_cluster() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    log = write_log(folder)
    return log, run_with(folder / "run", config_of(log, workers=1), Here())


@pytest.mark.parametrize("kills", [1, 3])
def test_workers_may_die(client, serial, tmp_path, kills):
    log, expected = serial
    pool = _Killing(client)
    pool.kills = kills
    config = config_of(log, scheduler=client.scheduler.address)
    assert learned(run_with(tmp_path / "run", config, pool)) == learned(expected)
    assert pool.kills == 0


def test_a_worker_needs_lincat(client, monkeypatch):
    monkeypatch.setattr("lincat.scale.cluster.__version__", "99.9")
    with pytest.raises(InvalidInputError, match=r"lincat 99.9 on each, got lincat .* pip install"):
        Cluster(client)


def test_a_worker_without_lincat(client):
    def hide():
        import sys

        names = [name for name in sys.modules if name.partition(".")[0] == "lincat"]
        sys.hidden = {name: sys.modules.pop(name) for name in names}
        sys.modules["lincat"] = None  # as if it were not installed

    def show():
        import sys

        sys.modules.update(sys.hidden)
        if not sys.hidden:
            del sys.modules["lincat"]

    client.run(hide)
    try:
        with pytest.raises(InvalidInputError, match=r"lincat .* on each, got none .* pip install"):
            Cluster(client)
    finally:
        client.run(show)


def test_a_part_that_cannot_be_read_is_one_line(client, serial, tmp_path):
    log = write_log(tmp_path)
    config = config_of(log, scheduler=client.scheduler.address)
    pool = _Spoiling(client, tmp_path / "1.parquet")
    with pytest.raises(InvalidInputError, match=r"1\.parquet: expected a readable Parquet file"):
        run_with(tmp_path / "run", config, pool)


class _Spoiling(Cluster):
    """Damages a file before the work begins."""

    def __init__(self, client, file):
        super().__init__(client)
        self.file = file

    def results(self, job, numbers):
        self.file.write_bytes(b"PAR1 and then nothing")
        return super().results(job, numbers)


def test_python_takes_a_client(client, serial, tmp_path):
    log, expected = serial
    options = {"features": "fourier", "feature_options": {"order": 2}, "gamma": 0.9}
    # local:// is the disk by way of fsspec, as workers read s3://
    run = lincat.evaluate(f"local://{log}", client=client, intervals=40, **options)
    assert run.answer.cdf == expected.answer.cdf
    assert any("MALLOC_TRIM_THRESHOLD_" in note for note in run.answer.notes)


def test_frames_of_dask_are_summed_where_they_are_made(client, serial, tmp_path):
    """By two workers, and by this process: the same bits."""
    dataframe = pytest.importorskip("dask.dataframe")
    log, _ = serial
    frame = dataframe.read_parquet(sorted(log.parent.glob("*.parquet")))
    options = {"features": "fourier", "feature_options": {"order": 2}, "gamma": 0.9}
    options |= {"intervals": 40, "validate": 0}
    one = lincat.evaluate(frame, client=client, **options)
    other = lincat.evaluate(frame, workers=1, **options)
    assert one.answer.cdf == other.answer.cdf
    with client.as_current():
        kept = frame.persist()
    with pytest.raises(InvalidInputError, match=r"before persist\(\), or write it as Parquet"):
        lincat.evaluate(kept, client=client, **options)


def test_a_scheduler_that_is_not_there(monkeypatch):
    with pytest.raises(InvalidInputError, match="such as tcp://HOST:8786, got nowhere"):
        Cluster.at("nowhere")
    monkeypatch.setattr("lincat.scale.cluster._SECONDS", 0.5)
    with pytest.raises(InvalidInputError, match=r"scheduler at tcp://127\.0\.0\.1:9, got none"):
        Cluster.at("tcp://127.0.0.1:9")


def started(*words):
    """A command of Dask, as from a shell."""
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:], "--no-dashboard"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scheduler_and_worker(port):
    scheduler = started("dask_scheduler", "--port", str(port), "--host", "127.0.0.1")
    worker = started("dask_worker", f"tcp://127.0.0.1:{port}", "--no-nanny", "--nthreads", "1")
    return scheduler, worker


class _SchedulerDies(Cluster):
    victim = None

    def results(self, job, numbers):
        for done, piece in enumerate(super().results(job, numbers)):
            yield piece
            if done == 10 and self.victim is not None:
                self.victim.kill()
                self.victim.wait()


def test_a_scheduler_that_is_lost_costs_what_was_under_way(serial, tmp_path, monkeypatch):
    log, expected = serial
    monkeypatch.setattr("lincat.scale.cluster._SECONDS", 20.0)
    port = 20000 + os.getpid() % 20000
    address = f"tcp://127.0.0.1:{port}"
    processes = scheduler_and_worker(port)
    try:
        pool = connected(_SchedulerDies, address)
        pool.victim = processes[0]
        monkeypatch.setattr("lincat.scale.cluster._SECONDS", 1.0)
        config: EvaluationConfig = config_of(log, scheduler=address)
        with pytest.raises(InvalidInputError, match=r"it was lost.*parts are kept: lincat resume"):
            run_with(tmp_path / "run", config, pool)
        folder = RunFolder.open(tmp_path / "run")
        assert len(list(folder.parts.iterdir())) > 10
        monkeypatch.setattr("lincat.scale.cluster._SECONDS", 20.0)
        processes = (*processes, *scheduler_and_worker(port + 1))
        for _ in continued(folder, scheduler=f"tcp://127.0.0.1:{port + 1}").run():
            pass
        assert learned(folder) == learned(expected)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def connected(kind, address, seconds=20.0):
    """A pool of a scheduler that may not be up yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            return kind.at(address)
        except InvalidInputError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
