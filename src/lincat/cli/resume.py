"""``lincat resume``: continuing a run that was interrupted, or making it longer."""

from __future__ import annotations

from pathlib import Path

import click

from lincat.cli.evaluate import finish
from lincat.cli.options import find_local_modules, machine_options, require_option, run_argument


@click.command(short_help="Continue a run after an interruption.")
@run_argument
@click.option("--steps", type=click.IntRange(min=1), help="Learn from so many transitions in all.")
@require_option
@machine_options
def resume(run: Path, steps: int | None, require: bool, as_json: bool, quiet: bool) -> None:
    """Continue RUN, the folder of lincat evaluate, from its last checkpoint.

    Logs and finite processes continue where they were, and the result is that of an uninterrupted
    run. An environment begins a new episode. A finished run is made longer by --steps. Policies and
    features that config.toml names as module:name are imported, which runs their code.

    \b
    Examples:
      lincat resume runs/cartpole-v1
      lincat resume runs/cartpole-v1 --steps 1000000
    """
    from lincat.runs.folder import RunFolder
    from lincat.runs.resuming import continued

    folder = RunFolder.open(run)
    find_local_modules()
    finish(folder, continued(folder, steps=steps), require=require, as_json=as_json, quiet=quiet)
