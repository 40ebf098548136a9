"""The errors that constant and automatic steps reach, cell by cell: a folder that fills with rows.

    <seed>-<number of the process>-<kind>.json     written whole or not at all

What is there is not done again, unless other lengths or runs are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from lincat._files import write_atomically
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.core.metrics import cramer
from lincat.core.representation import cdf_from_theta
from lincat.data.transitions import Transitions
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.divergence import DivergenceError
from lincat.learners.linear_ctd import LinearCTD
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical
from lincat.tuning.cases import random_case
from lincat.tuning.settings import KINDS, PILOT, PILOT_RIDGE, STEPS, Settings

_CHUNK = 50_000  # transitions handed over at once


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came of one length of a cell.

    Attributes
    ----------
    process, features : str
        How it moves, and what is seen of it.
    gamma : float
    n_features, intervals : int
        d and K.
    kind : str
        "independent" or "walk".
    transitions, runs : int
    constant : tuple of float or None
        ℓ2,mu distance of the tail average to the exact fixed point, root mean square over the runs,
        for each of ``STEPS``; None where a run diverged.
    auto, warm : float or None
        The same of step_size="auto", from the uniform distribution and from the batch solution of
        the first 1,000 transitions.
    """

    process: str
    features: str
    gamma: float
    n_features: int
    intervals: int
    kind: str
    transitions: int
    runs: int
    constant: tuple[float | None, ...]
    auto: float | None
    warm: float | None

    @property
    def best(self) -> float:
        """The error of the best constant step."""
        return min(error for error in self.constant if error is not None)

    @property
    def best_step(self) -> float:
        """The best constant step, times the largest ‖phi‖²."""
        return STEPS[self.constant.index(self.best)]

    def ratio(self, error: float | None) -> float:
        """Return an error over that of the best constant step; infinite where a run diverged."""
        return np.inf if error is None else error / self.best


@dataclass(frozen=True)
class Cell:
    """One thing to run: a process, independent transitions or a walk, all lengths."""

    number: int
    kind: str
    settings: Settings

    def file(self, folder: Path) -> Path:
        """Where its rows are kept."""
        return folder / f"{self.settings.seed}-{self.number}-{self.kind}.json"


def cells_of(settings: Settings) -> list[Cell]:
    """Return the cells of a study."""
    return [Cell(n, kind, settings) for n in range(settings.processes) for kind in KINDS]


