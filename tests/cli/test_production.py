"""Runs that go on for weeks: new rows, bad rows, pipes, and two processes in one folder."""

import json
import subprocess
import sys

import numpy as np
import pytest

import lincat
from tests.cli.command import assert_one_line, lincat_here

OPTIONS = ["--gamma", 0.8, "--validate", 0, "--intervals", 20, "--format", "csv"]
HEADER = "state,reward\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return [f"s{s},{r:.3f}\n" for s, r in zip(rng.integers(0, 4, n), rng.random(n), strict=True)]


def evaluate(*arguments, **options):
    ended = lincat_here("evaluate", *arguments, *OPTIONS, **options)
    assert ended.code == 0, ended.err


def resumed(*arguments, **options):
    ended = lincat_here("resume", *arguments, "--json", **options)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_rows_that_were_added_are_learned_from(here):
    lines = rows(900)
    (here / "whole.csv").write_text(HEADER + "".join(lines))
    evaluate("whole.csv", "--out", "whole")
    (here / "log.csv").write_text(HEADER + "".join(lines[:600]))
    evaluate("log.csv", "--out", "run")
    assert_one_line(lincat_here("resume", "run"), "--append to make it longer")
    assert_one_line(lincat_here("resume", "run", "--append"), "expected rows that are new, got 600")
    assert_one_line(lincat_here("resume", "run", "new.csv"), "--append with it")
    with (here / "log.csv").open("a") as file:
        file.writelines(lines[600:800])
    assert resumed("run", "--append")["transitions"] == 799
    (here / "a new one.csv").write_text(HEADER + "".join(lines[800:]))
    answer = resumed("run", "--append", "a new one.csv")
    assert (answer["transitions"], answer["complete"]) == (898, True)  # files do not lead on
    known = lincat.read_run("run").predict(np.array(["s0", "s3"], dtype=object))
    whole = lincat.read_run("whole").predict(np.array(["s0", "s3"], dtype=object))
    np.testing.assert_allclose(known.mean(), whole.mean(), atol=0.02)
    assert lincat.read_run("run").config.source == ["log.csv", "a new one.csv"]


def test_new_files_of_a_folder_come_after_the_old_ones_each_night(here):
    (here / "logs").mkdir()
    lines = rows(800)
    (here / "logs" / "b.csv").write_text(HEADER + "".join(lines[:500]))
    evaluate("logs", "--out", "run")
    (here / "logs" / "a.csv").write_text(HEADER + "".join(lines[500:]))
    assert resumed("run", "--append")["transitions"] == 499 + 299
    assert lincat.read_run("run").config.source == ["logs/b.csv", "logs/a.csv", "logs"]
    (here / "logs" / "a a.csv").write_text(HEADER + "".join(lines[:200]))
    assert resumed("run", "--append")["transitions"] == 499 + 299 + 199


def test_what_is_held_out_stays_so_when_rows_are_added(here):
    lines = rows(6000)
    (here / "log.csv").write_text(HEADER + "".join(lines[:4000]))
    options = ["--gamma", 0.5, "--intervals", 20, "--out", "run", "--json"]
    first = json.loads(lincat_here("evaluate", "log.csv", *options).out)
    (here / "log.csv").write_text(HEADER + "".join(lines))
    second = resumed("run", "--append")
    held = [answer["validation"][0]["n_returns"] for answer in (first, second)]
    assert held[0] < held[1]
    learned = [answer["transitions"] for answer in (first, second)]
    assert 0.85 * 2000 < learned[1] - learned[0] < 0.95 * 2000


def test_a_pipe_brings_new_rows_or_all_of_them(here):
    lines = rows(900)
    evaluate("-", "--out", "run", stdin=(HEADER + "".join(lines[:600])).encode())
    short = (HEADER + "".join(lines[:50])).encode()
    ended = lincat_here("resume", "run", "--steps", 5000, stdin=short)
    assert_one_line(ended, "expected at least the 599 steps that were seen before, got 49")
    assert lincat.read_run("run").answer.transitions == 599
    new = (HEADER + "".join(lines[600:])).encode()
    assert resumed("run", "--append", stdin=new)["transitions"] == 599 + 299
    assert_one_line(lincat_here("resume", "run", "--append", "more.csv"), "cat more.csv | lincat")


@pytest.mark.parametrize("bad", ["s1,oops\n", "s1\n"])
def test_a_bad_row_late_in_a_stream_keeps_what_was_learned(here, bad):
    lines = rows(600)
    text = HEADER + "".join(lines) + bad + "".join(lines)
    ended = lincat_here("evaluate", "-", *OPTIONS, "--out", "run", stdin=text.encode())
    assert_one_line(ended, "row 601")
    assert "what was learned from 599 transitions is kept: lincat resume run" in ended.err
    assert lincat_here("predict", "run").code == 0
    answer = resumed("run", "--on-bad-rows", "skip", stdin=text.encode())
    assert (answer["transitions"], answer["complete"]) == (599 + 599, True)


def test_a_bad_row_late_in_a_file_keeps_what_was_learned(here, monkeypatch):
    lines = rows(600)
    (here / "log.csv").write_text(HEADER + "".join(lines) + "s1,oops\n" + "".join(lines))
    options = [*OPTIONS, "--warm-up", 100, "--out", "run"]
    assert_one_line(lincat_here("evaluate", "log.csv", *options), "is kept: lincat resume run")
    assert resumed("run", "--on-bad-rows", "skip")["transitions"] == 599 + 599
    assert lincat.read_run("run").answer.skipped_rows == 1


