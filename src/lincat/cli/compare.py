"""``lincat compare``: several runs on the same states."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lincat.cli.options import (
    below_option,
    check_place,
    file_options,
    find_local_modules,
    level_option,
    terminal,
)

if TYPE_CHECKING:
    from lincat import ReturnDistribution
    from lincat.runs.run import Run
    from lincat.runs.shown import ShownStates

__all__ = ["compare"]


@click.command(short_help="Several runs on the same states, side by side.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False))
@level_option("Of quantiles and CVaR.", default=0.05)
@below_option
@file_options("Also write a page, as HTML, to this file.")
@click.option("--trust-code", is_flag=True, help="Allow features that are imported (module:name).")
def compare(
    runs: tuple[Path, ...],
    level: float,
    below: float | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    trust_code: bool,
) -> None:
    """Lay what RUNS learned beside each other, on the states that the report of the first shows.

    Two policies in the same environment, say, or two learners on the same log.

    \b
    Examples:
      lincat compare runs/cartpole-v1 runs/cartpole-v1-2
      lincat compare runs/careful runs/bold --below 0 --out comparison.html
    """
    from lincat._files import write_atomically
    from lincat.cli.run_page import curve_rows, short_scores, validation_of
    from lincat.report.comparison import ComparedRun, comparison_page
    from lincat.report.tables import rich_table, summary_rows
    from lincat.runs.folder import RunFolder
    from lincat.runs.run import Run
    from lincat.runs.shown import ShownStates

    folders = [RunFolder.open(run) for run in runs]
    if trust_code:
        find_local_modules()
    learned = [Run(folder, trust_code=trust_code) for folder in folders]
    shown = ShownStates.from_dict(folders[0].read_states())
    distributions = [_distribution(one, shown) for one in learned]
    names = _names(runs)
    tables = [
        summary_rows(distribution, shown.names, level=level, threshold=below)
        for distribution in distributions
    ]
    columns = max(
        (table[0] for table in tables), key=len
    )  # only signed distributions have the last one
    rows = [
        {"state": state, "run": name, **{k: table[i].get(k, 0.0) for k in columns if k != "state"}}
        for i, state in enumerate(shown.names)
        for name, table in zip(names, tables, strict=True)
    ]
    checks = [validation_of(one) for one in learned]
    if out is not None:
        compared = [
            ComparedRun(
                name=name,
                dist=distribution,
                description=f"{one.result['source']}, {one.result['learner']}",
                curves=list(curve_rows(one)),
                validation=check,
                warnings=one.warnings,
            )
            for name, distribution, one, check in zip(
                names, distributions, learned, checks, strict=True
            )
        ]
        command = shlex.join(["lincat", "compare", *map(str, runs), "--out", str(out)])
        page = comparison_page(
            compared,
            shown.names,
            level=level,
            threshold=below,
            command=command,
            versions=folders[0].versions,
        )
        write_atomically(check_place(out), page)
    scores = [
        {"run": name, **short_scores(check["rows"])}
        for name, check in zip(names, checks, strict=True)
        if check is not None
    ]
    if as_json:
        answer: dict[str, Any] = {"states": rows, "validation": scores}
        click.echo(json.dumps({**answer, "report": None if out is None else str(out)}))
        return
    console = terminal()
    console.print(rich_table(rows))
    if scores:
        console.print(rich_table(scores))
    if out is not None and not quiet:
        console.print(f"Report: {out}")


def _distribution(run: Run, shown: ShownStates) -> ReturnDistribution:
    import lincat

    try:
        return run.model.predict_shown(shown)
    except lincat.InvalidInputError as error:
        raise lincat.InvalidInputError(
            f"{run.path}, on the states of the first run: {error}"
        ) from None


def _names(runs: tuple[Path, ...]) -> list[str]:
    """The names of the folders, or their paths where these are the same."""
    names = [run.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]
