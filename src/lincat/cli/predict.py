"""``lincat predict``: distributions and risk for given states."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lincat.cli.options import (
    SHARE,
    check_place,
    file_options,
    level_option,
    pairs,
    require_option,
    run_argument,
    say,
    threshold_option,
    trust_option,
)

if TYPE_CHECKING:
    from lincat.runs.run import Run
    from lincat.tables.asked import Asked


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
    "--follow",
    "following",
    is_flag=True,
    help="Answer JSON lines on standard input, each with a line, until it ends: an object with the "
    "columns of an observation, or a bare observation.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=pairs,
    metavar="observation=NAMES",
    help="Columns of --states that hold the observations, in the order of the run's, where they "
    "have other names.",
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
@trust_option()
@require_option
def predict(
    run: Path,
    states: Path | None,
    following: bool,
    columns: dict[str, str],
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
    require: bool,
) -> None:
    """Say what RUN, the folder of lincat evaluate, has learned of some states.

    The columns of --states are found by the names that the run knows, wherever they stand; all
    others are passed on. A row that cannot be answered has no figures but a reason. Where a
    distribution is signed, everything but the mean is of the nearest proper distribution. Intervals
    are for sampling error: they hold what ever more such data would lead to. It says so of a run
    that is not to be trusted, and why; with --require it answers nothing then.

    \b
    Examples:
      lincat predict runs/cartpole-v1
      lincat predict runs/log --states today.csv --below 0 --out risk.parquet
      tail -f states.jsonl | lincat predict runs/log --follow
    """
    import numpy as np

    from lincat._files import write_atomically
    from lincat.cli.following import follow
    from lincat.cli.leaving import NOT_TRUSTED, leave, leave_reading
    from lincat.report.cautions import lost_mass
    from lincat.runs.asking import Figures, answered, wanted_by
    from lincat.runs.run import read_run
    from lincat.tables.asked import read_asked

    found = read_run(run, trust_code=trust_code)
    doubt = f"{run}: {found.answer.verdict.sentence}" if found.trusted is False else ""
    if doubt and (require or following) and not quiet:
        say(doubt, err=True)
    if doubt and require:
        leave(NOT_TRUSTED)
    ending = "" if out is None else out.suffix.lower()
    form = "json" if as_json else form or _FORMATS.get(ending, "csv")
    level = found.config.level if level is None else level
    many = len(found.names)
    if following:
        many = _MOST_ASKED + 1  # intervals only where they are asked for
        quiet = True
    elif states is not None:
        asked = read_asked(states, wanted_by(found), given=_observed(columns))
        many = len(asked)
    confidence = _chosen_confidence(confidence, found, many, quiet)
    figures = Figures(
        quantiles, level, threshold, confidence, masses=masses, lost=lost_mass(found.answer)
    )
    if following:
        follow(found, figures, _observed(columns))
        leave_reading(0)
        return
    reasons = None
    if states is None:
        values = figures.of(found.model.predict_shown(found.shown, confidence=confidence))
        given: dict[str, list[Any]] = {"state": found.names}
    else:
        values, reasons = answered(found, asked, figures)
        given = _passed_through(asked, form)
    taken = {*values, "reason", "confidence"}
    names = [f"observed {name}" if name in taken else name for name in given]  # a column "mean"
    rows: list[dict[str, Any]] = [
        dict(zip(names, cells, strict=True)) for cells in zip(*given.values(), strict=True)
    ]
    for i, row in enumerate(rows):
        for name, column in values.items():
            row[name] = float(column[i]) if np.isfinite(column[i]) else None
        if confidence is not None:
            row["confidence"] = confidence
        if reasons is not None:
            row["reason"] = reasons[i]
    content = _encode(rows, form)
    if out is None:
        click.echo(content, nl=False)
    else:
        write_atomically(check_place(out), content)
        if not quiet:
            say(f"Written: {out}, {len(rows)} states", err=True)
    if doubt and not quiet:
        say(doubt, err=True)


def _chosen_confidence(given: float | None, run: Run, states: int, quiet: bool) -> float | None:
    """The confidence that was given, or 0.95 where that costs little; why there is none."""
    if given is not None:
        return given
    reason = run.answer.no_intervals
    if not reason and states <= _MOST_ASKED:
        return _CONFIDENCE
    if not quiet:
        many = f"No intervals of {states:,} states, as they take a while: --confidence gives them."
        say(reason or many, err=True)
    return None


def _observed(roles: dict[str, str]) -> tuple[str, ...] | None:
    """The columns that --column names; no other role is asked for here."""
    from lincat._arguments import fail

    for role in roles:
        if role != "observation":
            raise fail("--column", "observation=NAMES", f"{role}={roles[role]}")
    names = roles.get("observation")
    return None if names is None else tuple(names.split(","))


def _passed_through(asked: Asked, form: str) -> dict[str, list[Any]]:
    """The columns of the file; of CSV, for other formats, numbers where all of them are."""
    if asked.typed or form == "csv":
        return asked.columns
    return {name: _numbers(values) for name, values in asked.columns.items()}


def _numbers(values: list[Any]) -> list[Any]:
    for form, pattern in ((int, r"[+-]?(0|[1-9]\d{0,17})"), (float, r"[-+\d.eE]+")):
        if all(x == "" or re.fullmatch(pattern, x) for x in values):
            try:
                return [None if x == "" else form(x) for x in values]
            except ValueError:
                continue
    return values


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
