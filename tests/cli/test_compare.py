"""lincat compare: several runs on the same states."""

import json
import re

import numpy as np
import pytest

import lincat
from tests.cli.command import assert_one_line, lincat_here, lincat_process, page_text
from tests.runs.logs import write_names, write_points


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    names = write_names(folder / "log.csv", rows=2000)
    points = write_points(folder / "log.parquet", rows=2000)
    common = ["--gamma", 0.8, "--intervals", 10]
    for source, out, options in (
        (names, "one", ["--validate", 200]),
        (names, "two", ["--learner", "softmax_ctd", "--low", -6, "--high", 6, "--validate", 0]),
        (points, "signed", ["--features", "fourier", "--validate", 200]),
        (points, "other", ["--features", "scaling", "--learner", "softmax_ctd"]),
    ):
        ended = lincat_here("evaluate", source, *common, *options, "--out", folder / out)
        assert ended.code == 0, ended.err
    return folder


def compare(*arguments):
    return lincat_here("compare", *arguments)


def test_rows_hold_what_each_model_says_of_the_states_of_the_first(runs):
    ended = compare(runs / "one", runs / "two", "--json", "--level", 0.1, "--below", 0.5)
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    shown = lincat.read_run(runs / "one").shown
    assert len(answer["states"]) == 2 * len(shown.names)
    for i, name in enumerate(("one", "two")):
        distribution = lincat.read_run(runs / name).model.predict_shown(shown)
        rows = answer["states"][i::2]
        assert {row["run"] for row in rows} == {name}
        assert [row["state"] for row in rows] == shown.names
        np.testing.assert_array_equal([row["mean"] for row in rows], distribution.mean())
        np.testing.assert_array_equal(
            [row["cvar0.1"] for row in rows], distribution.proper().cvar(0.1)
        )
        np.testing.assert_array_equal(
            [row["P(G<0.5)"] for row in rows], distribution.proper().probability_below(0.5)
        )
    assert [row["run"] for row in answer["validation"]] == ["one"]
    assert answer["report"] is None


@pytest.mark.parametrize("order", [("signed", "other"), ("other", "signed")])
def test_every_row_has_the_same_columns(runs, order):
    paths = [runs / name for name in order]
    rows = json.loads(compare(*paths, "--json").out)["states"]
    assert len({tuple(row) for row in rows}) == 1
    lines = compare(*paths).out.splitlines()
    header = next(line.split() for line in lines if "state" in line)
    assert header == list(rows[0])


def test_a_page_of_them(runs, tmp_path):
    page = tmp_path / "comparison.html"
    ended = compare(runs / "one", runs / "two", "--out", page, "--below", 0)
    assert ended.code == 0, ended.err
    assert f"Report: {page}" in ended.out
    text = page_text(page)
    assert "one" in text
    assert "two" in text
    assert "place 0" in text
    assert "lincat compare" in text
    answer = json.loads(compare(runs / "one", runs / "two", "--out", page, "--json").out)
    assert answer["report"] == str(page)


def test_differences_have_intervals(runs, tmp_path):
    both = [runs / "one", tmp_path / "again"]
    options = ["--gamma", 0.8, "--intervals", 12, "--validate", 200]
    assert lincat_here("evaluate", runs / "log.csv", *options, "--out", both[1]).code == 0
    page = tmp_path / "page.html"
    answer = json.loads(compare(*both, "--json", "--below", 0.5, "--out", page).out)
    (found,) = answer["differences"]
    assert (found["a"], found["b"], found["confidence"]) == ("one", "again", 0.95)
    assert found["paired"]  # two grids, one log
    assert [one["state"] for one in found["states"]] == lincat.read_run(both[0]).names
    start = found["states"][0]
    figures = [one["figure"] for one in start["differences"]]
    assert figures == ["mean", "quantile", "cvar", "probability_below"]
    for one in start["differences"]:
        assert one["low"] <= one["difference"] <= one["high"]
    expected = lincat.compare(*map(lincat.read_run, both), threshold=0.5, names=("one", "again"))
    assert found == json.loads(expected.to_json())
    text = page_text(page)
    assert "Differences" in text
    assert "one − again" in text
    out = compare(*both, "--confidence", 0.8).out
    assert "one − again" in out
    assert "dominance" in out
    wide, narrow = (
        json.loads(compare(*both, "--json", "--confidence", c).out)["differences"][0]["states"][0]
        for c in (0.99, 0.8)
    )
    assert narrow["differences"][0]["high"] < wide["differences"][0]["high"]


