"""Running cells, problem by size by seed: a folder that fills up with rows, one file for each.

    rows/<method>/<problem>-<rows>-<seed>.json     written whole or not at all
    known/                                         the truth, simulated once

What is there is not done again. lincat is called as a newcomer would: a path or the name of an
environment, gamma, and nothing else.
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

import lincat
from lincat._files import write_atomically
from lincat._typing import FloatArray
from lincat.inference.answer import Check, Verdict
from lincat.truth.known import Known, known
from lincat.truth.problem import Problem
from lincat.truth.problems import problem_named
from lincat.truth.rivals import RIVALS
from lincat.truth.scores import (
    Errors,
    Prediction,
    errors_of,
    independent_returns,
    is_right,
    sampling_errors,
    unit,
)
from lincat.truth.settings import BARS, Settings
from lincat.truth.simulation import Log

OURS = "lincat"
METHODS = (OURS, *RIVALS)
#: Of a method that does not judge itself.
NO_VERDICT = Verdict(trusted=None, sentence="")


@dataclass(frozen=True)
class Cell:
    """One thing to run."""

    problem: str
    rows: int
    seed: int
    method: str = OURS

    def file(self, folder: Path) -> Path:
        """Where its row is kept."""
        name = f"{self.problem.replace(' ', '_')}-{self.rows}-{self.seed}.json"
        return folder / "rows" / self.method / name


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came of a cell; errors are in true standard deviations."""

    problem: str
    rows: int
    seed: int
    method: str
    #: As many independent returns tell as much of the mean as the rows do, at the worst probe.
    returns: float
    #: Estimated over true standard deviation where its error is largest; None where truth has none.
    std_ratio: float | None
    #: Largest errors over the probes (None where nothing came out), and the mean W1.
    std: float | None
    quantile: float | None
    cvar: float | None
    w1: float | None
    mean_w1: float | None
    #: Largest ratio of an error to its bar, with the allowance for sampling error; right if <= 1.
    over: float | None
    right: bool
    #: Within the bars without any allowance.
    strictly_right: bool
    #: Largest ratio of a sampling error to its bar: above 1 what is right is so by luck.
    chance: float | None = None
    #: ``run.trusted``: True, False, or None where nothing was checked.
    trusted: bool | None = None
    #: The sentence of the verdict, or the error with which the method refused.
    words: str = ""
    #: What the verdict looked at, with its limits.
    checks: tuple[Check, ...] = ()
    #: The method gave no figures, and said so.
    refused: bool = False
    seconds: float = 0.0

    @property
    def right_by_skill(self) -> bool:
        """Right, from so many rows that the standard errors of the figures are below the bars."""
        return self.right and (self.chance is None or self.chance <= 1.0)

    @property
    def flagged(self) -> bool:
        """Whether the user was told not to trust the figures."""
        return self.refused or self.trusted is False

    @property
    def silently_wrong(self) -> bool:
        """Neither right nor flagged."""
        return not self.right and not self.flagged


def cells_of(settings: Settings, methods: Sequence[str] = METHODS) -> list[Cell]:
    """Return all cells, small ones first, methods of the same rows together."""
    return [
        Cell(problem, rows, seed, method)
        for rows in settings.sizes
        for seed in settings.seeds
        for problem in settings.problems
        for method in methods
    ]


def run(cells: Sequence[Cell], folder: Path, *, processes: int = 2) -> Iterator[Row]:
    """Run the cells that are not done yet; yield rows as they come.

    More than one process are processes of their own; a single one is this one.
    """
    todo = [cell for cell in cells if not cell.file(folder).exists()]
    if not todo or processes == 1:
        yield from (run_cell(cell, folder) for cell in todo)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        try:
            # Each truth once, before cells of the same problem would all simulate it.
            problems = dict.fromkeys(problem_named(cell.problem).name for cell in todo)
            list(pool.map(_prepare, problems, repeat(folder)))
            waiting = [pool.submit(run_cell, cell, folder) for cell in todo]
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _prepare(name: str, folder: Path) -> None:
    with threadpool_limits(1):
        known(problem_named(name), folder / "known")


def run_cell(cell: Cell, folder: Path) -> Row:
    """Run one cell, keep its row in the folder, and return it; a row that is there is read."""
    file = cell.file(folder)
    if file.exists():
        return msgspec.json.decode(file.read_bytes(), type=Row)
    with threadpool_limits(1):  # truth and scores too: more threads add up in another order
        row = _row(cell, folder)
    keep(row, file)
    return row


