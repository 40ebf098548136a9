"""Options that mean the same in every command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lincat
from lincat._text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
_QUIET = click.option("--quiet", is_flag=True, help="No progress and no notes, only the result.")


class _Whole(click.ParamType[int]):
    """A whole number, which may be written 1e6 or 1_000_000."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            number = float(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a number", param, ctx)
        if not number.is_integer():
            self.fail(f"{value!r} is not a whole number", param, ctx)
        return int(value) if isinstance(value, int) or str(value).isdigit() else int(number)


WHOLE = _Whole()


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, ``--out``, ``--force``, ``--seed`` and ``--quiet`` to a command."""
    return _with_options(
        command,
        out="Folder for the results and figures; must be new or empty.",
        force="Write into --out even if it holds files.",
    )


def resumable_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the same options to a command that continues in a folder which it began."""
    return _with_options(
        command,
        out="Folder for the results; new, empty, or one to continue in.",
        force="Begin again in --out, whatever was begun there.",
    )


def level_option(text: str, default: float | None = None) -> Callable[..., Any]:
    """Return ``--level``, the share of the worst runs to look at."""
    return click.option(
        "--level", type=SHARE, default=default, show_default=default is not None, help=text
    )


def threshold_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--below``, a threshold of returns."""
    text = "Also give the chance of a return below this threshold."
    return click.option("--below", "threshold", type=float, metavar="C", help=text)(command)


def require_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--require``, which makes a verdict that failed an exit code."""
    text = "Exit with code 4 if the figures are not to be trusted."
    return click.option("--require", is_flag=True, help=text)(command)


def workers_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--workers`` and ``--scheduler``: who sums a log."""
    address = "Have the workers of a Dask scheduler sum Parquet files: tcp://HOST:8786."
    number = "Sum Parquet files by so many processes; the figures are the same for any number."
    command = click.option("--scheduler", metavar="ADDRESS", help=address)(command)
    return click.option("--workers", type=click.IntRange(min=1), metavar="N", help=number)(command)


def storage_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--storage-option``, for addresses such as s3://."""

    def values(context: click.Context, option: click.Option, given: tuple[str, ...]) -> Any:
        return {key: plain_value(text) for key, text in pairs(context, option, given).items()}

    return click.option(
        "--storage-option",
        "storage_options",
        multiple=True,
        callback=values,
        metavar="KEY=VALUE",
        help="Of the file system of an address (s3://...), as Dask takes them: anon=true. Not "
        "written to the run folder.",
    )(command)


def plain_value(text: str) -> Any:
    """Return a number, true, false or null where a text is one; else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def trust_option(file: str = "the run") -> Callable[..., Any]:
    """Return ``--trust-code``, without which nothing that is read from a folder runs code."""
    text = f"Allow what {file} names as module:name, or as a pickle: both run code."
    return click.option("--trust-code", is_flag=True, help=text)


def connect_option(file: str = "the run") -> Callable[..., Any]:
    """Return ``--connect``, without which no address that is read from a folder is opened."""
    text = (
        f"Allow addresses of other machines that {file} names (s3://...), which are connected to."
    )
    return click.option("--connect", is_flag=True, help=text)


def run_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument RUN, the folder of ``lincat evaluate``."""
    return click.argument("run", type=click.Path(path_type=Path, file_okay=False))(command)


def file_options(text: str) -> Callable[..., Any]:
    """Return ``--out`` for one file, ``--json`` and ``--quiet``."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        path = click.Path(path_type=Path, dir_okay=False)
        for option in (_QUIET, _JSON, click.option("--out", type=path, help=text)):
            command = option(command)
        return command

    return add


def machine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json`` and ``--quiet``."""
    return _JSON(_QUIET(command))


def check_place(out: Path) -> Path:
    """Return the file to write, if its folder exists."""
    if not out.absolute().parent.is_dir():
        raise click.BadParameter(f"{out.parent} is not a folder", param_hint="--out")
    return out


def _with_options(command: Callable[..., Any], *, out: str, force: str) -> Callable[..., Any]:
    options = (
        _JSON,
        click.option("--out", type=click.Path(path_type=Path, file_okay=False), help=out),
        click.option("--force", is_flag=True, help=force),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        _QUIET,
    )
    for option in reversed(options):
        command = option(command)
    return command


def pairs(_: click.Context, parameter: click.Option, values: tuple[str, ...]) -> dict[str, str]:
    """Return KEY=VALUE options as a dictionary."""
    pairs = {}
    for text in values:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise lincat.InvalidInputError(
                f"{parameter.opts[0]}: expected {parameter.metavar}, got {text!r}"
            )
        pairs[key] = value
    return pairs


def environment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--policy, --n-envs, --env-option and --trust-pickle, for commands that step environments."""
    for option in (
        click.option(
            "--trust-pickle", is_flag=True, default=None, help="Allow SB3 files: they run code."
        ),
        click.option(
            "--env-option",
            "env_options",
            multiple=True,
            callback=pairs,
            metavar="KEY=VALUE",
            help="Keyword argument of the environment.",
        ),
        click.option(
            "--n-envs", type=int, help="Copies of the environment side by side.  [default: 1]"
        ),
        click.option("--policy", help="random, balance, module:function, a table, or an SB3 file."),
    ):  # the last one is the first of the list that --help shows
        command = option(command)
    return command


@contextmanager
def spinner(text: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that work is being done; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def terminal() -> Console:
    """Return standard output for tables; into a pipe or a file they are never cut off.

    Texts come from logs and run folders: they are shown as they are, brackets and all.
    """
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    width = None if sys.stdout.isatty() else 200
    return Plain(highlight=False, markup=False, emoji=False, width=width)


def say(text: str, *, err: bool = False) -> None:
    """Print a line or some, whatever they hold."""
    click.echo(printable(text), err=err)
