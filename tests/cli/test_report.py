"""lincat report: the page drawn again from what is on disk."""

import json
import re
import shutil

import numpy as np
import pytest

import lincat
from lincat._seals import JSON
from tests.cli.command import assert_one_line, lincat_here, lincat_process, page_text
from tests.runs.logs import write_names


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    log = write_names(folder / "log.csv", rows=2000)
    ended = lincat_here(
        *("evaluate", log, "--gamma", 0.8, "--validate", 200, "--below", 0),
        *("--out", folder / "run"),
    )
    assert ended.code == 0, ended.err
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def report(*arguments):
    return lincat_here("report", *arguments)


def test_drawn_again_it_is_the_same_page(run):
    before = (run / "report.html").read_bytes()
    (run / "report.html").unlink()
    files = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    ended = report(run)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == f"Report: {run / 'report.html'}"
    assert ended.out.splitlines()[0] in page_text(run / "report.html")
    after = (run / "report.html").read_text()
    # The command of the page names the folder, which was copied.
    assert len(after) == pytest.approx(len(before), rel=0.02)
    assert {p: p.read_bytes() for p in files} == files


def test_another_level_and_threshold_elsewhere(run, tmp_path):
    before = (run / "report.html").read_bytes()
    page = tmp_path / "careful.html"
    ended = report(run, "--level", 0.01, "--below", 1.5, "--out", page, "--json")
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    assert answer["report"] == str(page)
    assert {"q0.01", "cvar0.01", "P(G<1.5)"} <= set(answer["states"][0])
    distribution = lincat.read_run(run).returns.proper()
    np.testing.assert_allclose([s["cvar0.01"] for s in answer["states"]], distribution.cvar(0.01))
    np.testing.assert_allclose(
        [s["P(G<1.5)"] for s in answer["states"]], distribution.probability_below(1.5)
    )
    assert answer["summary"][0] in page_text(page)
    assert (run / "report.html").read_bytes() == before


def test_json_holds_the_validation(run):
    answer = json.loads(report(run, "--json").out)
    assert answer["validation"][0]["group"] == "all"
    assert answer["validation"][0]["n_returns"] == 200
    assert answer["complete"] is True


@pytest.mark.parametrize("file", ["result.json", "config.toml"])
@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_torn_folder_is_one_line(run, file, content):
    (run / file).write_text(content)
    ended = report(run)
    assert ended.code == 2
    assert ended.err.startswith("Error: ")
    assert len(ended.err.splitlines()) == 1


def test_a_result_of_another_version_is_one_line(run):
    result = json.loads((run / "result.json").read_text())
    del result["grid"], result["sha256"]
    (run / "result.json").write_bytes(JSON.sealed(json.dumps(result)))
    assert_one_line(report(run), "missing required field `grid`")


def test_a_run_without_curves_still_has_a_page(run):
    assert not (run / "metrics.jsonl").exists()
    assert report(run).code == 0
    assert "Learning curves" not in page_text(run / "report.html")


@pytest.mark.parametrize(
    "arguments",
    [["--level", "0"], ["--level", "2"], ["--below", "x"], ["--out", "absent/page.html"]],
)
def test_bad_options_exit_with_two(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    ended = report(run, *arguments)
    assert ended.code == 2
    assert "Error: " in ended.err
    assert ended.out == ""


@pytest.mark.parametrize("below", ["nan", "inf"])
def test_a_threshold_that_is_no_number_is_one_line(run, below):
    assert_one_line(report(run, "--below", below), "expected")


def test_no_run_is_one_line(tmp_path):
    assert_one_line(report(tmp_path / "absent"), "expected the folder of a run")


def test_a_process_of_its_own(run):
    ended = lincat_process("report", run)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Examples:" in report("--help").out


def test_a_curve_is_never_shown_under_another_level_than_its_own(tmp_path):
    """Curves are recorded once, at the run's level: 5 %."""
    lincat.evaluate("frozen_lake", out=tmp_path / "run", steps=3000, learner="linear_ctd")
    page = tmp_path / "careful.html"
    assert report(tmp_path / "run", "--level", 0.01, "--out", page).code == 0
    headings = re.findall(r"<h3>(Mean of the worst .*?)</h3>", page.read_text())
    assert headings == ["Mean of the worst 5 %"]
