"""The small version of `make truth`: three problems, 2,000 rows."""

import math

import msgspec
import pytest
from threadpoolctl import threadpool_limits

from lincat.truth.__main__ import main
from lincat.truth.analysis import summarise
from lincat.truth.document import as_document
from lincat.truth.previous import previous
from lincat.truth.problems import PROBLEMS, problem_named
from lincat.truth.rivals import RIVALS, neighbours
from lincat.truth.run import OURS, Cell, Row, cells_of, read_rows, run, run_cell
from lincat.truth.settings import QUICK_PROBLEMS, SIZES, Settings


def row(**changes):
    plain = Row("p", 2000, 0, OURS, 500.0, 1.0, 0.0, 0.0, 0.0, 0.05, 0.05, 0.5, True, True)
    return msgspec.structs.replace(plain, **changes)


def untimed(row):
    return msgspec.structs.replace(row, seconds=0.0)


def test_the_small_version_runs_and_what_is_there_is_not_run_again(tmp_path, capsys):
    page = tmp_path / "truth.md"
    methods = (OURS, "neighbours")  # boosting takes longer, and has a test of its own
    arguments = ["--quick", "--methods", *methods, "--processes", "1"]
    arguments += ["--out", str(tmp_path / "out"), "--write", str(page)]
    main(arguments)
    said = capsys.readouterr().err.splitlines()
    cells = cells_of(Settings(QUICK_PROBLEMS, SIZES[:1]), methods)
    assert len(said) == len(cells) == 6
    rows = read_rows(cells, tmp_path / "out")
    assert len(rows) == len(cells)
    for found in rows:
        assert found.refused or math.isfinite(found.w1)
        # Rivals see the rows that lincat sees, so that nothing is hopelessly far off.
        assert found.method == OURS or found.w1 < 1.0
    text = page.read_text(encoding="utf-8")
    assert "silently wrong" in text
    assert all(name in text for name in QUICK_PROBLEMS)

    main(arguments)
    assert capsys.readouterr().err == ""
    assert page.read_text(encoding="utf-8") == text

    main([*arguments, "--problems", "short episodes", "--again"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("1/1 short episodes, 2,000 rows, seed 0, lincat")


def test_several_processes_give_the_rows_of_one(tmp_path):
    cells = [Cell("short episodes", rows, 0, "neighbours") for rows in (100, 200)]
    for folder, processes in (("one", 1), ("two", 2)):
        assert len(list(run(cells, tmp_path / folder, processes=processes))) == 2
    one, two = (read_rows(cells, tmp_path / folder) for folder in ("one", "two"))
    assert [untimed(row) for row in one] == [untimed(row) for row in two]


def test_the_number_of_blas_threads_changes_no_bit_of_a_row(tmp_path):
    cell = Cell("short episodes", 100, 0, "neighbours")
    rows = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            rows.append(untimed(run_cell(cell, tmp_path / str(threads))))
    assert rows[0] == rows[1]


def test_what_lincat_refuses_is_flagged_with_its_words(tmp_path, monkeypatch):
    import lincat

    def refuse(*args, **options):
        raise lincat.InvalidInputError("gamma: expected less, got more")

    monkeypatch.setattr(lincat, "evaluate", refuse)
    found = run_cell(Cell("short episodes", 500, 0), tmp_path)
    assert found.refused
    assert found.flagged
    assert not found.silently_wrong
    assert found.words == "gamma: expected less, got more"
    assert run_cell(Cell("short episodes", 500, 0), tmp_path) == found  # through its file


def test_ids_that_a_log_does_not_show_are_no_probes(tmp_path, monkeypatch):
    asked = []

    def predict(log, probes, **about):
        asked.append(set(probes[:, 0]))
        return neighbours(log, probes, **about)

    monkeypatch.setitem(RIVALS, "neighbours", predict)
    run_cell(Cell("short episodes", 20, 0, "neighbours"), tmp_path)
    seen = set(problem_named("short episodes").log(20, 0).observation[:, 0])
    assert asked[0] <= seen
    assert len(asked[0]) < 6


def test_a_summary_counts_and_compares():
    wrong = row(problem="q", right=False, strictly_right=False, mean_w1=0.4)
    flagged = row(problem="r", trusted=False)
    lucky = row(problem="s", trusted=False, chance=1.2)
    rivals = [row(problem=p, method="boosting", mean_w1=0.1) for p in "pqrs"]
    found = summarise([row(), wrong, flagged, lucky], rivals)
    assert (found.cells, found.right, found.silently_wrong) == (4, 3, 1)
    assert (found.flagged, found.false_alarms, found.right_by_skill) == (2, 1, 2)
    assert found.ratios.worst_problem == "q"
    assert found.ratios.worst == pytest.approx(4.0)
    assert found.ratios.mean == pytest.approx((0.5**3 * 4.0) ** 0.25)


def test_methods_without_figures_are_not_compared():
    refused = row(problem="q", mean_w1=None, w1=None)
    alone = [row(problem="q", method="boosting", mean_w1=0.1)]
    assert summarise([refused], alone).ratios is None
    assert summarise([row()], [row(method="boosting", mean_w1=None)]).ratios is None
    found = summarise([row(), refused], [*alone, row(method="boosting", mean_w1=0.1)])
    assert found.ratios.mean == pytest.approx(0.5)  # of the one cell in which both have figures


def test_a_page_of_rivals_alone_and_of_the_market():
    """Sections whose rows are missing are left out; what was refused has no numbers."""
    settings = Settings(("short episodes",), (2000, 10_000))
    rivals = [row(problem="short episodes", method="boosting")]
    page = as_document(rivals, settings)
    assert "## Summary" not in page
    assert "## 10,000 rows" not in page
    assert "## Electricity" not in page
    nothing = dict.fromkeys(("std_ratio", "quantile", "cvar", "w1", "mean_w1"))
    refused = row(problem="market", right=False, strictly_right=False, refused=True, **nothing)
    page = as_document([row(problem="short episodes"), *rivals], settings, held_out=[refused])
    assert "## Summary" in page
    market = page[page.index("## Electricity") :]
    assert "| 2,000 | lincat | - | - | - | - | refused |" in market


def test_the_electricity_example_is_held_out(tmp_path, capsys, monkeypatch):
    """By the command: the rows of the market are scored, kept, and shown on the page."""
    from lincat.truth import __main__ as command
    from tests.truth.test_electricity import SCRIPT

    (tmp_path / "example.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.setattr(command, "_EXAMPLE", tmp_path / "example.py")
    arguments = ["--problems", "short episodes", "--sizes", "300", "--methods", "neighbours"]
    arguments += ["--processes", "1", "--out", str(tmp_path / "out")]
    main([*arguments, "--electricity", str(tmp_path / "a.whl")])
    said = capsys.readouterr()
    assert len(list((tmp_path / "out").iterdir())) == 2
    assert said.err.splitlines()[1].startswith("held out")
    assert "## Electricity" in said.out
    main(arguments)
    assert capsys.readouterr().out == said.out  # from the rows that are there


def test_w1_below_a_hundredth_counts_as_a_hundredth():
    rivals = [row(method="boosting", mean_w1=1e-9)]
    assert summarise([row(mean_w1=0.004)], rivals).ratios.mean == pytest.approx(1.0)


def test_the_previous_release_was_run_on_every_problem():
    kept = previous()
    assert {found.problem for found in kept.rows} == {problem.name for problem in PROBLEMS}
    assert {found.rows for found in kept.rows} == set(SIZES)
    assert "lincat.truth" in kept.command


def test_an_unknown_problem_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="problem: expected one of heavy tails"):
        problem_named("nothing")
