"""``lincat report``: the page of a run, drawn again."""

from __future__ import annotations

from pathlib import Path

import click

from lincat.cli.options import (
    check_place,
    file_options,
    level_option,
    run_argument,
    say,
    threshold_option,
)


@click.command(short_help="The HTML page of a run.")
@run_argument
@level_option("Of quantiles and CVaR, instead of the run's.")
@threshold_option
@file_options("Where to write the page; report.html in the run by default.")
def report(
    run: Path,
    level: float | None,
    threshold: float | None,
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
    import msgspec

    from lincat.cli.run_page import summary_of
    from lincat.runs.run import read_run

    found = read_run(run)
    page = found.report(None if out is None else check_place(out), level=level, threshold=threshold)
    summary = summary_of(found, page, level=level, threshold=threshold)
    if as_json:
        click.echo(msgspec.json.encode(summary))
        return
    if not quiet:
        say("\n".join(summary.summary))
    say(f"Report: {page}")
