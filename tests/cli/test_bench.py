import json

import pytest
from click.testing import CliRunner

from lincat.bench.results import Bar, Result
from lincat.cli.bench import bench


def invoke(*arguments):
    return CliRunner().invoke(bench, arguments)


def test_a_real_section_in_its_own_process(tmp_path):
    written = tmp_path / "page.md"
    result = invoke("target", "--quick", "--rounds", "1", "--quiet", "--write", str(written))
    assert result.exit_code == 0, result.output
    assert "bellman_target" in result.stdout
    assert written.read_text().startswith("# Benchmarks")
    assert result.stderr == ""


@pytest.fixture
def missed(monkeypatch):
    bars = [Bar("fast", 0.5, ">=", 1.0), Bar("small", 0.5, "<=", 1.0), Bar("none", None, ">=", 1)]
    monkeypatch.setattr(
        "lincat.bench.run.run_section",
        lambda name, settings, quiet: Result(name, [{"case": "a", "C": 0.5}], bars),
    )


def test_a_missed_bar_ends_with_1_after_the_whole_table(missed, tmp_path):
    result = invoke("speed", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert [line.split("|")[4].strip() for line in result.stdout.splitlines()[-3:]] == [
        "NO",
        "yes",
        "not measured",
    ]
    saved = json.loads((tmp_path / "benchmarks.json").read_text())
    assert saved["sections"][0]["bars"][0]["holds"] is False
    assert (tmp_path / "benchmarks.md").exists()


def test_json_is_the_only_thing_on_standard_output(missed):
    result = invoke("speed", "startup", "--json")
    assert [section["title"] for section in json.loads(result.stdout)["sections"]] == [
        "speed",
        "startup",
    ]


def test_quick_judges_nothing(missed):
    assert invoke("--quick").exit_code == 0


def test_a_page_that_cannot_be_written_is_refused_before_the_run(missed, tmp_path):
    result = invoke("--write", str(tmp_path / "missing" / "page.md"))
    assert result.exit_code == 2
    assert "is not a folder" in result.stderr


def test_unknown_sections_are_refused():
    assert invoke("sped").exit_code == 2
