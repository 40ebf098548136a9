"""The real command at a small size: what a new user sees, and the shapes of the bars."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import lincat
from lincat.cli.main import cli


def call(*arguments):
    result = CliRunner().invoke(cli, ["reproduce", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The folder, what is printed, and what a second call (which finds all rows) gives machines."""
    folder = tmp_path_factory.mktemp("quick") / "run"
    text = call("--quick", "--out", folder)
    written = {file: file.stat().st_mtime_ns for file in folder.rglob("*.jsonl")}
    answer = json.loads(call("--quick", "--json", "--out", folder))
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.jsonl")} == written
    return folder, text, answer


def test_everything_is_shown_with_published_values_beside_ours(quick):
    _, text, _ = quick
    for label in ("cdf_K_alpha", "pmf_K_alpha", "loss_cdf", "loss_pmf", "loss_change_alpha"):
        assert label in text
    assert "37245" in text
    assert "17908" in text
    assert "425.85" in text
    assert "does not publish its 3-state process" in " ".join(text.split())
    assert "FULL running average" in " ".join(text.split())


def test_every_check_holds_at_the_small_size(quick):
    _, _, answer = quick
    failed = [row for row in answer["checks"] if row["holds"] != "yes"]
    assert not failed
    assert len(answer["checks"]) == 17
    assert "does not publish" in answer["provenance"]


def test_shapes_of_the_bars(quick):
    tables = quick[2]["tables"]
    ctd, pmf = (tables[f"{name}_K_alpha_steps"] for name in ("cdf", "pmf"))
    assert all(row["inside"] == "yes" for row in [*ctd, *pmf])
    ours = [row["noise-free"] for row in ctd]
    assert max(ours) / min(ours) < 1.12
    scaled = [row["noise-free"] * row["K"] ** 2 for row in pmf]
    assert max(scaled) / min(scaled) < 1.05
    fit = {row["fit of"]: row for row in tables["dependence"]}
    assert fit["ours, noise-free"]["R²"] >= 0.9999
    converges = {row["K"]: row["ours converges"] for row in tables["loss_pmf"]}
    assert all((K < 44) == (verdict == "yes") for K, verdict in converges.items())
    counts = [tables[f"{name}_K_alpha_iterations"] for name in ("cdf", "pmf")]
    for fewer, more in zip(*counts, strict=True):
        assert fewer["median"] < more["median"]
        assert 0.7 < fewer["ratio"] < 1.3
        assert 0.7 < more["ratio"] < 1.3


def test_files_are_written(quick):
    folder, _, _ = quick
    for name in ("loss_cdf", "loss_pmf", "loss_change_alpha", "dependence", "comparation"):
        for ending in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{ending}").stat().st_size > 1000
    for ending in ("md", "csv", "tex"):
        assert (folder / "tables" / f"pmf_K_alpha_steps.{ending}").stat().st_size > 100
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "vegaEmbed" in page
    assert "does not publish" in page
    assert 'src="http' not in page  # no network


def test_a_part_by_name(tmp_path):
    out = tmp_path / "run"
    text = call("loss_change_alpha", "--quick", "--out", out, "--quiet", "--threads", 1)
    assert "loss_change_alpha" in text
    assert "cdf_K_alpha" not in text
    assert {file.name for file in (out / "rows").iterdir()} == {"loss_change_alpha"}


def test_documentation_is_written_where_asked(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    call("loss_change_alpha", "--quick", "--out", tmp_path / "run", "--write-docs", docs)
    page = (docs / "reproduction.md").read_text(encoding="utf-8")
    assert "does not publish" in page
    assert "![Figure loss_change_alpha](images/reproduction/loss_change_alpha.svg)" in page
    assert (docs / "images" / "reproduction" / "loss_change_alpha.svg").exists()


def test_bad_input(tmp_path):
    with pytest.raises(lincat.InvalidInputError, match="WHAT"):
        call("figure_7", "--out", tmp_path / "run")


def test_the_other_process_needs_a_folder_of_its_own_or_force(tmp_path):
    part = ("loss_change_alpha", "--quick", "--quiet", "--out", tmp_path / "run")
    call(*part)
    with pytest.raises(lincat.InvalidInputError, match=r"same settings.*process"):
        call(*part, "--process", "unit_norm")
    call(*part, "--process", "unit_norm", "--force")
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["process"] == "unit_norm"


def test_default_folder_is_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("loss_change_alpha", "--quick", "--seed", 2)
    assert [path.name for path in Path().iterdir()] == ["reproduction-quick-seed2"]
