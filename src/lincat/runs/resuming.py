"""Runs that continue: after an interruption, or because more is asked of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from lincat._arguments import fail
from lincat._reach import NOTHING_ALLOWED, Allowed, check_allowed
from lincat.runs.binding import given_here, resolved
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.given import Given
from lincat.runs.loop import EvaluationRun
from lincat.runs.pools import open_pool
from lincat.runs.so_far import SoFar
from lincat.runs.sources import Opened, StorageOptions, open_source
from lincat.tables.finding import find_files
from lincat.tables.readers import STDIN
from lincat.tables.stores import is_address


def continued(
    folder: RunFolder,
    given: Given | None = None,
    *,
    steps: int | None = None,
    append: bool = False,
    more: Sequence[str] = (),
    on_bad_rows: Literal["stop", "skip"] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    allowed: Allowed = NOTHING_ALLOWED,
) -> EvaluationRun:
    """Return a run that goes on where its last checkpoint is, if it is not at its end.

    Parameters
    ----------
    folder : RunFolder
    given : Given, optional
        Objects that its configuration only names.
    steps : int, optional
        Learn from so many transitions in all; a finished run is made longer.
    append : bool
        Learn from rows that were added to its logs, or from what standard input brings now.
    more : sequence of str
        Logs to add, with ``append``.
    on_bad_rows : "stop" or "skip", optional
        Instead of what the run was told.
    workers : int, optional
    scheduler : str, optional
        Who sums the parts of a log that are left, instead of who did.
    allowed : Allowed
        What the folder may have done: code run, other machines spoken to.
    """
    if more and not append:
        raise fail("MORE", "nothing, or --append with it", ", ".join(more))
    folder.claim()
    try:
        folder.sweep()
        words = (workers, scheduler)
        return _continued(folder, given, steps, append, more, on_bad_rows, words, allowed)
    except BaseException:
        folder.release()
        raise


def _continued(
    folder: RunFolder,
    given: Given | None,
    steps: int | None,
    append: bool,
    more: Sequence[str],
    on_bad_rows: Literal["stop", "skip"] | None,
    words: tuple[int | None, str | None],
    allowed: Allowed,
) -> EvaluationRun:
    done = folder.answer if folder.finished else None
    remedy = "lincat report draws it again"
    if done is not None and done.complete and steps is None and not append:
        expected = "a run that is not finished, or --steps or --append to make it longer"
        raise fail("RUN", expected, str(folder.path), remedy)
    if done is not None and steps is not None and steps <= done.transitions:
        raise fail("--steps", f"more than the {done.transitions} of the run", steps, remedy)
    config = folder.config
    checkpoint = folder.checkpoints.newest()
    by_pool = checkpoint is None or int(checkpoint.name) == 0  # else what is new is one stream
    said = _said(given) if by_pool else [*_said(given), "workers", "scheduler"]
    if on_bad_rows is not None:
        config = msgspec.structs.replace(config, on_bad_rows=on_bad_rows)
    workers, scheduler = words
    by_parts = config.workers is not None or config.scheduler is not None
    if workers is not None or scheduler is not None:
        if not by_parts:
            got = "one that is read as one stream"
            raise fail("RUN", "a run that was begun with --workers or --scheduler", got)
        config = msgspec.structs.replace(config, workers=workers, scheduler=scheduler)
        said.append("scheduler")
    check_allowed(config, str(folder.config_file), allowed, *said)
    if steps is not None or append:
        config = msgspec.structs.replace(config, steps=steps)
    if append and (given is None or given.source is None):
        options = None if given is None else given.storage_options
        config = _with_new_files(folder, config, list(more), options, allowed)
    opened = open_source(resolved(config), given)
    pool = None
    if by_pool:
        pool = open_pool(config, opened, None if given is None else given.client)
    if append:
        _check_new_rows(folder, opened)
    return EvaluationRun(folder, opened, config=config, append=append, allowed=allowed, pool=pool)


def _said(given: Given | None) -> list[str]:
    """The settings in whose place something was given."""
    given = Given() if given is None else given
    names = ("source", "policy", "features")
    return [name for name in names if getattr(given, name) is not None]


def _with_new_files(
    folder: RunFolder,
    config: EvaluationConfig,
    more: list[str],
    options: StorageOptions,
    allowed: Allowed,
) -> EvaluationConfig:
    """Put files that are new behind those that were read, whatever they are called."""
    checkpoint = folder.checkpoints.intact().place
    so_far = None if checkpoint is None else SoFar.read(checkpoint)
    if checkpoint is None or so_far is None or not so_far.places:
        got = f"a run of {', '.join(config.source)}"
        raise fail("--append", "a run of logs, or of standard input, that has a checkpoint", got)
    check_allowed(so_far, str(checkpoint / "progress.json"), allowed)
    if config.source == [STDIN]:
        if more:
            remedy = f"cat {more[0]} | lincat resume {folder.path} --append"
            raise fail("--append", "more of standard input", ", ".join(more), remedy)
        return config
    places, here = so_far.places, os.getcwd()
    if config.given_in not in (None, here):  # MORE is meant from here, all others from there
        places = [x if is_address(x) else os.path.join(config.given_in, x) for x in places]
    given = [*resolved(config).source, *more]
    files = find_files(given, config.format, options)
    # Folders and patterns stay, as more may come to them; a file that is named twice is read once.
    source = list(dict.fromkeys([*places, *files, *given]))
    return given_here(msgspec.structs.replace(config, source=source, given_in=here))


def _check_new_rows(folder: RunFolder, opened: Opened) -> None:
    checkpoint = folder.checkpoints.intact().place
    if checkpoint is None or opened.is_live:
        return
    seen, rows = SoFar.read(checkpoint).rows, opened.rows
    if seen is not None and rows is not None and rows <= seen:
        got = f"{rows:,} rows where {seen:,} were read before"
        raise fail(opened.source.description, "rows that are new", got)