def test_one_process_at_a_time(here):
    (here / "log.csv").write_text(HEADER + "".join(rows(300)))
    evaluate("log.csv", "--out", "run")
    assert not (here / "run" / "lock").exists()
    hold = "import sys, pathlib; from lincat.runs.lock import Lock"
    hold += "; lock = Lock(pathlib.Path('run')); lock.claim()"
    wait = "; print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold + wait], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        message = f"one in which process {other.pid} is learning"
        for command in (["resume", "run", "--append"], ["evaluate", "log.csv", "--out", "run"]):
            force = ["--force"] if command[0] == "evaluate" else []
            assert_one_line(lincat_here(*command, *force), message)
        assert lincat_here("predict", "run").code == 0
        other.kill()
        other.wait()
    # What a dead process left behind does not block.
    assert (here / "run" / "lock").exists()
    evaluate("log.csv", "--out", "run", "--force")
    assert not (here / "run" / "lock").exists()


def test_a_log_with_many_more_ids_than_it_began_with_gets_a_larger_table(here):
    early = "".join(f"s{i % 5},1\n" for i in range(300))
    late = "".join(f"new {i},2\n" for i in range(200))
    (here / "log.csv").write_text(HEADER + early + late)
    evaluate("log.csv", "--warm-up", 200, "--out", "run")
    run = lincat.read_run("run")
    assert "More ids came than the first rows showed: a table of 1,344 rows." in run.answer.notes
    assert run.answer.transitions == 499
    assert run.config.feature_options == {"capacity": 1344}


@pytest.mark.parametrize(
    "options", [[], ["--learner", "linear_ctd", "--features", "tiles"], ["--features", "smooth"]]
)
def test_an_exported_run_answers_alike_and_is_small(here, options):
    from tests.runs.logs import write_points

    log = write_points(here / "log.parquet", rows=600)
    settings = ["--gamma", 0.8, "--validate", 0, "--intervals", 20, *options]
    assert lincat_here("evaluate", log, *settings, "--out", "run").code == 0
    ended = lincat_here("export", "run", "--out", "small")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("Written: small, ")
    run, small = lincat.read_run("run"), lincat.read_run("small")
    points = run.shown.members[0]
    np.testing.assert_allclose(
        small.predict(points).cdf_values, run.predict(points).cdf_values, atol=1e-5
    )
    sizes = [
        sum(p.stat().st_size for p in run.path.rglob("*") if p.is_file()) for run in (run, small)
    ]
    assert sizes[1] < 0.5 * sizes[0]
    rows = json.loads(lincat_here("predict", "small", "--json").out)
    assert "mean_low" not in rows[0]
    assert lincat_here("report", "small").code == 0
    assert_one_line(lincat_here("resume", "small", "--append"), "that has a checkpoint")
    assert_one_line(lincat_here("export", "run", "--out", "small"), "a new or empty folder")


@pytest.mark.parametrize("learner", ["auto", "linear_ctd"])
def test_a_window_follows_a_world_that_drifts(here, learner):
    before, after = (
        "".join(f"s{i % 2},{r}\n" for i in range(n)) for r, n in ((0, 40000), (1, 80000))
    )
    (here / "log.csv").write_text(HEADER + before + after)
    options = ["--gamma", 0.5, "--intervals", 20, "--validate", 0, "--learner", learner]
    means = {}
    for name, window in (("all", []), ("last", ["--window", "3e4"])):
        ended = lincat_here("evaluate", "log.csv", *options, *window, "--out", name, "--json")
        assert ended.code == 0, ended.err
        means[name] = json.loads(ended.out)["states"][0]["mean"]
    assert means["last"] == pytest.approx(2.0, abs=0.02)
    if learner == "auto":
        assert means["all"] == pytest.approx(2.0 * 2 / 3, abs=0.02)


def test_a_run_is_checked_after_the_fact(here):
    lines = rows(1500)
    (here / "log.csv").write_text(HEADER + "".join(lines[:700]))
    (here / "later.csv").write_text(HEADER + "".join(lines[700:]))
    (here / "other.csv").write_text(HEADER + "".join(x.replace(",0.", ",9.") for x in lines[700:]))
    evaluate("log.csv", "--out", "run")
    assert lincat.read_run("run").trusted is None or not lincat.read_run("run").validation
    assert_one_line(lincat_here("validate", "run"), "expected a log that the run did not learn")
    fine = json.loads(lincat_here("validate", "run", "later.csv", "--json").out)
    assert fine["validation"][0]["n_returns"] > 500
    ended = lincat_here("validate", "run", "other.csv", "--require")
    assert ended.code == 4, ended.out
    assert "Not to be trusted" in ended.out
    assert lincat.read_run("run").trusted is False


def test_runs_speak_through_logging(here, caplog):
    (here / "log.csv").write_text(HEADER + "".join(rows(300)))
    with caplog.at_level("INFO", logger="lincat"):
        evaluate("log.csv", "--out", "run")
    texts = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert ("lincat.runs", "INFO", "run: checkpoint, 299 transitions") in texts
    assert texts[-1][2] == f"run: {lincat.read_run('run').answer.verdict.sentence}"
