"""``lincat resume``: continuing a run that was interrupted, or making it longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from lincat.cli.evaluate import finish
from lincat.cli.options import (
    WHOLE,
    connect_option,
    machine_options,
    require_option,
    run_argument,
    storage_option,
    trust_option,
    workers_options,
)


@click.command(short_help="Continue a run after an interruption.")
@run_argument
@click.argument("more", nargs=-1, metavar="[MORE]...")
@click.option("--steps", type=WHOLE, help="Learn from so many transitions in all.")
@click.option(
    "--append",
    is_flag=True,
    help="Learn from rows that are new: added to the files of the run, in new files of its "
    "folders, in MORE, or on standard input.",
)
@click.option(
    "--on-bad-rows", type=click.Choice(["stop", "skip"]), help="Instead of what the run was told."
)
@storage_option
@workers_options
@trust_option()
@connect_option()
@require_option
@machine_options
def resume(
    run: Path,
    more: tuple[str, ...],
    steps: int | None,
    append: bool,
    on_bad_rows: Literal["stop", "skip"] | None,
    storage_options: dict[str, Any],
    workers: int | None,
    scheduler: str | None,
    trust_code: bool,
    connect: bool,
    require: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Continue RUN, the folder of lincat evaluate, from its last checkpoint.

    Logs and finite processes continue where they were, and the result is that of an uninterrupted
    run. An environment begins a new episode. A finished run is made longer by --steps, or by
    --append with rows that have come since; these need not be read again from the start, but its
    files must be there as they were. Settings and source have to be those that the run began with.
    What config.toml names is not imported, unpickled or connected to unless it is allowed anew: by
    --trust-code (module:name, pickles, texts for an environment), --connect (s3://...), and
    --scheduler with its address.

    \b
    Examples:
      lincat resume runs/cartpole-v1
      lincat resume runs/cartpole-v1 --steps 1000000
      lincat resume runs/log --append march.csv
    """
    from lincat._reach import Allowed
    from lincat.runs.folder import RunFolder
    from lincat.runs.given import Given
    from lincat.runs.resuming import continued

    folder = RunFolder.open(run)
    run_on = continued(
        folder,
        Given(storage_options=storage_options),
        steps=steps,
        append=append,
        more=more,
        on_bad_rows=on_bad_rows,
        workers=workers,
        scheduler=scheduler,
        allowed=Allowed(code=trust_code, connect=connect),
    )
    finish(folder, run_on, require=require, as_json=as_json, quiet=quiet)
