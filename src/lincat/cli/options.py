"""Options that mean the same in every command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "find_local_modules",
    "output_options",
    "resumable_output_options",
    "spinner",
    "terminal",
]


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, ``--out``, ``--force``, ``--seed`` and ``--quiet`` to a command."""
    return _with_options(
        command,
        out="Folder for the results and figures; must be new or empty.",
        force="Write into --out even if it holds files.",
    )


def resumable_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the same options to a command that goes on in a folder which it began."""
    return _with_options(
        command,
        out="Folder for the results; new, empty, or one to go on in.",
        force="Begin anew in --out, whatever was begun there.",
    )


def _with_options(command: Callable[..., Any], *, out: str, force: str) -> Callable[..., Any]:
    options = (
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON object, for machines."
        ),
        click.option("--out", type=click.Path(path_type=Path, file_okay=False), help=out),
        click.option("--force", is_flag=True, help=force),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        click.option("--quiet", is_flag=True, help="No progress and no notes, only the result."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def spinner(text: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that work is going on; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def find_local_modules() -> None:
    """Let module:name find modules in the current folder, as python -m does; last of all."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def terminal() -> Console:
    """Return standard output for tables; into a pipe or a file they are never cut off."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)
