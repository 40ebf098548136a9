"""How far a run is, on a terminal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import click

from lincat.cli.leaving import INTERRUPTED

if TYPE_CHECKING:
    from lincat.runs.loop import Progress


class Running(Protocol):
    """What goes on for a while, tells how far it is, and can be stopped."""

    def run(self) -> Iterator[Progress]:
        """Yield now and then."""

    def stop(self) -> None:
        """Finish what is under way."""


def run_to_the_end(run: Running, *, quiet: bool) -> None:
    """Run it, with a bar, throughput and the time left; Ctrl-C finishes what is under way."""
    from lincat.cli.compiling import announced

    def say() -> None:
        if not quiet:
            click.echo("Compiling, which takes some seconds on a first run.", err=True)

    with _finish_on_interrupt(run, quiet=quiet), announced(say):
        if quiet or not sys.stderr.isatty():
            for _ in run.run():
                pass
            return
        from rich.progress import MofNCompleteColumn

        with progress_bar(MofNCompleteColumn(), "{task.fields[pace]}") as progress:
            task = progress.add_task("reading", total=None, pace="")
            for state in run.run():
                seconds = progress.tasks[0].elapsed or 0.0
                pace = state.transitions / seconds if seconds > 0.5 else 0.0
                progress.update(
                    task,
                    total=state.total,
                    completed=state.transitions,
                    description=state.doing,
                    pace=f"{_short(pace)}/s" if pace else "",
                )


def progress_bar(*middle: Any) -> Any:
    """Return a bar on standard error, with columns of its own in the middle."""
    from rich import progress
    from rich.console import Console

    begin = (progress.SpinnerColumn(), "{task.description}", progress.BarColumn(bar_width=30))
    end = (progress.TimeElapsedColumn(), "left", progress.TimeRemainingColumn())
    return progress.Progress(*begin, *middle, *end, console=Console(stderr=True), transient=True)


@contextmanager
def _finish_on_interrupt(run: Running, *, quiet: bool) -> Iterator[None]:
    """Let the first Ctrl-C, or SIGTERM, end the stream, and the second one end the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave_now(number: int, _: Any) -> None:
        os._exit(INTERRUPTED)

    def finish(number: int, _: Any) -> None:
        for each in before:
            signal.signal(each, leave_now)
        run.stop()
        if not quiet:
            click.echo("Finishing; once more to leave at once.", err=True)

    before = {each: signal.signal(each, finish) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _short(pace: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if pace >= size:
            return f"{pace / size:.3g}{letter}"
    return f"{pace:.0f}"
