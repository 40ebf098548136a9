"""``lincat solve``: exact answers for a finite process."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lincat
from lincat.cli.options import (
    level_option,
    output_options,
    say,
    spinner,
    terminal,
    threshold_option,
)

if TYPE_CHECKING:
    from lincat import Grid, Problem, ReturnDistribution
    from lincat._rows import Row


_INTERVALS = 1000  # where only the ends of the grid are given
_MOST_LINEAR = 512  # intervals for the fixed point of Linear-CTD, where none are asked for
_MOST_SUMMARY_ROWS = 40
_MOST_MASS_COLUMNS = 8
_MOST_MASS_ROWS = 129


@click.command(short_help="True return distributions of a finite process.")
@click.argument("source", metavar="FILE|NAME")
@click.option(
    "--gamma",
    type=float,
    help="Discount factor in [0, 1], 1 where episodes end; overrides the file's.",
)
@click.option(
    "--intervals",
    type=int,
    help="K; there are K + 1 atoms. By default doubled until the figures stand still.",
)
@click.option("--low", type=float, help="First atom; by default low enough for all returns.")
@click.option("--high", type=float, help="Last atom; by default high enough for all.")
@level_option("Level of the quantiles and CVaR.", default=0.05)
@threshold_option
@output_options
def solve(
    source: str,
    gamma: float | None,
    intervals: int | None,
    low: float | None,
    high: float | None,
    level: float,
    threshold: float | None,
    as_json: bool,
    out: Path | None,
    force: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Print the true return distribution of every state of a finite process.

    FILE is a JSON file with the process (see docs/process-files.md); NAME is one of the catalog:
    paper, paper_unit_norm, uniform_coin, boyan_chain, random_walk, frozen_lake, random_process
    (drawn again for each --seed).

    With features in the file, the fixed point that Linear-CTD converges to is given beside the
    true one, with the distance between them.

    \b
    Examples:
      lincat solve uniform_coin --intervals 10
      lincat solve examples/inventory.json --gamma 0.9 --below 0 --out answer
    """
    from lincat._files import new_folder

    problem = _read(source, gamma, seed)
    free = intervals is None and low is None and high is None
    grid = None if free else _grid(problem, intervals, low, high)
    folder = None if out is None else new_folder(out, "--out", force=force)
    with spinner(f"Solving {problem.process.n_states:,} states", quiet=quiet):
        answer = _Solution(problem, grid, level, threshold)
    if as_json:
        click.echo(json.dumps(answer.as_dict()))
    else:
        answer.show(notes=not quiet)
    if folder is not None:
        with spinner("Drawing", quiet=quiet):
            written = answer.write(folder)
        if not as_json and not quiet:
            say("Written: " + ", ".join(str(path) for path in written))


def _read(source: str, gamma: float | None, seed: int) -> Problem:
    from dataclasses import replace

    if Path(source).exists():
        problem = lincat.read_problem(source)
    elif source in lincat.catalog.names():
        problem = lincat.catalog.build(source, seed=seed)
    else:
        raise lincat.InvalidInputError(
            f"FILE|NAME: expected a JSON file or one of {', '.join(lincat.catalog.names())}, "
            f"got {source!r}"
        )
    return problem if gamma is None else replace(problem, gamma=gamma)


def _grid(problem: Problem, intervals: int | None, low: float | None, high: float | None) -> Grid:
    intervals = _INTERVALS if intervals is None else intervals
    default = problem.grid(intervals)
    return lincat.Grid(
        default.low if low is None else low, default.high if high is None else high, intervals
    )


