"""The ``lincat`` command group and what all commands share: errors, exit codes, warnings."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

import lincat
from lincat.cli.bench import bench
from lincat.cli.compare import compare
from lincat.cli.evaluate import evaluate
from lincat.cli.export import export
from lincat.cli.leaving import INTERRUPTED, leave
from lincat.cli.options import say
from lincat.cli.plan import plan
from lincat.cli.predict import predict
from lincat.cli.report import report
from lincat.cli.reproduce import reproduce
from lincat.cli.resume import resume
from lincat.cli.solve import solve
from lincat.cli.stats import merge, stats
from lincat.cli.streams import usable_streams
from lincat.cli.validate import validate


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(lincat.__version__, prog_name="lincat")
@click.option(
    "--clear-cache",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, asked: _clear_cache(context) if asked else None,
    help="Remove compiled code; the next run compiles again.",
)
def cli() -> None:
    """Learn the whole distribution of the discounted return, not just its mean.

    \b
    Start with:
      lincat evaluate
      lincat solve paper
    """


for command in (
    bench,
    compare,
    evaluate,
    export,
    merge,
    plan,
    predict,
    report,
    reproduce,
    resume,
    solve,
    stats,
    validate,
):
    cli.add_command(command)


def main() -> None:
    """Run the command line; bad input ends with one line and exit code 2, divergence with 3."""
    usable_streams()
    warnings.showwarning = _show_warning
    _log_to_stderr(os.environ.get("LINCAT_LOG", ""))
    try:
        leave(cli(prog_name="lincat", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:  # click itself would take four lines
        say(f"Error: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        leave(INTERRUPTED)
    # Not SystemExit, with which --help ends: naming our errors here imports half of SciPy.
    except Exception as error:
        text = str(error)
        if isinstance(error, lincat.InvalidInputError):
            code = 2
            text += _allowing(error)
        elif isinstance(error, lincat.ConvergenceError | lincat.DivergenceError):
            code = 3
        elif isinstance(error, MemoryError):
            code = 2
            text = f"not enough memory: {text or 'for these sizes'}"
        elif isinstance(error, OSError) and error.strerror:
            code = 2
            text = f"{error.filename or 'a file'}: {error.strerror}"
        else:
            raise
        say(f"Error: {text}", err=True)
        leave(code)


def _allowing(error: Exception) -> str:
    """The command to paste, where a file has something done that was not allowed."""
    from lincat._reach import NotAllowedError

    if not isinstance(error, NotAllowedError):
        return ""
    command, *rest = sys.argv[1:]
    return f": {shlex.join(['lincat', command, *error.options, *_without_secrets(rest)])}"


def _without_secrets(words: Sequence[str]) -> Iterator[str]:
    """The words of a command line, but what --storage-option says: errors are kept in files."""
    flag, before = "--storage-option", ""
    for word in words:
        key = word.removeprefix(f"{flag}=")
        secret = before == flag or key != word
        yield f"{word.removesuffix(key)}{key.partition('=')[0]}=..." if secret else word
        before = word


def _clear_cache(context: click.Context) -> None:
    from lincat.kernels import compiled

    try:
        say(f"Removed the compiled code in {compiled.clear()}")
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    context.exit()


def _log_to_stderr(level: str) -> None:
    """Write log records to standard error, if LINCAT_LOG names a level."""
    if level:
        form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        known = logging.getLevelNamesMapping()
        logging.basicConfig(level=known.get(level.upper(), logging.INFO), format=form)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"Warning: {click.unstyle(str(message))}", err=True)
