"""Counting how often intervals hold, cell by cell: a folder that fills up with rows.

    <case>-<kind>-<transitions>.json     written whole or not at all

What is there is not done again, unless more runs are asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import msgspec
import numpy as np
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from lincat._files import write_atomically
from lincat._typing import BoolArray, FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.coverage.cases import Case, case_named, fixed_point
from lincat.coverage.settings import CONFIDENCE, FIRST_SEED, KINDS, Settings
from lincat.data.transitions import Transitions
from lincat.learners.categorical_lstd import CategoricalLSTD

_INNER = 1e-3  # CDF values nearer to 0 or 1 are left out: nothing is uncertain there
_LEVEL, _AVERSION = 0.05, 0.2

#: What is counted: single CDF values, whole CDFs, and figures.
FIGURES = (
    "CDF values",
    "whole CDF",
    "mean",
    "variance",
    "quantile",
    "cvar",
    "probability_below",
    "entropic",
)


class Counted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one kind of interval did in a cell.

    Attributes
    ----------
    figure : str
    coverage, coverage_se : float
        Share of intervals, over runs and states, that held the fixed point.
    width : float or None
        Mean width over that of the interval that knows the true standard error (of the runs);
        None for whole CDFs.
    """

    figure: str
    coverage: float
    coverage_se: float
    width: float | None


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came of a cell."""

    case: str
    kind: str
    rows: int
    runs: int
    counted: tuple[Counted, ...]
    #: Seconds a run, with and without intervals.
    seconds: float
    seconds_without: float
    #: Share of runs with a caution.
    cautions: float


@dataclass(frozen=True)
class Cell:
    """One thing to run."""

    case: str
    kind: str
    rows: int
    runs: int

    def file(self, folder: Path) -> Path:
        """Where its row is kept."""
        return folder / f"{self.case.replace(' ', '_')}-{self.kind}-{self.rows}.json"


@dataclass(frozen=True)
class _Intervals:
    """Intervals of one log: estimates, ends and whether they held, for each figure."""

    estimate: dict[str, FloatArray]
    width: dict[str, FloatArray]
    held: dict[str, BoolArray]
    seconds: float
    seconds_without: float
    caution: bool


def cells_of(settings: Settings) -> list[Cell]:
    """Return the cells of a study."""
    return [
        Cell(case, kind, rows, settings.runs)
        for case in settings.cases
        for kind in settings.kinds
        for rows in settings.sizes
    ]


def run(cells: Sequence[Cell], folder: Path, *, processes: int = 1) -> Iterator[Row]:
    """Run the cells that are missing, in processes of their own if there are several."""
    missing = missing_from(cells, folder)
    if processes == 1:
        for cell in missing:
            yield _keep(cell, run_cell(cell), folder)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(run_cell, cell): cell for cell in missing}
        for done in as_completed(waiting):
            yield _keep(waiting[done], done.result(), folder)


def missing_from(cells: Sequence[Cell], folder: Path) -> list[Cell]:
    """Return the cells that are not done, or not with as many runs."""
    done = {(row.case, row.kind, row.rows): row.runs for row in read_rows(cells, folder)}
    return [c for c in cells if done.get((c.case, c.kind, c.rows), 0) < c.runs]


def read_rows(cells: Sequence[Cell], folder: Path) -> list[Row]:
    """Return the rows of the cells that are done."""
    files = [cell.file(folder) for cell in cells]
    return [msgspec.json.decode(file.read_bytes(), type=Row) for file in files if file.exists()]


def run_cell(cell: Cell) -> Row:
    """Draw the logs of a cell, and count."""
    return count_case(case_named(cell.case), fixed_point(cell.case), cell)


def count_case(case: Case, true: FloatArray, cell: Cell) -> Row:
    """The same of any case, and the CDF values that ever more data lead to, (probes, K)."""
    truth = ReturnDistribution(true, case.grid)
    with threadpool_limits(1):
        seeds = range(FIRST_SEED, FIRST_SEED + cell.runs)
        logs = [_one(case, truth, cell.kind, cell.rows, seed) for seed in seeds]
    counted = tuple(_count(figure, logs) for figure in FIGURES)
    return Row(
        cell.case,
        cell.kind,
        cell.rows,
        cell.runs,
        counted,
        seconds=float(np.median([log.seconds for log in logs])),
        seconds_without=float(np.median([log.seconds_without for log in logs])),
        cautions=float(np.mean([log.caution for log in logs])),
    )


def _keep(cell: Cell, row: Row, folder: Path) -> Row:
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(cell.file(folder), msgspec.json.encode(row) + b"\n")
    return row


def _one(case: Case, truth: ReturnDistribution, kind: str, rows: int, seed: int) -> _Intervals:
    seen = case.process.sample(rows, seed=seed, kind=KINDS[kind])
    data = Transitions(
        case.Phi[seen.state], seen.reward, case.Phi[seen.next_state], terminated=seen.terminated
    )
    probes = case.Phi[list(case.probes)]
    begin = time.process_time()
    model = CategoricalLSTD(gamma=case.gamma, grid=case.grid).fit(data)
    model.predict(probes)
    without = time.process_time() - begin
    dist = model.predict(probes, confidence=CONFIDENCE)
    estimate: dict[str, FloatArray] = {}
    width: dict[str, FloatArray] = {}
    held: dict[str, BoolArray] = {}
    for figure, argument in _questions(case):
        low, high = dist.interval(figure, argument)
        true = _figure(truth, figure, argument)
        estimate[figure] = _figure(dist, figure, argument)
        width[figure], held[figure] = high - low, (low <= true) & (true <= high)
    seconds = time.process_time() - begin
    inner = (truth.cdf_values > _INNER) & (truth.cdf_values < 1.0 - _INNER)
    for figure in FIGURES[:2]:
        low, high = dist.band(simultaneous=figure == "whole CDF")
        inside = (low <= truth.cdf_values) & (truth.cdf_values <= high)
        estimate[figure], width[figure] = dist.cdf_values[inner], (high - low)[inner]
        whole = np.asarray((inside | ~inner).all(axis=1))
        held[figure] = inside[inner] if figure == "CDF values" else whole
    caution = bool(model.ensemble_.cautions)
    return _Intervals(estimate, width, held, seconds, without, caution)


def _questions(case: Case) -> list[tuple[str, float | None]]:
    return [
        ("mean", None),
        ("variance", None),
        ("quantile", _LEVEL),
        ("cvar", _LEVEL),
        ("probability_below", case.threshold),
        ("entropic", _AVERSION),
    ]


def _figure(dist: ReturnDistribution, figure: str, argument: float | None) -> FloatArray:
    """The figure that an interval is about: quantiles and probabilities interpolated."""
    if figure == "quantile":
        return dist.quantile(_LEVEL, interpolate=True)
    if figure == "probability_below":
        return dist.probability_below(np.asarray(argument), interpolate=True)
    plain = {"mean": dist.mean, "variance": dist.variance}
    if figure in plain:
        return plain[figure]()
    return dist.cvar(_LEVEL) if figure == "cvar" else dist.entropic(_AVERSION)


def _count(figure: str, logs: Sequence[_Intervals]) -> Counted:
    shares = np.array([log.held[figure].mean() for log in logs])
    width = None
    if figure != "whole CDF" and len(logs) > 1:
        ideal = (
            2.0
            * ndtri(0.5 + CONFIDENCE / 2.0)
            * np.std([log.estimate[figure] for log in logs], axis=0, ddof=1)
        )
        width = float(np.mean(np.mean([log.width[figure] for log in logs], axis=0) / ideal))
    se = float(shares.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else 1.0
    return Counted(figure, float(shares.mean()), se, width)
