"""The small version of `make coverage`: every case, few logs."""

import msgspec
import numpy as np
import pytest

import lincat
from lincat.coverage.__main__ import main
from lincat.coverage.cases import CASES, case_named, fixed_point
from lincat.coverage.document import as_document, bar_rows, misses
from lincat.coverage.run import FIGURES, Cell, Counted, Row, cells_of, read_rows, run_cell
from lincat.coverage.settings import Settings
from tests.coverage import unlike


def test_the_small_version_runs_and_what_is_there_is_not_run_again(tmp_path, capsys):
    page = tmp_path / "coverage.md"
    arguments = ["--runs", "3", "--sizes", "2000", "--processes", "1"]
    arguments += ["--out", str(tmp_path / "out"), "--write", str(page)]
    main(arguments)
    settings = Settings(sizes=(2000,), runs=3)
    rows = read_rows(cells_of(settings), tmp_path / "out")
    assert len(capsys.readouterr().err.splitlines()) == len(rows) == 2 * len(CASES)
    for row in rows:
        assert [found.figure for found in row.counted] == list(FIGURES)
        assert all(0.0 <= found.coverage <= 1.0 for found in row.counted)
    text = page.read_text(encoding="utf-8")
    assert text == as_document(rows, settings)
    assert all(name in text for name in CASES)
    main(arguments)
    assert capsys.readouterr().err == ""
    more = ["--cases", "paper", "--kinds", "walk", *arguments[2:], "--runs", "4"]
    main(more)
    assert capsys.readouterr().err.startswith("1/1 paper, walk, 2,000 rows: CDF values")


def test_several_processes_count_what_one_counts(tmp_path, capsys):
    """What misses a bar is said at once; without --write the page is printed."""
    arguments = ["--runs", "2", "--sizes", "300", "--cases", "paper", "--kinds", "walk"]
    for processes in ("1", "2"):
        main([*arguments, "--processes", processes, "--out", str(tmp_path / processes)])
    one, two = (
        [
            msgspec.structs.replace(row, seconds=0.0, seconds_without=0.0)
            for row in read_rows(cells_of(Settings(("paper",), ("walk",), (300,), 2)), folder)
        ]
        for folder in (tmp_path / "1", tmp_path / "2")
    )
    assert one == two
    assert len(one) == 1
    said = capsys.readouterr()
    assert said.out.count("## 300 transitions") == 2
    for line in said.err.splitlines():
        assert ("MISSED: " in line) == bool(misses(one[0]))


def test_a_size_without_rows_has_no_section():
    assert "## 300 transitions" not in as_document([], Settings(sizes=(300,)))


@pytest.mark.parametrize("name", ["paper", "hidden regime"])
def test_intervals_hold_along_walks(name):
    row = run_cell(Cell(name, "walk", 20_000, 40))
    pooled = np.mean([found.coverage for found in row.counted])
    assert 0.88 < pooled < 0.99  # three standard errors
    widths = [found.width for found in row.counted if found.width is not None]
    assert 0.8 < np.mean(widths) < 1.4


def test_fixed_points_are_those_of_very_long_logs():
    for name in ("hidden regime", "continuous rewards"):
        case = case_named(name)
        seen = case.process.sample(400_000, seed=9)
        model = lincat.CategoricalLSTD(gamma=case.gamma, grid=case.grid)
        model.fit(case.Phi[seen.state], seen.reward, case.Phi[seen.next_state])
        found = model.predict(case.Phi[list(case.probes)]).cdf_values
        np.testing.assert_allclose(found, fixed_point(name), atol=0.03)


def test_what_misses_a_bar_is_named():
    figures = {"mean": (0.80, 1.0), "cvar": (0.95, 1.4), "variance": (0.995, 1.0)}
    held = tuple(Counted(name, share, 0.01, width) for name, (share, width) in figures.items())
    row = Row(
        "paper", "walk", 20_000, 400, (*held, Counted("whole CDF", 0.99, 0.01, None)), 1.0, 1.0, 0.0
    )
    assert misses(row) == ["mean", "cvar", "variance"]
    near = msgspec.structs.replace(row, counted=(Counted("mean", 0.91, 0.01, 1.17),))
    assert misses(near) == []
    assert misses(near, noise=0.0) == ["mean"]
    text = as_document([row], Settings(("paper",), ("walk",), (20_000,), 400))
    assert "**80.0%, 1.00**" in text
    assert {line["figure"]: line["bar"] for line in bar_rows([row])} == {
        "mean": "not met",
        "5 % CVaR": "not met",
        "whole CDF": "met",
        "cost, times the answer alone: 1.00": "met",
    }
    assert [line["bar"] for line in bar_rows([near])] == ["not met, by noise", "met"]
    assert bar_rows([msgspec.structs.replace(row, rows=5000)]) == []
    assert "99.0% |" in text
    early = as_document([msgspec.structs.replace(row, rows=5000)], Settings(sizes=(5000,)))
    assert "**" not in early


def test_processes_unlike_those_of_the_page(capsys):
    cases = ["--cases", "lottery", "nearly_certain"]
    arguments = ["--runs", "3", "--rows", "2000", *cases]
    unlike.main(arguments)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("lottery: CDF values ")
    assert "whole CDF" in second
    unlike.main([*arguments, "--bare"])
    assert capsys.readouterr().out.splitlines() != [first, second]
    unlike.main(arguments)  # nothing is left bare
    again = capsys.readouterr().out.splitlines()
    assert [line.split(";")[0] for line in again] == [x.split(";")[0] for x in (first, second)]
