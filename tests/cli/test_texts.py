"""Names, paths and columns that a terminal, a spreadsheet or Rich would take for something else."""

import csv
import io

import pytest

from lincat._text import printable
from lincat.report.tables import as_csv
from tests.cli.command import assert_one_line, lincat_here

NAMES = ["[/bold]", "[idle]", "=1+1", "\x1b[31mred\x07", "-3.5"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of such states, in such a folder; and what evaluating it printed."""
    folder = tmp_path_factory.mktemp("texts") / "a[/b]c"
    folder.mkdir(parents=True)
    log = folder / "[red]log.csv"
    rows = [f'"{NAMES[t % 5]}",{t % 2}\n' for t in range(600)]
    log.write_text("state,reward\n" + "".join(rows))
    options = ("--gamma", 0.5, "--validate", 0, "--intervals", 10)
    ended = lincat_here("evaluate", log, "--out", folder / "[/run]", *options)
    assert ended.code == 0, ended.err
    return folder / "[/run]", ended


def test_brackets_are_shown_as_they_are(run):
    folder, ended = run
    assert "[/bold]" in ended.out
    assert f"Report: {folder}/report.html" in ended.out
    report = lincat_here("report", folder)
    assert f"Report: {folder}/report.html" in report.out


def test_control_characters_reach_no_terminal(run):
    folder, ended = run
    asked = [lincat_here("predict", folder), lincat_here("report", folder)]
    for output in (ended.out, ended.err, *(one.out + one.err for one in asked)):
        assert not set(output) & {"\x1b", "\x07"}
    assert r"\x1b[31mred\x07" in ended.out
    assert_one_line(lincat_here("predict", "no\x1b[2J\nsuch"), r"no\x1b[2J such")


def test_formulas_are_texts_in_csv(run):
    folder, _ = run
    rows = list(csv.DictReader(io.StringIO(lincat_here("predict", folder).out)))
    states = {row["state"] for row in rows}
    assert {"'=1+1", "-3.5", r"\x1b[31mred\x07"} <= states
    text = as_csv([{"@a": "+x", "b": -1.5, "c": None}, {"@a": "\tx", "b": "-1e5", "c": "-cmd|1"}])
    assert text == "'@a,b,c\n'+x,-1.5,\n'\tx,-1e5,'-cmd|1\n"


def test_names_that_are_no_utf8_are_written_out():
    assert printable("a\udcffb\u202ec\n") == r"a\udcffb\u202ec" + "\n"
