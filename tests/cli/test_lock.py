"""One process at a time writes into a run folder, whatever the others try; death lets go of it."""

import os
import signal
from contextlib import suppress

import pytest

from lincat.runs.lock import Lock
from tests.cli.command import assert_one_line, lincat_here
from tests.runs.logs import write_points

SMALL = ("--gamma", 0.5, "--intervals", 10, "--warm-up", 500, "--validate", 0, "--quiet")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log, a run of half of it, and its statistics."""
    place = tmp_path_factory.mktemp("locked")
    log = write_points(place / "log.parquet", rows=2000)
    half = ("evaluate", log, "--steps", 1000, *SMALL, "--out", place / "run")
    assert lincat_here(*half).code == 0
    assert lincat_here("stats", log, "--out", place / "log.stats", "--quiet").code == 0
    return place


@pytest.fixture
def other(place):
    """Another process that writes into the run's folder, as a second resume would."""
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lock = Lock(place / "run")
            lock.claim()
            os.write(say, b"mine")
            signal.pause()
        finally:
            os._exit(1)
    assert os.read(said, 4) == b"mine"
    yield child
    with suppress(ProcessLookupError):  # which a test may have ended
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(said)
    os.close(say)


def files(place):
    run = place / "run"
    return {x: x.read_bytes() for x in run.rglob("*") if x.is_file() and x.name != "report.html"}


def test_whatever_would_write_into_a_live_run_is_refused(place, other):
    before, log = files(place), place / "log.parquet"
    for command in (
        ("resume", place / "run", "--steps", 1500),
        ("evaluate", log, "--out", place / "run", "--force", *SMALL),
        ("evaluate", place / "log.stats", "--gamma", 0.5, "--out", place / "run", "--force"),
        ("validate", place / "run", log),
    ):
        assert_one_line(lincat_here(*command), f"process {other} is learning")
    assert files(place) == before


def test_reading_a_live_run_and_whole_files_beside_it_are_fine(place, other):
    """A page and statistics are one file each, which appears whole or not at all."""
    before, stats = files(place), place / "run" / "more.stats"
    for command in (
        ("predict", place / "run"),
        ("report", place / "run"),
        ("export", place / "run", "--out", place / "small", "--force"),
        ("stats", place / "log.parquet", "--out", stats, "--quiet"),
        ("merge", place / "log.stats", place / "log.stats", "--out", stats),
    ):
        ended = lincat_here(*command)
        assert ended.code in (0, 2), ended.err  # merge may say that the rows are the same
        assert "Traceback" not in ended.err
    stats.unlink()
    assert files(place) == before


def test_death_lets_go(place, other):
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    assert (place / "run" / "lock").exists()
    ended = lincat_here("resume", place / "run", "--steps", 1200, "--quiet")
    assert ended.code == 0, ended.err
    assert not (place / "run" / "lock").exists()