class _Solution:
    """The solution of one problem, ready to print and to write; without a grid, one is placed."""

    def __init__(
        self, problem: Problem, grid: Grid | None, level: float, threshold: float | None
    ) -> None:
        from lincat.solvers.returns import settled_returns

        self.problem, self.level, self.threshold = problem, level, threshold
        self.change: float | None = None
        if grid is None:
            found = settled_returns(problem.process, problem.gamma, level=level)
            self.true, self.change = found.returns, found.change
        else:
            self.true = lincat.true_returns(problem.process, problem.gamma, grid)
        self.grid = self.true.grid
        self.summary = self._rows(self.true)
        self.linear: ReturnDistribution | None = None
        if not problem.is_tabular:
            self._solve_linear()

    def _rows(self, dist: ReturnDistribution) -> list[Row]:
        from lincat.report.tables import summary_rows

        names = self.problem.state_names
        return summary_rows(dist, names, level=self.level, threshold=self.threshold)

    def _solve_linear(self) -> None:
        problem, grid = self.problem, self.grid
        if self.change is not None:
            grid = problem.grid(min(grid.intervals, _MOST_LINEAR))
        with warnings.catch_warnings():
            # The true distributions on this grid have already given the same warning.
            warnings.simplefilter("ignore", lincat.GridMisfitWarning)
            Theta = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
            self.error = lincat.approximation_error(
                problem.process, problem.Phi, grid, problem.gamma
            )
        self.linear = lincat.ReturnDistribution(lincat.cdf_from_theta(problem.Phi, Theta), grid)
        self.linear_summary = self._rows(self.linear)

    @property
    def accuracy(self) -> str:
        """On how many atoms, and how far that is from the last word."""
        atoms = f"{self.grid.intervals + 1:,} atoms"
        if self.change is None:
            return f"on {atoms}"
        return f"on {atoms}, figures within about {self.change:.1g}"

    def as_dict(self) -> dict[str, Any]:
        problem = self.problem
        answer: dict[str, Any] = {
            "name": problem.name,
            "note": problem.note,
            "gamma": problem.gamma,
            "grid": asdict(self.grid),
            "change": self.change,
            "atoms": self.grid.atoms.tolist(),
            "states": _with_masses(self.summary, self.true),
        }
        if self.linear is not None:
            answer["linear"] = {
                "features": problem.Phi.shape[1],
                "states": _with_masses(self.linear_summary, self.linear),
                "approximation_error": {
                    name: value if math.isfinite(value) else None
                    for name, value in {**asdict(self.error), "bound": self.error.bound}.items()
                },
            }
        return answer

    def show(self, *, notes: bool) -> None:
        from lincat.report.tables import mass_rows, rich_table, sparkline

        console = terminal()
        problem, grid = self.problem, self.grid
        rows = [
            {**row, "shape": sparkline(pmf)}
            for row, pmf in zip(self.summary, self.true.pmf, strict=True)
        ]
        zero = 1e-12 * (grid.high - grid.low)
        about = f"(gamma {problem.gamma:g}, {self.accuracy})"
        console.print(f"{problem.name}: true return distributions {about}")
        console.print(rich_table(rows[:_MOST_SUMMARY_ROWS], zero_below=zero))
        if self.linear is not None:
            d = problem.Phi.shape[1]
            console.print(f"fixed point of Linear-CTD with {d} features")
            console.print(rich_table(self.linear_summary[:_MOST_SUMMARY_ROWS], zero_below=zero))
            bound = "sets no bound without discounting"
            if math.isfinite(self.error.bound):
                bound = f"allows {self.error.bound:.4g}"
            distance = f"{self.error.wasserstein:.4g} (Prop. approx_error {bound})"
            console.print(f"Distance to the truth W1,mu {distance}.")
        complete = len(rows) <= _MOST_SUMMARY_ROWS
        if len(self.true) <= _MOST_MASS_COLUMNS and grid.intervals < _MOST_MASS_ROWS:
            masses = mass_rows(self.true, problem.state_names)
            console.print("probability of each return, by state")
            console.print(rich_table(masses, zero_below=1e-12))
        else:
            complete = False
        if notes and problem.note:
            console.print(f"Note: {problem.note}", soft_wrap=True)
        if notes and not complete:
            console.print("Too much for a screen: --json or --out gives everything.")

    def write(self, folder: Path) -> list[Path]:
        from lincat._files import write_atomically
        from lincat.core.figures import ridgelines
        from lincat.report.figures import save_figure
        from lincat.report.tables import as_csv, mass_rows

        texts = {
            "answer.json": json.dumps(self.as_dict(), indent=1) + "\n",
            "summary.csv": as_csv(self.summary),
            "distributions.csv": as_csv(mass_rows(self.true, self.problem.state_names)),
        }
        for name, text in texts.items():
            write_atomically(folder / name, text)
        figure = ridgelines(
            self.true,
            self.problem.state_names,
            title=f"{self.problem.name}: the return from each state",
            subtitle=f"discount factor {self.problem.gamma:g}, {self.accuracy}",
            level=self.level,
        )
        return [*(folder / name for name in texts), *save_figure(figure, folder, "returns")]


def _with_masses(rows: list[Row], dist: ReturnDistribution) -> list[dict[str, Any]]:
    return [{**row, "pmf": pmf.tolist()} for row, pmf in zip(rows, dist.pmf, strict=True)]
