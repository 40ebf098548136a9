"""Folders from strangers: links and pipes where a run has files, and two who write at once.

Nothing outside of the folder may be written or removed, and nothing but regular files is read.
"""

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

import lincat
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun
from tests.cli.command import lincat_here
from tests.runs import logs

SMALL = {"gamma": 0.9, "intervals": 10, "n_states": 2, "validate": 0}
FORCE = ("--force", "--quiet", "--gamma", 0.9, "--intervals", 10, "--validate", 0, "--steps", 600)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run, one that was cut off, a log, and statistics."""
    place = tmp_path_factory.mktemp("made")
    log = logs.write_names(place / "log.csv", 1500)
    with pytest.MonkeyPatch.context() as patch:
        logs.in_small_batches(patch, rows=250)
        logs.run_whole(place / "done", EvaluationConfig(source=[log], **SMALL))
        cut = EvaluationConfig(source=[log], learner="linear_ctd", **SMALL)
        folder = RunFolder.create(place / "cut", cut)
        with pytest.raises(logs.KilledError):
            logs.run_until(folder, 700)
    assert folder.checkpoints.newest() is not None
    lincat.stats(log).save(place / "log.stats")
    return place


@pytest.fixture
def place(made, tmp_path):
    """Copies of them."""
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made"


@pytest.fixture
def outside(tmp_path):
    """Files that no run has to do with."""
    folder = tmp_path / "outside"
    (folder / "000000000001").mkdir(parents=True)
    (folder / "000000000001" / "diary").write_text("dear diary")
    (folder / f"{12 * 'a'}-000001").write_text("a part, to judge by its name")
    (folder / ".result.json.abcdefgh").write_text("a draft, likewise")
    (folder / "thesis").write_text("as long as it is")
    os.link(folder / "thesis", folder / "kept")
    before = contents(folder)
    yield folder
    assert contents(folder) == before


@pytest.fixture(autouse=True)
def _in_time():
    """What waits for a pipe that nobody writes into would wait for ever."""

    def late(*_):
        raise HangError  # no OSError, which would be taken for one of the file's

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class HangError(BaseException):
    """Raised into whatever takes too long."""


def contents(folder):
    return {x: x.read_bytes() if x.is_file() else None for x in folder.rglob("*")}


def ends_well(*arguments):
    """Run a command, which may succeed or be refused in one line; return what it said."""
    ended = lincat_here(*arguments)
    assert ended.code in (0, 2, 3), ended.err
    assert "Traceback" not in ended.err
    assert len([x for x in ended.err.splitlines() if x.startswith("Error")]) == (ended.code > 0)
    return ended


def commands(place, run):
    """All that writes into a run folder."""
    log = place / "log.csv"
    yield ("resume", place / run, "--quiet")
    yield ("resume", place / run, "--steps", 1400, "--quiet")
    yield ("validate", place / run, log, "--quiet")
    yield ("report", place / run, "--quiet")
    yield ("export", place / "done", "--out", place / run, *FORCE[:2])
    yield ("evaluate", log, "--out", place / run, *FORCE)
    yield ("evaluate", place / "log.stats", "--out", place / run, *FORCE[:6])


FILES = ("config.toml", "versions.json", "states.json", "metrics.jsonl", "model.safetensors")
FILES += ("features.safetensors", "result.json", "report.html", "lock")
FOLDERS = ("checkpoints", "parts")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("run", ["done", "cut"])
def test_links_in_the_place_of_files_lead_nowhere(place, outside, run, name):
    """Also where the link is another name of a file, which nothing tells from its first."""
    for link in (Path.symlink_to, Path.hardlink_to):
        for words in commands(place, run):
            file = place / run / name
            file.unlink(missing_ok=True)
            link(file, outside / "thesis")
            ends_well(*words)
            assert (outside / "thesis").read_text() == "as long as it is", words


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("run", ["done", "cut"])
def test_links_in_the_place_of_folders_lead_nowhere(place, outside, run, name):
    before = contents(outside)
    for words in commands(place, run):
        shutil.rmtree(place / run / name, ignore_errors=True)
        (place / run / name).unlink(missing_ok=True)
        (place / run / name).symlink_to(outside, target_is_directory=True)
        ended = ends_well(*words)
        assert contents(outside) == before, words
        assert ended.code == 0 or "a link" in ended.err or "a finished run" in ended.err


def test_links_within_the_folder_of_checkpoints_lead_nowhere(place, outside):
    checkpoints = place / "cut" / "checkpoints"
    for name in ("000000000001", "999999999999", ".000000000001.7", ".000000000750.0"):
        (checkpoints / name).symlink_to(outside / "000000000001", target_is_directory=True)
    ended = ends_well("resume", place / "cut", "--quiet")
    assert ended.code == 0, ended.err
    assert (outside / "000000000001" / "diary").exists()


def test_sums_of_parts_are_not_put_behind_a_link(place, outside):
    log, run = logs.write_points(place / "log.parquet", 1500), place / "parts"
    words = ("evaluate", log, "--workers", 1, "--out", run, *FORCE[:-2])
    run.mkdir()
    (run / "parts").symlink_to(outside, target_is_directory=True)
    before = contents(outside)
    assert "a link" in ends_well(*words).err
    assert contents(outside) == before


def test_a_run_folder_that_is_a_link_itself_is_what_the_user_named(place):
    (place / "latest").symlink_to(place / "cut", target_is_directory=True)
    assert ends_well("resume", place / "latest", "--quiet").code == 0
    assert (place / "latest").is_symlink()
    assert (place / "cut" / "result.json").exists()


def test_files_that_are_read_may_lie_elsewhere(place, tmp_path):
    model = place / "done" / "model.safetensors"
    model.rename(tmp_path / "large-disk.safetensors")
    model.symlink_to(tmp_path / "large-disk.safetensors")
    assert ends_well("predict", place / "done", "--json").code == 0


def asked(place, run):
    """All that reads a run folder."""
    yield ("predict", place / run, "--quiet")
    yield ("compare", place / run, place / "done", "--quiet")
    yield ("export", place / run, "--out", place / "small", *FORCE[:2])
    yield from list(commands(place, run))[:4]


READ = tuple(x for x in FILES if x != "report.html")


@pytest.mark.parametrize("name", READ)
def test_pipes_and_devices_in_the_place_of_files_are_not_waited_for(place, name):
    for put in (os.mkfifo, lambda x: Path(x).symlink_to("/dev/zero"), Path.mkdir):
        for words in asked(place, "done"):
            file = place / "done" / name
            if file.is_dir() and not file.is_symlink():
                file.rmdir()
            file.unlink(missing_ok=True)
            put(file)
            ends_well(*words)


def test_pipes_in_a_checkpoint_are_not_waited_for(place):
    for checkpoint in sorted((place / "cut" / "checkpoints").iterdir()):
        for name in ("progress.json", "SHA256SUMS", "more"):
            (checkpoint / name).unlink(missing_ok=True)
            os.mkfifo(checkpoint / name)
    for words in (("predict", place / "cut"), ("resume", place / "cut")):
        assert "damaged" in ends_well(*words, "--quiet").err


def test_pipes_in_the_place_of_statistics_and_models_are_not_waited_for(place):
    file = place / "pipe.stats"
    os.mkfifo(file)
    out = ("--out", place / "out.stats")
    for words in (
        ("evaluate", file),
        ("merge", file, place / "log.stats", *out),
        ("stats", place / "log.csv", "--like", file, *out),
    ):
        assert "not a regular file" in ends_well(*words).err
    for load in (lincat.SourceStatistics.load, lincat.Statistics.load, lincat.load):
        for where in (file, Path("/dev/zero")):
            with pytest.raises(lincat.InvalidInputError, match="not a regular file"):
                load(where)
    with pytest.raises(lincat.InvalidInputError, match="not a regular file"):
        lincat.load_features(file)


def test_what_is_written_replaces_no_device_and_no_pipe(place, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    words = ("report", place / "done", "--out", tmp_path / "pipe", "--quiet")
    assert "not a regular file" in ends_well(*words).err
    assert (tmp_path / "pipe").is_fifo()


def test_a_copy_of_a_folder_holds_regular_files_alone(place, tmp_path):
    run = place / "done"
    os.mkfifo(run / "pipe")
    for name in ("again", "once more"):
        (run / name).symlink_to(run, target_is_directory=True)
    saved = lincat.read_run(run).save(tmp_path / "saved")
    assert saved.answer == lincat.read_run(run).answer
    assert not {"pipe", "again", "once more"} & {x.name for x in saved.path.iterdir()}


# ------------------------------------------------------------------------------------ two writers


def test_two_threads_do_not_continue_one_run(place):
    """Each row of the curves once: the second is told that the first is at it."""
    begun, gone_on = threading.Barrier(4), []

    def resume():
        begun.wait()
        try:
            lincat.resume(place / "cut")
            gone_on.append("done")
        except lincat.InvalidInputError as error:
            gone_on.append(str(error))

    threads = [threading.Thread(target=resume) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gone_on.count("done") == 1
    refused = [x for x in gone_on if "nobody writes into" in x or "is not finished" in x]
    assert len(refused) == 3, gone_on
    rows = [row.transitions for row in RunFolder.open(place / "cut").metrics()]
    assert rows == sorted(set(rows))


def test_another_run_of_this_process_is_refused_and_the_same_one_goes_on(place):
    folder = RunFolder.open(place / "cut")
    running = EvaluationRun(folder).run()
    next(running)
    for refused in (
        lambda: lincat.resume(place / "cut"),
        lambda: lincat.evaluate(str(place / "log.csv"), out=place / "cut", force=True, **SMALL),
        lambda: lincat.read_run(place / "done").export(place / "cut", force=True),
    ):
        with pytest.raises(lincat.InvalidInputError, match="nobody writes into"):
            refused()
    assert sum(1 for _ in running) > 0
    assert not (place / "cut" / "lock").exists()
    assert folder.finished


def test_a_child_that_ends_leaves_the_lock_of_its_parent(place):
    running = EvaluationRun(RunFolder.open(place / "cut")).run()
    next(running)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            import atexit

            running.close()  # as when the child lets go of all that it has
            atexit._run_exitfuncs()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (place / "cut" / "lock").exists()
    with pytest.raises(lincat.InvalidInputError, match="nobody writes into"):
        lincat.resume(place / "cut")
    running.close()
    assert not (place / "cut" / "lock").exists()


def test_a_child_does_not_keep_the_lock_of_a_parent_that_let_go(place):
    running = EvaluationRun(RunFolder.open(place / "cut")).run()
    next(running)
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(say)
            os.read(said, 1)  # until the parent closes its end
        finally:
            os._exit(0)
    running.close()
    (place / "cut" / "lock").touch()
    try:
        lincat.resume(place / "cut")
    finally:
        os.close(say)
        os.close(said)
        os.waitpid(child, 0)
