"""``lincat reproduce``: the paper's tables and figures, beside the published numbers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import lincat
from lincat.cli.options import resumable_output_options, spinner, terminal
from lincat.cli.progress import progress_bar

if TYPE_CHECKING:
    from lincat.paper.document import Document
    from lincat.paper.experiments import Unit
    from lincat.paper.settings import Settings


@click.command(short_help="The paper's tables and figures, beside the published numbers.")
@click.argument("what", nargs=-1, metavar="[WHAT]...")
@click.option("--quick", is_flag=True, help="Everything at a small size, in less than a minute.")
@click.option(
    "--process",
    type=click.Choice(["main", "unit_norm"]),
    default="main",
    show_default=True,
    help="Our stand-in for the paper's process; unit_norm has no feature longer than 1.",
)
@click.option("--threads", type=click.IntRange(min=1), help="By default one for each core.")
@click.option(
    "--write-docs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Also write reproduction.md and its figures into this folder.",
)
@resumable_output_options
def reproduce(
    what: tuple[str, ...],
    quick: bool,
    process: str,
    threads: int | None,
    write_docs: Path | None,
    as_json: bool,
    out: Path | None,
    force: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Run the paper's numerical experiments and lay the results beside the published numbers.

    WHAT is any of all, paper, beyond, the tables cdf_K_alpha and pmf_K_alpha, the figures loss_cdf,
    loss_pmf, loss_change_alpha, dependence and comparation, or, beyond the paper, bound, large_K,
    gammas, random_process and markov; all by default.

    Results land in --out (by default a folder named reproduction): rows as they come, then tables,
    figures, and index.html. After an interruption the same command continues where it was; --force
    begins again.

    \b
    Examples:
      lincat reproduce --quick
      lincat reproduce pmf_K_alpha dependence --out tables
    """
    from lincat.paper.document import Document
    from lincat.paper.run import (
        clear_folder,
        missing,
        open_folder,
        read_rows,
        run,
        total_seconds,
    )
    from lincat.paper.settings import Settings

    settings = Settings.quick(process, seed) if quick else Settings(process=process, seed=seed)
    units = _units(what, settings)
    folder = _default_folder(settings, quick) if out is None else out
    if force:
        clear_folder(folder)
    open_folder(folder, settings)
    workers = os.cpu_count() or 1 if threads is None else threads
    todo = missing(units, folder)
    for _ in _progress(run(todo, folder, threads=workers), todo, quiet=quiet):
        pass
    command = " ".join(["lincat reproduce", *what, *(["--quick"] if quick else [])])
    document = Document(read_rows(folder, units), settings, command)
    with spinner("Drawing", quiet=quiet):
        page = document.write(folder)
        if write_docs is not None:
            document.write_docs(write_docs, total_seconds(folder, units))
    if as_json:
        click.echo(json.dumps(document.as_dict()))
        return
    _show(document, notes=not quiet)
    if not quiet:
        click.echo(f"Written: {page}, with tables, figures and rows beside it")


def _units(what: Sequence[str], settings: Settings) -> list[Unit]:
    from lincat.paper.beyond import beyond_units
    from lincat.paper.experiments import paper_units
    from lincat.paper.settings import BEYOND, FIGURES, RULES

    paper = (*RULES.values(), *FIGURES)
    groups = {"all": (*paper, *BEYOND), "paper": paper, "beyond": BEYOND}
    wanted: set[str] = set()
    for name in what or ("all",):
        if name not in groups and name not in groups["all"]:
            names = ", ".join([*groups, *groups["all"]])
            raise lincat.InvalidInputError(f"WHAT: expected any of {names}, got {name!r}")
        wanted.update(groups.get(name, (name,)))
    units = [*paper_units(settings), *beyond_units(settings)]
    return [unit for unit in units if wanted.intersection(unit.serves)]


def _default_folder(settings: Settings, quick: bool) -> Path:
    """A name of its own for all that may differ, so that defaults never meet."""
    parts = ["reproduction", *(["quick"] if quick else [])]
    parts += [settings.process] if settings.process != "main" else []
    parts += [f"seed{settings.seed}"] if settings.seed else []
    return Path("-".join(parts))


def _progress(done: Iterable[Unit], units: Sequence[Unit], *, quiet: bool) -> Iterator[Unit]:
    """Pass the units on, and show on a terminal how far it is and how long it will take."""
    if quiet or not sys.stderr.isatty():
        yield from done
        return
    with progress_bar("{task.percentage:>3.0f} %") as progress:
        task = progress.add_task("Running", total=sum(unit.cost for unit in units))
        for unit in done:
            progress.update(task, advance=unit.cost, description=f"{unit.dataset} {unit.name}")
            yield unit


def _show(document: Document, *, notes: bool) -> None:
    from lincat.report.tables import rich_table

    console = terminal()
    for table in [*document.tables, document.checks]:
        if table.rows:
            console.print(table.title, style="bold")
            console.print(rich_table(table.rows))
            if notes:
                console.print(table.note + "\n", style="dim")
    # Not a note: numbers are never shown without it.
    console.print(document.intro, style="italic")
