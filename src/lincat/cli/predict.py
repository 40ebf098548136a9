"""``lincat predict``: distributions and risk for given states."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from lincat.cli.options import (
    SHARE,
    check_place,
    file_options,
    find_local_modules,
    level_option,
    run_argument,
    threshold_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lincat import ReturnDistribution
    from lincat._typing import FloatArray
    from lincat.runs.run import Run
    from lincat.tables.columns import Columns


_PART = 2000  # states that are predicted at once
_PART_WITH_ERRORS = 100  # likewise, whose errors take many times the memory
_CONFIDENCE = 0.95
_MOST_ASKED = 1000  # states that get intervals without being asked for: a thousand take seconds
_FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


@click.command(short_help="Distributions and risk for given states.")
@run_argument
@click.option(
    "--states",
    type=click.Path(path_type=Path, dir_okay=False),
    help="CSV, JSON, JSON lines, Parquet or Arrow file with the observations; by default the "
    "states of the report.",
)
@click.option(
    "--quantile",
    "quantiles",
    type=SHARE,
    multiple=True,
    default=(0.05, 0.5, 0.95),
    show_default=True,
)
@level_option("Of CVaR; the run's by default.")
@threshold_option
@click.option(
    "--confidence",
    type=SHARE,
    help="Of the intervals beside each figure (mean_low, mean_high, ...); by default 0.95 for up "
    "to 1,000 states of a run that has intervals.",
)
@click.option("--masses", is_flag=True, help="Also the probability of each atom of the grid.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    help="Of what is written; by default after the ending of --out, or csv.",
)
@file_options("File to write; standard output by default.")
@click.option(
    "--trust-code",
    is_flag=True,
    help="Allow features of the form module:name, which are imported and run code.",
)
def predict(
    run: Path,
    states: Path | None,
    quantiles: tuple[float, ...],
    level: float | None,
    threshold: float | None,
    confidence: float | None,
    masses: bool,
    form: str | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    trust_code: bool,
) -> None:
    """Say what RUN, the folder of lincat evaluate, has learned of some states.

    The columns of --states are named as in the logs that were learned from. Where a distribution is
    signed, everything but the mean is of the nearest proper distribution. Intervals are for
    sampling error: they hold what ever more such data would lead to.

    \b
    Examples:
      lincat predict runs/cartpole-v1
      lincat predict runs/log --states today.csv --below 0 --out risk.parquet
    """
    import msgspec
    import numpy as np

    from lincat._files import write_atomically
    from lincat.report.cautions import lost_mass
    from lincat.runs.run import read_run
    from lincat.tables.columns import Columns

    found = read_run(run, trust_code=trust_code)
    if trust_code:
        find_local_modules()
    config = found.config
    ending = "" if out is None else out.suffix.lower()
    form = "json" if as_json else form or _FORMATS.get(ending, "csv")
    if states is None:
        confidence = _chosen_confidence(confidence, found, len(found.names), quiet)
        shown = found.model.predict_shown(found.shown, confidence=confidence)
        parts: Iterable[ReturnDistribution] = [shown]
        rows: list[dict[str, Any]] = [{"state": name} for name in found.names]
    else:
        # As learned from: a file of whole numbers may hold points.
        like = found.shown.members[0]
        kind: Literal["points", "ids"] = "points" if like.ndim == 2 else "ids"
        named = msgspec.structs.replace(config.columns or Columns(), kind=kind)
        names = list(found.answer.observation_names)
        observations = _read(states, named, names, like)
        rows = _observation_rows(observations, names)
        # Each part has a grid of its own, where returns are learned about a potential; masses need
        # a common one.
        confidence = _chosen_confidence(confidence, found, len(rows), quiet)
        size = len(rows) if masses else _PART if confidence is None else _PART_WITH_ERRORS
        parts = (
            found.predict(observations[i : i + size], confidence=confidence)
            for i in range(0, max(len(rows), 1), size or 1)
        )
    level = config.level if level is None else level
    lost = lost_mass(found.answer)
    figures = [_columns(part, quantiles, level, threshold, masses, lost) for part in parts]
    columns = {name: np.concatenate([part[name] for part in figures]) for name in figures[0]}
    for i, row in enumerate(rows):
        for name in columns.keys() & row.keys():  # an observation may be called "mean"
            row[f"observed {name}"] = row.pop(name)
        for name, values in columns.items():
            row[name] = float(values[i]) if np.isfinite(values[i]) else None
        if confidence is not None:
            row["confidence"] = confidence
    content = _encode(rows, form)
    if out is None:
        click.echo(content, nl=False)
        return
    write_atomically(check_place(out), content)
    if not quiet:
        click.echo(f"Written: {out}, {len(rows)} states", err=True)


def _chosen_confidence(given: float | None, run: Run, states: int, quiet: bool) -> float | None:
    """The confidence that was given, or 0.95 where that costs little; why there is none."""
    if given is not None:
        return given
    reason = run.answer.no_intervals
    if not reason and states <= _MOST_ASKED:
        return _CONFIDENCE
    if not quiet:
        many = f"No intervals of {states:,} states, as they take a while: --confidence gives them."
        click.echo(reason or many, err=True)
    return None


def _read(states: Path, columns: Columns, names: list[str], like: Any) -> Any:
    """Read observations by the names that a run gives them, or else as its logs were read."""
    import msgspec

    from lincat import InvalidInputError
    from lincat.data.mixed import is_mixed, is_text
    from lincat.tables.read_observations import read_observations

    by_name = msgspec.structs.replace(columns, observation=tuple(names))
    if is_mixed(like):
        texts = frozenset(name for name in names if is_text(like, name))
        return read_observations(states, columns=by_name, texts=texts)
    try:
        return read_observations(states, columns=by_name)
    except InvalidInputError:
        return read_observations(states, columns=columns)


def _columns(
    distribution: ReturnDistribution,
    quantiles: tuple[float, ...],
    level: float,
    threshold: float | None,
    masses: bool,
    lost: bool,
) -> dict[str, FloatArray]:
    import numpy as np

    from lincat.inference.intervals import shown_interval
    from lincat.report.tables import HIGH, LOW

    proper = distribution.proper()
    figures: list[tuple[str, FloatArray, str, float | None]] = [
        ("mean", distribution.mean(), "mean", None),
        ("std", proper.std(), "std", None),
        *((f"q{q:g}", proper.quantile(q), "quantile", q) for q in quantiles),
        (f"cvar{level:g}", proper.cvar(level), "cvar", level),
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
    if threshold is not None and lost and not grid.low < threshold <= grid.high:
        for name in columns:  # what left the grid was moved to its ends: nothing is known outside
            if name.startswith(f"below{threshold:g}"):
                columns[name] = np.full(len(columns[name]), np.nan)
    columns["negative_mass"] = distribution.negative_mass
    if masses:
        pmf = proper.pmf
        columns |= {f"p({x:.12g})": pmf[:, k] for k, x in enumerate(distribution.grid.atoms)}
    return columns


def _observation_rows(observations: Any, names: list[str]) -> list[dict[str, Any]]:
    """Say of which state each row is, in the words of the file."""
    from lincat.data.mixed import is_mixed, rows_of

    if is_mixed(observations):
        return [dict(zip(names, row, strict=True)) for row in rows_of(observations)]
    if observations.ndim == 1:
        return [
            {"state": one if isinstance(one, int | str) else str(one)}
            for one in observations.tolist()
        ]
    if len(names) != observations.shape[1]:
        names = [f"x{j}" for j in range(observations.shape[1])]
    return [dict(zip(names, one, strict=True)) for one in observations.tolist()]


def _encode(rows: list[dict[str, Any]], form: str) -> bytes:
    from lincat.report.tables import as_csv

    if form == "csv":
        return as_csv(rows).encode()
    if form == "json":
        return (json.dumps(rows, indent=1) + "\n").encode()
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()
