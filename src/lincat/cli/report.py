"""``lincat report``: the page of a run, drawn again."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lincat.cli.options import (
    below_option,
    check_place,
    file_options,
    level_option,
    run_argument,
)

__all__ = ["report"]


@click.command(short_help="The HTML page of a run.")
@run_argument
@level_option("Of quantiles and CVaR, instead of the run's.")
@below_option
@file_options("Where to write the page; report.html in the run by default.")
def report(
    run: Path,
    level: float | None,
    below: float | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Draw the page of RUN from what is kept in its folder; nothing is learned again.

    \b
    Examples:
      lincat report runs/cartpole-v1
      lincat report runs/cartpole-v1 --level 0.01 --below 5 --out careful.html
    """
    from dataclasses import replace

    from lincat._files import write_atomically
    from lincat.cli.run_page import evaluation_of, summary_of
    from lincat.report.evaluation import evaluation_page, summary_text
    from lincat.runs.folder import RunFolder

    folder = RunFolder.open(run)
    evaluation = evaluation_of(folder)
    evaluation = replace(
        evaluation,
        level=evaluation.level if level is None else level,
        threshold=evaluation.threshold if below is None else below,
    )
    page = folder.report_file if out is None else check_place(out)
    write_atomically(page, evaluation_page(evaluation))
    if as_json:
        click.echo(json.dumps({**summary_of(folder, evaluation), "report": str(page)}))
        return
    if not quiet:
        click.echo(summary_text(evaluation))
    click.echo(f"Report: {page}")
