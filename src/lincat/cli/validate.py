"""``lincat validate``: a run held against returns that it did not learn from, after the fact."""

from __future__ import annotations

from pathlib import Path

import click

from lincat.cli.options import (
    WHOLE,
    connect_option,
    machine_options,
    require_option,
    run_argument,
    say,
    trust_option,
)


@click.command(short_help="Check a run against other returns, after the fact.")
@run_argument
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("--returns", type=WHOLE, help="Check against so many; by default all that fit.")
@trust_option()
@connect_option()
@require_option
@machine_options
def validate(
    run: Path,
    logs: tuple[str, ...],
    returns: int | None,
    trust_code: bool,
    connect: bool,
    require: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check RUN against LOG, which it did not learn from; an environment is rolled out again.

    The verdict and the page of RUN are those of this check from then on.

    \b
    Examples:
      lincat validate runs/log later.csv --require
      lincat validate runs/cartpole-v1 --returns 5000
    """
    import msgspec

    from lincat._reach import Allowed
    from lincat.cli.leaving import NOT_TRUSTED, leave
    from lincat.cli.options import terminal
    from lincat.cli.run_page import short_scores, summary_of
    from lincat.report.tables import rich_table
    from lincat.runs.folder import RunFolder
    from lincat.runs.run import Run
    from lincat.runs.validating import validated

    folder = RunFolder.open(run)
    allowed = Allowed(code=trust_code, connect=connect)
    folder.claim()
    try:
        _ = folder.answer  # of a run that is at its end
        folder.answer = validated(Run(folder, allowed=allowed), logs, returns)
    finally:
        folder.release()
    done = Run(folder)
    summary = summary_of(done, done.report())
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        if done.validation is not None and not quiet:
            terminal().print(rich_table([short_scores(done.validation)]))
        say(summary.verdict)
        say(f"Report: {summary.report}")
    if require and done.trusted is False:
        leave(NOT_TRUSTED)
