"""lincat resume: after SIGKILL, after Ctrl-C, and to make a run longer."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lincat
from lincat.runs.config import config_from_dict
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun
from tests.cli.command import assert_one_line, lincat_here, lincat_process, page_text
from tests.runs.logs import (
    KilledError,
    in_small_batches,
    run_until,
    write_names,
    write_points,
)

# The real command, made slow and careful: some rows at a time, a checkpoint after each batch.
SLOW = """
import functools, sys, time
import lincat.processes.process_source, lincat.runs.loop, lincat.runs.sources
from lincat.cli.main import main

lincat.processes.process_source._BATCH = 100
lincat.runs.loop._SECONDS_BETWEEN_CHECKPOINTS = 0.0
sources = lincat.runs.sources
sources.FileSource = functools.partial(sources.FileSource, batch_rows=100)
keep = lincat.runs.loop.EvaluationRun._keep

def slowly(run):
    keep(run)
    time.sleep(0.03)

lincat.runs.loop.EvaluationRun._keep = slowly
sys.argv[0] = "lincat"
main()
"""


def resume(*arguments):
    return lincat_here("resume", *arguments)


def begin_slowly(folder, *arguments):
    """Start a slow run in a process of its own, and wait until it has learned something."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "evaluate", *map(str, arguments), "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60.0
    while not list((folder / "checkpoints").glob("0*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    return process


OPTIONS = ["--gamma", 0.8, "--low", -5, "--high", 5, "--warm-up", 500]


def learned(folder):
    return [(folder / f"{x}.safetensors").read_bytes() for x in ("model", "features")]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("names", ["--n-step", 3, "--batch-size", 7, "--validate", 200]),
        ("names", ["--n-step", 3, "--batch-size", 7, "--learner", "linear_ctd"]),
        ("process", ["--steps", 6000]),
        ("process", ["--steps", 6000, "--learner", "linear_ctd"]),
    ],
)
def test_killed_for_good_and_resumed_is_the_same_to_the_bit(here, kind, options):
    source = "frozen_lake" if kind == "process" else write_names(here / "log.csv", rows=6000)
    settings = [source, *(OPTIONS if kind == "names" else []), *options]
    process = begin_slowly(here / "killed", *settings)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (here / "killed" / "result.json").exists()
    # Until it is continued, its newest checkpoint answers, as that of a run that is learning.
    so_far = json.loads(lincat_here("report", "killed", "--json").out)
    assert so_far["complete"] is False
    assert 0 < so_far["transitions"] < 6000
    rows = json.loads(lincat_here("predict", "killed", "--json").out)
    assert [row["mean"] for row in rows] == [row["mean"] for row in so_far["states"]]

    ended = lincat_process("resume", "killed", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["complete"] is True
    assert lincat_here("evaluate", *settings, "--out", "whole").code == 0
    assert learned(here / "killed") == learned(here / "whole")
    results = [RunFolder(here / name).answer for name in ("killed", "whole")]
    assert results[0].cdf == results[1].cdf
    assert results[0].validation == results[1].validation
    assert (here / "killed" / "report.html").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_finishes_cleanly_and_resume_completes(here, number):
    source = write_points(here / "log.parquet", rows=6000)
    settings = [source, *OPTIONS, "--features", "scaling", "--validate", 200]
    process = begin_slowly(here / "stopped", *settings)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Finishing; once more to leave at once." in err
    assert f"lincat resume {here / 'stopped'} continues" in err
    assert "Report: " in out
    assert "interrupted" in page_text(here / "stopped" / "report.html")
    stopped = lincat.read_run(here / "stopped")
    assert stopped.answer.complete is False
    assert lincat.load(here / "stopped" / "model.safetensors").n_seen_ > 0

    ended = resume("stopped")
    assert ended.code == 0, ended.err
    assert lincat_here("evaluate", *settings, "--out", "whole").code == 0
    assert learned(here / "stopped") == learned(here / "whole")
    assert "was interrupted" not in page_text(here / "stopped" / "report.html")


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_standard_input_is_silent(here, times):
    options = ["--format", "csv", "--gamma", "0.5", "--low", "0", "--high", "2", "--out", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "lincat", "evaluate", "-", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"state,reward\n" + b"a,1\nb,0\n" * 400_000)  # and then nothing
    process.stdin.flush()
    until = time.monotonic() + 60.0
    while not (here / "run" / "metrics.jsonl").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    for _ in range(times):
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    said = process.stderr.read().decode()
    assert "Fatal" not in said
    assert "Traceback" not in said
    if times == 1:
        assert lincat.read_run("run").answer.complete is False
        assert (here / "run" / "report.html").exists()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def wait_until_idle(process):
    """Wait until a process has used next to no time for a second: it waits for us."""
    used = []
    # In hundredths of a second; to begin alone takes half of one.
    while len(used) < 6 or used[-1] < 50 or used[-1] - used[-6] > 2:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        used.append(int(fields[11]) + int(fields[12]))
        time.sleep(0.2)


def test_ctrl_c_before_the_warm_up_of_a_stream_is_over(here):
    process = subprocess.Popen(
        [sys.executable, "-m", "lincat", "evaluate", "-", "--format", "csv", "--gamma", "0.5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"state,reward\n" + b"a,1\nb,0\n" * 40_000)  # more than a pipe holds
    process.stdin.flush()  # and then nothing
    wait_until_idle(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    answer = lincat.read_run("runs/stdin").answer
    assert answer.complete is False
    assert answer.transitions > 10_000  # of what was read, all but what is held out
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def test_ctrl_c_with_quiet_and_json_is_one_object(here):
    arguments = ["frozen_lake", "--steps", 20_000, "--json", "--quiet"]
    process = begin_slowly(here / "stopped", *arguments)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == ""
    assert json.loads(out)["complete"] is False


def test_killed_before_the_first_checkpoint_it_starts_afresh(here, monkeypatch):
    in_small_batches(monkeypatch, seconds=1e9)
    settings = {"source": ["frozen_lake"], "steps": 3000}
    folder = RunFolder.create(here / "killed", config_from_dict(settings))
    with pytest.raises(KilledError):
        run_until(folder, 2000)
    assert resume("killed").code == 0
    assert lincat_here("evaluate", "frozen_lake", "--steps", 3000, "--out", "whole").code == 0
    assert learned(here / "killed") == learned(here / "whole")


# ----------------------------------------------------------------------------- finished, longer


@pytest.fixture
def finished(here):
    assert lincat_here("evaluate", "frozen_lake", "--steps", 3000, "--out", "run").code == 0
    return here / "run"


def test_a_finished_run_has_nothing_to_go_on_with(finished):
    before = {p: p.read_bytes() for p in finished.rglob("*") if p.is_file()}
    assert_one_line(resume("run"), "RUN: expected a run that is not finished, or --steps")
    assert_one_line(resume("run", "--steps", 3000), "--steps: expected more than the 3000")
    assert_one_line(resume("run", "--steps", 10), "--steps: expected more than the 3000")
    assert before == {p: p.read_bytes() for p in finished.rglob("*") if p.is_file()}


def test_steps_make_it_longer_and_the_same_as_if_it_had_been_so_at_once(finished, here):
    ended = resume("run", "--steps", 9000, "--json")
    assert json.loads(ended.out)["transitions"] == 9000
    assert lincat_here("evaluate", "frozen_lake", "--steps", 9000, "--out", "whole").code == 0
    assert learned(finished) == learned(here / "whole")
    assert (finished / "config.toml").read_text() == (here / "whole" / "config.toml").read_text()


def test_curves_continue_where_they_were(here):
    options = ["--learner", "linear_ctd", "--steps", 3000, "--out", "run"]
    assert lincat_here("evaluate", "frozen_lake", *options).code == 0
    assert resume("run", "--steps", 9000).code == 0
    rows = [*lincat.read_run("run").answer.curves.transitions]
    assert rows == sorted(set(rows))
    assert rows[-1] == 9000


def test_a_longer_run_that_is_killed_is_resumed_without_steps(finished, here, monkeypatch):
    in_small_batches(monkeypatch)

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lincat.runs.loop.EvaluationRun._conclude", killed)
        assert resume("run", "--steps", 6000).code == 130
    assert lincat.read_run("run").answer.complete is False
    assert resume("run").code == 0
    assert lincat.read_run("run").answer.transitions == 6000
    assert lincat_here("evaluate", "frozen_lake", "--steps", 6000, "--out", "whole").code == 0
    assert learned(finished) == learned(here / "whole")


def test_an_interrupted_run_is_not_made_shorter(here, monkeypatch):
    in_small_batches(monkeypatch)
    settings = {"source": ["frozen_lake"], "steps": 3000}
    folder = RunFolder.create(here / "run", config_from_dict(settings))
    run = EvaluationRun(folder)
    for progress in run.run():
        if progress.transitions >= 2000:
            run.stop()
    before = folder.answer
    assert before.complete is False
    message = f"--steps: expected more than the {before.transitions} of the run, got 10"
    assert_one_line(resume("run", "--steps", 10), message)
    assert folder.answer == before
    assert resume("run", "--steps", 4000).code == 0
    assert folder.answer.transitions == 4000


def test_more_steps_than_a_file_has_are_all_there_are(here):
    write_points(here / "log.parquet", rows=1000)
    options = ["--gamma", 0.5, "--features", "scaling", "--validate", 0]
    assert (
        lincat_here("evaluate", "log.parquet", *options, "--steps", 400, "--out", "run").code == 0
    )
    ended = resume("run", "--steps", 100_000, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["transitions"] == 1000
    again = resume("run", "--steps", 200_000, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["transitions"] == 1000


def test_an_environment_goes_on_in_a_new_episode(here):
    options = ["--policy", "balance", "--gamma", 0.8, "--n-envs", 2]
    ended = lincat_here(
        "evaluate", "gym:CartPole-v1", *options, "--steps", 2000, "--out", "run", "--json"
    )
    assert ended.code == 0, ended.err
    longer = resume("run", "--steps", 4000, "--json")
    assert longer.code == 0, longer.err
    assert json.loads(longer.out)["transitions"] == 4000


def test_a_source_that_is_gone_is_one_line_and_nothing_is_lost(here):
    file = here / "log.csv"
    write_names(file, rows=500)
    assert lincat_here("evaluate", "log.csv", "--gamma", 0.5, "--out", "run").code == 0
    before = {p: p.read_bytes() for p in (here / "run").rglob("*") if p.is_file()}
    file.unlink()
    assert_one_line(resume("run", "--steps", 10_000), "log.csv")
    assert before == {p: p.read_bytes() for p in (here / "run").rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", ["absent", "empty", "file"])
def test_what_is_no_run_is_refused(here, name):
    (here / "empty").mkdir()
    (here / "file").write_text("")
    ended = resume(name)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_a_torn_checkpoint_is_one_line(finished):
    (checkpoint,) = (finished / "checkpoints").iterdir()
    (checkpoint / "model.safetensors").write_bytes(b"torn")
    assert_one_line(resume("run", "--steps", 5000), "got damaged ones; lincat evaluate --config")


def test_settings_that_were_edited_are_refused(finished):
    config = finished / "config.toml"
    config.write_text(config.read_text() + "colour = 1\n")
    assert_one_line(resume("run", "--steps", 5000), "got another: colour was not given and is 1")


def test_quiet_and_help(finished):
    ended = resume("run", "--steps", 4000, "--quiet", "--json")
    assert ended.err == ""
    assert "Examples:" in resume("--help").out
