"""The small version of `make tuning`, and what its rows and its table are made of."""

import msgspec
import numpy as np
import pytest

import lincat
from lincat.tuning.__main__ import main
from lincat.tuning.cases import random_case
from lincat.tuning.document import as_section, holds, with_section
from lincat.tuning.run import (
    Cell,
    Row,
    cells_of,
    fixed_point,
    missing_from,
    read_rows,
    run_cell,
)
from lincat.tuning.settings import STEPS, Length, Settings


def test_the_small_version_holds_and_what_is_there_is_not_run_again(tmp_path, capsys):
    page = tmp_path / "learners.md"
    marks = "<!-- From here to the end mark written by make tuning; do not edit. -->{}" + (
        "<!-- End of what make tuning writes. -->"
    )
    page.write_text(f"# Learners\n\n{marks.format('old')}\n\n## More\n", encoding="utf-8")
    arguments = ["--quick", "--out", str(tmp_path / "out"), "--write", str(page)]
    main(arguments)
    settings = Settings(processes=6, lengths=(Length(2_000, 2),))
    rows = read_rows(cells_of(settings), tmp_path / "out")
    assert len(capsys.readouterr().err.splitlines()) == len(rows) == 12
    assert holds(rows)
    section = as_section(rows, settings)
    text = page.read_text(encoding="utf-8")
    assert text == f"# Learners\n\n{marks.format(chr(10) * 2 + section + chr(10) * 2)}\n\n## More\n"
    assert "12 cells: 6 random processes" in text
    assert "warm,\n100.0% and" in text
    main(arguments)
    assert capsys.readouterr().err == ""
    longer = Settings(processes=6, lengths=(Length(2_000, 3),))
    assert len(missing_from(cells_of(longer), tmp_path / "out")) == 12
    main([*arguments[:-2], "--processes", "5"])
    assert "10 cells: 5 random processes" in capsys.readouterr().out


def test_errors_are_those_of_sweep():
    """Of a table, whose features are independent, so that sweep knows its fixed point too."""
    lengths = (Length(600, 3), Length(1500, 2))
    early, late = run_cell(Cell(0, "walk", Settings(0, 1, lengths)))
    problem, intervals = random_case(0, 0)
    learner = lincat.LinearCTD(
        grid=problem.grid(intervals), gamma=problem.gamma, n_features=problem.process.n_states
    )
    rows = list(
        lincat.sweep(
            learner,
            problem,
            step_size=[0.25, "auto"],
            seed=range(3),
            updates=1500,
            checkpoints=[600, 1500],
            kind="markov",
        )
    )

    def error(step_size, updates, seeds):
        found = [
            row["cramer"]
            for row in rows
            if (row["step_size"], row["updates"]) == (step_size, updates) and row["seed"] in seeds
        ]
        assert len(found) == len(seeds)
        return np.sqrt(np.mean(np.square(found)))

    assert (early.transitions, early.runs, late.transitions, late.runs) == (600, 3, 1500, 2)
    assert early.auto == pytest.approx(error("auto", 600, range(3)), rel=1e-12)
    assert late.auto == pytest.approx(error("auto", 1500, range(2)), rel=1e-12)
    assert late.constant[2] == pytest.approx(error(0.25, 1500, range(2)), rel=1e-12)
    assert STEPS[2] == 0.25
    assert late.warm < late.auto


@pytest.mark.parametrize("number", [6, 8, 17])
def test_fixed_points_solve_the_projected_equation(number):
    """E[phi (F(s) − target)] = 0, with tiles that depend on each other, and ends of episodes."""
    problem, intervals = random_case(number, 0)
    process, grid = problem.process, problem.grid(intervals)
    F = fixed_point(problem, grid).cdf_values
    discount = np.where(process.terminated, 0.0, problem.gamma)
    target = lincat.bellman_target(F[process.next_state], process.reward, discount, grid)
    weight = process.stationary[process.state] * process.probability
    error = problem.Phi[process.state].T @ (weight[:, None] * (F[process.state] - target))
    np.testing.assert_allclose(error, 0.0, atol=1e-10)


def test_cases_have_every_gamma_with_every_kind_of_features():
    cases = [random_case(number, 0) for number in range(24)]
    pairs = {(problem.gamma, problem.name.split(", ")[1]) for problem, _ in cases}
    assert len(pairs) == 24
    assert len({problem.name for problem, _ in cases}) == 9
    assert all(10 <= intervals <= 200 for _, intervals in cases)
    assert random_case(3, 1)[0].process.n_states != random_case(3, 0)[0].process.n_states


def test_bars_and_divergence():
    constant = (None, 0.2, *[0.4] * 7)
    row = Row("line", "table", 0.9, 5, 20, "walk", 2000, 2, constant, auto=0.3, warm=0.2)
    assert (row.best, row.best_step, row.ratio(row.auto)) == (0.2, 0.5, pytest.approx(1.5))
    far = msgspec.structs.replace(row, auto=0.79)
    farther = msgspec.structs.replace(row, auto=0.81)
    lost = msgspec.structs.replace(row, auto=None)
    assert holds([row] * 95 + [far] * 5, warm=False)
    assert not holds([row] * 94 + [far] * 6, warm=False)
    assert not holds([row] * 99 + [farther], warm=False)
    assert not holds([row] * 99 + [lost], warm=False)
    assert holds([lost] * 9)
    text = as_section([row] * 99 + [lost], Settings())
    assert (
        "warm,\n100.0% and 1.0x at worst, which holds; cold, 99.0% and diverging at worst" in text
    )
    assert "diverging at worst, which misses it; 1 of them diverged" in text
    assert "1/(2R) to 1/(2R)" in text


def test_a_page_without_marks_is_refused():
    with pytest.raises(lincat.InvalidInputError, match=r"^--write: expected a page with the marks"):
        with_section("# Learners\n", "table")
