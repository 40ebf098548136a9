"""``lincat export``: a small copy of a run that answers, and does nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from lincat.cli.options import run_argument, say, trust_option


@click.command(short_help="A small copy of a run, to answer with.")
@run_argument
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write; must be new or empty.",
)
@click.option("--force", is_flag=True, help="Write into --out even if it holds files.")
@trust_option()
@click.option("--quiet", is_flag=True, help="Say nothing.")
def export(run: Path, out: Path, force: bool, trust_code: bool, quiet: bool) -> None:
    """Copy what RUN needs to answer: averages in single precision, of features that were touched.

    lincat predict and lincat report take the copy for a run. It has no intervals, and cannot be
    resumed. Of a run that is learning, it is what the newest checkpoint knows.

    \b
    Examples:
      lincat export runs/log --out small
      lincat predict small --states today.csv
    """
    from lincat.runs.run import read_run

    made = read_run(run, trust_code=trust_code).export(out, force=force)
    if not quiet:
        size = sum(file.lstat().st_size for file in made.path.iterdir())
        say(f"Written: {out}, {size / 1e6:.3g} MB", err=True)