def _row(cell: Cell, folder: Path) -> Row:
    problem = problem_named(cell.problem)
    log = problem.log(cell.rows, cell.seed)
    truth = known(problem, folder / "known")
    if problem.ids:  # of an id that never occurs nobody can say anything
        truth = truth.at(np.isin(truth.probes[:, 0], log.observation[:, 0]))
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what lincat has to say of a run is read from the run
        try:
            prediction, verdict = _predict(problem, cell, log, truth.probes)
        except lincat.InvalidInputError as error:
            prediction, verdict = None, Verdict(trusted=None, sentence=str(error))
    return row_of(cell, prediction, truth, verdict, time.perf_counter() - started)


def keep(row: Row, file: Path) -> None:
    """Write a row, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, msgspec.json.encode(row) + b"\n")


def read_rows(cells: Sequence[Cell], folder: Path) -> list[Row]:
    """Return the rows of the cells that are done."""
    files = [cell.file(folder) for cell in cells]
    return [msgspec.json.decode(file.read_bytes(), type=Row) for file in files if file.exists()]


def _predict(
    problem: Problem, cell: Cell, log: Log, probes: FloatArray
) -> tuple[Prediction, Verdict]:
    if cell.method != OURS:
        rival = RIVALS[cell.method]
        return rival(log, probes, gamma=problem.gamma, ids=problem.ids), NO_VERDICT
    with tempfile.TemporaryDirectory() as scratch:
        ours = _evaluate(problem, cell, log, Path(scratch))
        dist = ours.predict(problem.observations(probes))
        return Prediction.of_distribution(dist), ours.answer.verdict


def _evaluate(problem: Problem, cell: Cell, log: Log, scratch: Path) -> lincat.Run:
    out, gamma = scratch / "run", problem.gamma
    if problem.environment is None:
        path = scratch / "log.parquet"
        problem.write(log, path)
        return lincat.evaluate(path, out=out, gamma=gamma)
    name, policy = problem.environment.name, problem.environment.policy
    return lincat.evaluate(
        name, policy=policy, steps=cell.rows, seed=cell.seed, out=out, gamma=gamma
    )


def row_of(
    cell: Cell,
    prediction: Prediction | None,
    truth: Known,
    verdict: Verdict,
    seconds: float,
) -> Row:
    """Score what was predicted; None stands for a refusal, with its words as the sentence."""
    returns = float(independent_returns(truth, cell.rows).min())
    if prediction is None:
        never = np.full(len(truth.probes), np.inf)
        found, ratio = Errors(never, never, never, never), None
    else:
        found = errors_of(prediction, truth)
        ratio = _std_ratio(prediction, found, truth)
    allowance = sampling_errors(truth, cell.rows)
    std, quantile, cvar, w1 = map(_finite, found.worst())
    return Row(
        problem=cell.problem,
        rows=cell.rows,
        seed=cell.seed,
        method=cell.method,
        returns=returns,
        std_ratio=ratio,
        std=std,
        quantile=quantile,
        cvar=cvar,
        w1=w1,
        mean_w1=_finite(found.w1.mean()),
        over=_finite(_over(found, allowance)),
        right=is_right(found, allowance),
        strictly_right=is_right(found),
        chance=_finite(_chance(allowance)),
        trusted=verdict.trusted,
        words=verdict.sentence,
        checks=verdict.checks,
        refused=prediction is None,
        seconds=round(seconds, 2),
    )


def _std_ratio(prediction: Prediction, found: Errors, truth: Known) -> float | None:
    worst = int(found.std.argmax())
    true = float(truth.returns[worst].std())
    # A hundredth of the unit is no standard deviation to take ratios to.
    return float(prediction.std[worst]) / true if true > 0.01 * unit(truth)[worst] else None


def _finite(value: float) -> float | None:
    """JSON knows no infinity."""
    return float(value) if math.isfinite(value) else None


def _chance(allowance: Errors) -> float:
    return max(float(getattr(allowance, name).max() / getattr(BARS, name)) for name in BARS.names)


def _over(found: Errors, allowance: Errors) -> float:
    return max(
        float((getattr(found, name) / (getattr(BARS, name) + 2.0 * getattr(allowance, name))).max())
        for name in BARS.names
    )
