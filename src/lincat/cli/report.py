"""``lincat report``: the page of a run, drawn again."""

from __future__ import annotations

import json
from pathlib import Path

import click

__all__ = ["report"]


@click.command(short_help="The HTML page of a run.")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Of quantiles and CVaR, instead of the run's.",
)
@click.option("--below", type=float, metavar="C", help="Show the chance of a return below C.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the page; report.html in the run by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def report(
    run: Path, level: float | None, below: float | None, out: Path | None, as_json: bool
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
    page = folder.report_file if out is None else out
    if not page.absolute().parent.is_dir():
        raise click.BadParameter(f"{page.parent} is not a folder", param_hint="--out")
    write_atomically(page, evaluation_page(evaluation))
    if as_json:
        click.echo(json.dumps({**summary_of(folder, evaluation), "report": str(page)}))
        return
    click.echo(summary_text(evaluation))
    click.echo(f"Report: {page}")
