"""Figures for observations that someone asks a run about, with a reason where there are none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from lincat._arguments import fail
from lincat._text import shown
from lincat._typing import FloatArray
from lincat.core.apart import Apart
from lincat.core.distribution import ReturnDistribution
from lincat.data.mixed import is_mixed, is_text
from lincat.features.observations import as_rows
from lincat.inference.intervals import shown_interval
from lincat.report.tables import HIGH, LOW
from lincat.runs.model import Model
from lincat.runs.run import Run
from lincat.tables.asked import Asked, Wanted, asked_of, read_asked
from lincat.tables.places import frame_name, is_column, is_frame, values_of

_NEGATIVE = "negative_mass"
_PART = 2000  # states that are predicted at once
_PART_WITH_ERRORS = 100  # likewise, whose errors take many times the memory


@dataclass(frozen=True)
class Figures:
    """Which figures of a distribution are asked for.

    Attributes
    ----------
    quantiles : tuple of float
    level : float
        Of CVaR.
    threshold : float or None
        For the chance to end below it.
    confidence : float or None
        Of intervals.
    masses : bool
        Also the probability of each atom.
    lost : bool
        Whether mass fell off the grid, so that nothing is known of what lies outside.
    """

    quantiles: tuple[float, ...]
    level: float
    threshold: float | None = None
    confidence: float | None = None
    masses: bool = False
    lost: bool = False

    def of(self, distribution: ReturnDistribution) -> dict[str, FloatArray]:
        """Return them by name, shape (n,) each."""
        proper, threshold = distribution.proper(), self.threshold
        figures: list[tuple[str, FloatArray, str, float | None]] = [
            ("mean", proper.mean(), "mean", None),
            ("std", proper.std(), "std", None),
            *((f"q{q:g}", proper.quantile(q), "quantile", q) for q in self.quantiles),
            (f"cvar{self.level:g}", proper.cvar(self.level), "cvar", self.level),
        ]
        if threshold is not None:
            below = proper.probability_below(threshold)
            figures.append((f"below{threshold:g}", below, "probability_below", threshold))
        columns = {}
        for name, values, measure, argument in figures:
            columns[name] = values
            if distribution.uncertainty is not None:
                ends = shown_interval(distribution, measure, argument)
                columns[name + LOW], columns[name + HIGH] = ends
        grid = distribution.grid
        if threshold is not None and self.lost and not grid.low < threshold <= grid.high:
            for name in columns:  # what left the grid was moved to its ends: nothing is known there
                if name.startswith(f"below{threshold:g}"):
                    columns[name] = np.full(len(columns[name]), np.nan)
        columns[_NEGATIVE] = distribution.negative_mass
        if self.masses:
            pmf = proper.pmf
            columns |= {f"p({x:.12g})": pmf[:, k] for k, x in enumerate(grid.atoms)}
        return columns

    def of_each(self, apart: Apart) -> dict[str, FloatArray]:
        """Return the same of states that have grids of their own; no intervals, no masses."""
        table = apart.figures(self.quantiles, self.level, self.threshold).T
        names = ["mean", "std", *(f"q{q:g}" for q in self.quantiles), f"cvar{self.level:g}"]
        columns = dict(zip(names, table, strict=False))
        if self.threshold is not None:
            below = table[-2]
            if self.lost:
                below = np.where(
                    (apart.low < self.threshold) & (self.threshold <= apart.high), below, np.nan
                )
            columns[f"below{self.threshold:g}"] = below
        columns[_NEGATIVE] = table[-1]
        return columns


def wanted_by(run: Run) -> Wanted:
    """Return the observations that a run takes."""
    like, names = run.shown.members[0], tuple(run.answer.observation_names)
    if is_mixed(like):
        texts = frozenset(name for name in like.dtype.names if is_text(like, name))
        return Wanted("mixed", like.dtype.names, texts)
    if like.ndim == 2:
        if len(names) != like.shape[1]:
            names = tuple(f"x{j}" for j in range(like.shape[1]))
        return Wanted("points", names)
    return Wanted("ids", names)


def observations_of(run: Run, given: Any) -> Any:
    """Return observations as the run takes them, whatever they are given as; all must be good.

    As an array, a list of rows or of ids, rows with names, a frame, or a column of one.
    """
    wanted = wanted_by(run)
    if is_frame(given):
        return _good(run, read_asked(given, wanted), frame_name(given))
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        remedy = "put a single observation into a list"
        raise fail("observations", "a list, an array or a frame of them", shown(given, 60), remedy)
    if is_column(given):
        given = values_of(given)
    elif not hasattr(given, "__array__"):
        given = list(given)
    if is_mixed(given) or scipy.sparse.issparse(given):
        return given
    by_name = isinstance(given, list) and any(isinstance(row, dict) for row in given)
    if by_name or wanted.kind == "mixed":
        rows = as_rows(given).tolist()
        rows = [list(row) if isinstance(row, tuple) else row for row in rows]
        return _good(run, asked_of(rows, wanted), "observations")
    array = as_rows(given)
    if wanted.kind == "ids" and not isinstance(run.shown.members[0][0], tuple):
        return _alone(array)
    return array


def _alone(ids: Any) -> Any:
    """Ids, each of which may be a row of its own."""
    if ids.ndim == 2 and ids.shape[1] == 1:
        return ids[:, 0]
    if ids.dtype == object:
        rows = [x[0] if isinstance(x, tuple) and len(x) == 1 else x for x in ids.tolist()]
        return as_rows(rows)
    return ids


def _good(run: Run, asked: Asked, where: str) -> Any:
    """The observations that are asked about, if all of them can be answered."""
    observations, reasons = asked.observations, list(asked.reasons)
    if not is_mixed(observations) and observations.ndim == 1:
        observations = _like_known(observations, run.shown.members[0], reasons)
    for i, reason in enumerate(reasons):
        if reason:
            raise fail(f"{where}, row {i + 1}", "an observation", reason)
    return observations


def answered(run: Run, asked: Asked, figures: Figures) -> tuple[dict[str, FloatArray], list[str]]:
    """Return figures by name, NaN where there is no answer, and for each row why, or a remark."""
    model, reasons = run.model, list(asked.reasons)
    observations = asked.observations
    if not is_mixed(observations) and observations.ndim == 1:
        observations = _like_known(observations, run.shown.members[0], reasons)
    good = np.array([not reason for reason in reasons], dtype=bool)
    rows = np.flatnonzero(good)
    known = model.features.knows(observations[rows])
    for i in rows[~known].tolist():
        reasons[i] = f"{_name(observations[i])} was never seen"
    rows = rows[known]
    for i, remark in zip(rows, model.features.remarks(observations[rows]), strict=True):
        reasons[i] = remark
    size = _PART if figures.confidence is None else _PART_WITH_ERRORS
    size = max(len(rows), 1) if figures.masses else size  # masses need a common grid
    parts = [
        _figures(model, observations[rows[i : i + size]], figures)
        for i in range(0, len(rows), size)
    ]
    if not parts:  # nothing can be answered: only the names of the figures
        some = _figures(model, run.shown.members[0][:1], figures)
        parts = [{name: values[:0] for name, values in some.items()}]
    if len(rows) == len(asked) and len(parts) == 1:
        return parts[0], reasons
    columns = {}
    for name in parts[0]:
        columns[name] = np.full(len(asked), np.nan)
        columns[name][rows] = np.concatenate([part[name] for part in parts])
    return columns, reasons


def _figures(model: Model, observations: Any, figures: Figures) -> dict[str, FloatArray]:
    if figures.confidence is None and not figures.masses:
        return figures.of_each(model.predict_apart(observations))
    return figures.of(model.predict(observations, confidence=figures.confidence))


def _like_known(ids: Any, known: Any, reasons: list[str]) -> Any:
    """Return ids of the type that the run knows: "8" of a CSV file is 8 of a Parquet file."""
    one = known[0].item() if isinstance(known[0], np.generic) else known[0]
    converted: list[Any] = []
    for i, value in enumerate(ids.tolist()):
        found = None if reasons[i] else _as_type(value, one)
        if found is None and not reasons[i]:
            reasons[i] = f"{_name(value)} was never seen"
        converted.append(found)
    if known.dtype != object:
        return np.array([0 if x is None else x for x in converted], dtype=np.int64)
    array = np.empty(len(converted), dtype=object)
    array[:] = converted
    return array


def _as_type(value: Any, like: Any) -> Any:
    """Return an id as the one that it is to be compared with is written; None if it cannot be."""
    if isinstance(like, tuple):
        if not isinstance(value, tuple | list) or len(value) != len(like):
            return None
        parts = tuple(_as_type(x, y) for x, y in zip(value, like, strict=True))
        return None if None in parts else parts
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(like, str):
        return str(value) if isinstance(value, str | int) else None
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value):
        return int(value)
    return int(value) if isinstance(value, int) and abs(value) < 2**63 else None


def _name(value: Any) -> str:
    return shown(value.item() if isinstance(value, np.generic) else value, 60)
