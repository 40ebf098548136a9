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
    from lincat.tables.columns import Columns

__all__ = ["predict"]

_PART = 2000  # states that are predicted at once
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
    masses: bool,
    form: str | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    trust_code: bool,
) -> None:
    """Say what RUN, the folder of lincat evaluate, has learned of some states.

    The columns of --states are named as in the logs that were learned from. Where a distribution is
    signed, everything but the mean is of the nearest proper distribution.

    \b
    Examples:
      lincat predict runs/cartpole-v1
      lincat predict runs/log --states today.csv --below 0 --out risk.parquet
    """
    import msgspec
    import numpy as np

    from lincat._files import write_atomically
    from lincat.runs.run import read_run
    from lincat.tables.columns import Columns

    found = read_run(run, trust_code=trust_code)
    if trust_code:
        find_local_modules()
    config = found.config
    ending = "" if out is None else out.suffix.lower()
    form = "json" if as_json else form or _FORMATS.get(ending, "csv")
    if states is None:
        parts: Iterable[ReturnDistribution] = [found.model.predict_shown(found.shown)]
        rows: list[dict[str, Any]] = [{"state": name} for name in found.names]
    else:
        # As learned from: a file of whole numbers may hold points.
        kind: Literal["points", "ids"] = "points" if found.shown.members[0].ndim == 2 else "ids"
        named = msgspec.structs.replace(config.columns or Columns(), kind=kind)
        names = list(found.answer.observation_names)
        observations = _read(states, named, names)
        rows = _observation_rows(observations, names)
        # Each part has a grid of its own, where returns are learned about a potential; masses need
        # a common one.
        size = len(rows) if masses else _PART
        parts = (
            found.predict(observations[i : i + size])
            for i in range(0, max(len(rows), 1), size or 1)
        )
    level = config.level if level is None else level
    figures = [_columns(part, quantiles, level, threshold, masses) for part in parts]
    columns = {name: np.concatenate([part[name] for part in figures]) for name in figures[0]}
    for i, row in enumerate(rows):
        for name in columns.keys() & row.keys():  # an observation may be called "mean"
            row[f"observed {name}"] = row.pop(name)
        row.update({name: float(values[i]) for name, values in columns.items()})
    content = _encode(rows, form)
    if out is None:
        click.echo(content, nl=False)
        return
    write_atomically(check_place(out), content)
    if not quiet:
        click.echo(f"Written: {out}, {len(rows)} states", err=True)


def _read(states: Path, columns: Columns, names: list[str]) -> Any:
    """Read observations by the names that a run gives them, or else as its logs were read."""
    import msgspec

    from lincat import InvalidInputError
    from lincat.tables.read_observations import read_observations

    try:
        by_name = msgspec.structs.replace(columns, observation=tuple(names))
        return read_observations(states, columns=by_name)
    except InvalidInputError:
        return read_observations(states, columns=columns)


def _columns(
    distribution: ReturnDistribution,
    quantiles: tuple[float, ...],
    level: float,
    threshold: float | None,
    masses: bool,
) -> dict[str, FloatArray]:
    proper = distribution.proper()
    columns = {"mean": distribution.mean(), "std": proper.std()}
    columns |= {f"q{q:g}": proper.quantile(q) for q in quantiles}
    columns[f"cvar{level:g}"] = proper.cvar(level)
    if threshold is not None:
        columns[f"below{threshold:g}"] = proper.probability_below(threshold)
    columns["negative_mass"] = distribution.negative_mass
    if masses:
        pmf = proper.pmf
        columns |= {f"p({x:.12g})": pmf[:, k] for k, x in enumerate(distribution.grid.atoms)}
    return columns


def _observation_rows(observations: Any, names: list[str]) -> list[dict[str, Any]]:
    """Say of which state each row is, in the words of the file."""
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