def run(cells: Sequence[Cell], folder: Path) -> Iterator[tuple[Row, ...]]:
    """Run the cells that are missing, and keep their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in missing_from(cells, folder):
        with threadpool_limits(1):
            rows = run_cell(cell)
        write_atomically(cell.file(folder), msgspec.json.encode(rows) + b"\n")
        yield rows


def missing_from(cells: Sequence[Cell], folder: Path) -> list[Cell]:
    """Return the cells that are not done, or not as they are asked for."""
    return [cell for cell in cells if not _rows(cell, folder)]


def read_rows(cells: Sequence[Cell], folder: Path) -> list[Row]:
    """Return the rows of the cells that are done."""
    return [row for cell in cells for row in _rows(cell, folder)]


def _rows(cell: Cell, folder: Path) -> tuple[Row, ...]:
    file = cell.file(folder)
    if not file.exists():
        return ()
    rows = msgspec.json.decode(file.read_bytes(), type=tuple[Row, ...])
    wanted = [(length.transitions, length.runs) for length in cell.settings.lengths]
    return rows if [(row.transitions, row.runs) for row in rows] == wanted else ()


def run_cell(cell: Cell) -> tuple[Row, ...]:
    """Learn with every step, and measure."""
    study = _Study.of(cell)
    compared = [*((step, False) for step in study.step_sizes()), ("auto", True)]
    lengths = sorted(cell.settings.lengths, key=lambda length: length.transitions)
    squares: list[list[FloatArray]] = [[] for _ in lengths]
    # The runs that are long report on their way, so only the rest of the short ones is to be made.
    first = 0
    for last in reversed(range(len(lengths))):
        stops = [length.transitions for length in lengths[: last + 1]]
        for seed in range(first, lengths[last].runs):
            errors = np.array([study.errors(*one, stops, seed) for one in compared])
            for found, at_stop in zip(squares, (errors**2).T, strict=False):
                found.append(at_stop)
        first = max(first, lengths[last].runs)
    rows = []
    for length, found in zip(lengths, squares, strict=True):
        reached = [float(e) if np.isfinite(e) else None for e in np.sqrt(np.mean(found, axis=0))]
        move, features = study.problem.name.split(", ")
        rows.append(
            Row(
                move,
                features,
                study.problem.gamma,
                study.problem.Phi.shape[1],
                study.grid.intervals,
                cell.kind,
                length.transitions,
                length.runs,
                constant=tuple(reached[: len(STEPS)]),
                auto=reached[-2],
                warm=reached[-1],
            )
        )
    return tuple(rows)


def fixed_point(problem: Problem, grid: Grid) -> ReturnDistribution:
    """Return the exact fixed point, also where features depend on each other.

    Tiles do, and some states are never seen: any basis of what the features span on those that are
    has the same fixed point.
    """
    Phi = scipy.sparse.csr_array(problem.Phi).toarray()
    weighted = np.sqrt(problem.process.stationary)[:, None] * Phi
    _, sizes, directions = np.linalg.svd(weighted, full_matrices=False)
    basis = Phi @ directions[sizes > 1e-9 * sizes[0]].T
    Theta = solve_categorical(problem.process, basis, grid, problem.gamma)
    return ReturnDistribution(cdf_from_theta(basis, Theta), grid)


@dataclass(frozen=True)
class _Study:
    """A process, its fixed point, and how transitions come."""

    cell: Cell
    problem: Problem
    grid: Grid
    fixed_point: ReturnDistribution

    @classmethod
    def of(cls, cell: Cell) -> _Study:
        problem, intervals = random_case(cell.number, cell.settings.seed)
        grid = problem.grid(intervals)
        return cls(cell, problem, grid, fixed_point(problem, grid))

    def step_sizes(self) -> list[float | str]:
        """What is compared: constant steps, and "auto"."""
        Phi = scipy.sparse.csr_array(self.problem.Phi)
        largest = float(Phi.multiply(Phi).sum(axis=1).max())
        return [*(step / largest for step in STEPS), "auto"]

    def errors(
        self, step_size: float | str, warm: bool, stops: list[int], seed: int
    ) -> list[float]:
        """Return the error after each number of transitions; infinite from divergence on."""
        process, gamma, d = self.problem.process, self.problem.gamma, self.problem.Phi.shape[1]
        Phi = np.arange(process.n_states) if self.problem.is_tabular else self.problem.Phi
        drawn = process.sample(stops[-1], seed=seed, kind=KINDS[self.cell.kind])

        def transitions(begin: int, end: int) -> Transitions:
            state, reward, after, terminated = (x[begin:end] for x in drawn)
            return Transitions(Phi[state], reward, Phi[after], terminated)

        learner = LinearCTD(grid=self.grid, gamma=gamma, step_size=step_size, n_features=d)
        if warm:
            pilot = CategoricalLSTD(grid=self.grid, gamma=gamma, n_features=d, ridge=PILOT_RIDGE)
            learner.start_at(self.grid, pilot.fit(transitions(0, PILOT)).Theta_)
        found: list[float] = []
        for begin, end in pairwise(sorted({*range(0, stops[-1], _CHUNK), *stops})):
            try:
                learner.partial_fit(transitions(begin, end))
            except DivergenceError:
                break
            if end in stops:
                reached = learner.predict(Phi)
                found.append(float(cramer(reached, self.fixed_point, weights=process.stationary)))
        return found + [np.inf] * (len(stops) - len(found))