def test_states_that_only_one_run_knows_are_left_out(runs, tmp_path):
    log, text = tmp_path / "few.csv", (runs / "log.csv").read_text()
    log.write_text(re.sub(r"place -?\d+", "place 0", text))
    options = ["--gamma", 0.8, "--learner", "softmax_ctd", "--validate", 0]
    few, none = tmp_path / "few", tmp_path / "none"
    assert lincat_here("evaluate", log, *options, "--out", few).code == 0
    rows = json.loads(compare(runs / "one", few, "--json").out)["states"]
    assert {row["state"] for row in rows} == {"start", "place 0"}
    log.write_text(log.read_text().replace("place 0", "elsewhere"))
    assert lincat_here("evaluate", log, *options, "--out", none).code == 0
    assert_one_line(compare(runs / "one", none), "states: expected some that both have seen")


def test_one_run_and_the_same_run_twice(runs):
    assert compare(runs / "one").code == 0
    rows = json.loads(compare(runs / "one", runs / "one", "--json").out)["states"]
    assert rows[0] == rows[1]


def test_folders_of_the_same_name_are_told_apart(runs, tmp_path):
    import shutil

    shutil.copytree(runs / "two", tmp_path / "one")
    rows = json.loads(compare(runs / "one", tmp_path / "one", "--json").out)["states"]
    assert {row["run"] for row in rows} == {str(runs / "one"), str(tmp_path / "one")}


def test_runs_that_do_not_go_together_are_one_line(runs):
    ended = compare(runs / "one", runs / "signed")
    assert_one_line(ended, f"{runs / 'signed'}, on the states of the first run: ")
    ended = compare(runs / "signed", runs / "one")
    assert_one_line(ended, f"{runs / 'one'}, on the states of the first run: ")


@pytest.mark.parametrize(
    "arguments", [[], ["--level", "2"], ["--out", "absent/page.html"], ["--below", "x"]]
)
def test_bad_options_exit_with_two(runs, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    ended = compare(*([runs / "one"] if arguments else []), *arguments)
    assert ended.code == 2
    assert "Error: " in ended.err
    assert ended.out == ""


def test_no_run_is_one_line(runs, tmp_path):
    assert_one_line(compare(runs / "one", tmp_path), "expected the folder of a run")


def test_a_process_of_its_own(runs):
    ended = lincat_process("compare", runs / "one", runs / "two")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Examples:" in compare("--help").out


def test_curves_stand_under_the_level_that_they_were_recorded_at(runs, tmp_path):
    page = tmp_path / "comparison.html"
    assert compare(runs / "one", runs / "two", "--level", 0.01, "--out", page).code == 0
    headings = re.findall(r"<h3>(Mean of the worst .*?)</h3>", page.read_text())
    assert headings == ["Mean of the worst 5 %"]


def test_runs_that_are_not_comparable_are_told_why(runs, tmp_path):
    names = runs / "log.csv"
    common = ["--intervals", 10, "--learner", "softmax_ctd", "--validate", 0]
    for gamma in (0.8, 0.5):
        out = tmp_path / f"gamma {gamma}"
        assert lincat_here("evaluate", names, "--gamma", gamma, *common, "--out", out).code == 0
    page = tmp_path / "page.html"
    both = [tmp_path / "gamma 0.8", tmp_path / "gamma 0.5"]
    said = json.loads(compare(*both, "--out", page, "--json").out)["summary"]
    assert said == (
        "No run is ranked, as they discount by different factors (run gamma 0.8: 0.8; "
        "run gamma 0.5: 0.5)."
    )
    assert said in compare(*both).out
    assert said in page_text(page)


def test_no_run_is_ranked_whose_verdict_failed(runs):
    answer = json.loads(compare(runs / "signed", runs / "other", "--json").out)
    trusted = {one["run"]: one["trusted"] for one in answer["verdicts"]}
    failed = [run for run, ended in trusted.items() if ended is False]
    assert failed, trusted
    assert answer["summary"].startswith("No run is ranked: the figures of run")
    out = compare(runs / "signed", runs / "other").out
    assert f"{failed[0]}: Not to be trusted: " in out
