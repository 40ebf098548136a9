"""``lincat bench``: the benchmarks, as ratios."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from lincat.bench.run import SECTIONS
from lincat.bench.settings import Settings
from lincat.cli.options import output_options


@click.command(short_help="The benchmarks, as ratios.")
@click.argument("sections", nargs=-1, type=click.Choice(SECTIONS), metavar="[SECTION]...")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="Turns of each contender; ratios are medians over them.",
)
@click.option(
    "--log-rows",
    type=click.IntRange(min=10_000),
    default=1_000_000,
    show_default=True,
    help="Rows of the log that is learned from (batch, workers, rows).",
)
@click.option("--quick", is_flag=True, help="Tiny sizes: see that it runs, judge nothing.")
@click.option(
    "--write",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the page, as Markdown, to this file; with SECTIONs given, only those of a "
    "page that is there are replaced.",
)
@output_options
def bench(
    sections: tuple[str, ...],
    rounds: int,
    log_rows: int,
    quick: bool,
    write: Path | None,
    as_json: bool,
    out: Path | None,
    force: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Measure lincat against C, JAX, PyTorch and NumPy, side by side, and show which bars hold.

    SECTION is any of startup, target, scaling, cores, memory, evaluate, speed, guards (of kernels),
    batches (of one update), intervals (of streams), batch (the batch solution), reduced
    (variance-reduced steps), workers (who sum a log), rows (very many), questions (of sums); all by
    default, which takes some minutes. C needs a compiler; JAX and PyTorch come with pip install
    'lincat[bench]', and are left out where they are missing. Exit code 1 says that a bar does not
    hold. Other work on the machine disturbs the numbers.

    \b
    Examples:
      lincat bench
      lincat bench speed --rounds 5
      lincat bench workers --log-rows 10000000
    """
    from lincat._files import new_folder, write_atomically
    from lincat.bench.machine import describe, load_average
    from lincat.bench.page import bars_table, page, table, updated
    from lincat.bench.run import run_section

    if write is not None and not write.absolute().parent.is_dir():
        raise click.BadParameter(f"{write.parent} is not a folder", param_hint="--write")
    folder = None if out is None else new_folder(out, "--out", force=force)
    settings, machine = (
        Settings(rounds=rounds, quick=quick, seed=seed, log_rows=log_rows),
        describe(),
    )
    load_before = load_average()
    results = []
    for name in sections or SECTIONS:
        if not quiet:
            click.echo(name, err=True)
        result = run_section(name, settings, quiet=quiet)
        results.append(result)
        if not as_json:
            parts = [result.title, table(result.rows), *result.notes]
            click.echo("\n".join(filter(None, parts)) + "\n")
    machine["load average"] = f"{load_before} at the start, {load_average()} at the end"
    bars = [bar for result in results for bar in result.bars]
    everything: dict[str, Any] = {
        "machine": machine,
        "sections": [result.as_dict() for result in results],
    }
    click.echo(json.dumps(everything) if as_json else bars_table(bars))
    command = _command(sections, settings)
    text = page(results, machine, command)
    if write is not None:
        made = f"Made by `{command}`, load average {machine['load average']}."
        keep = bool(sections) and write.exists()
        write_atomically(write, updated(write.read_text(), results, made) if keep else text)
    if folder is not None:
        write_atomically(folder / "benchmarks.json", json.dumps(everything, indent=1) + "\n")
        write_atomically(folder / "benchmarks.md", text)
    if not quick and any(bar.holds is False for bar in bars):
        sys.exit(1)


def _command(sections: tuple[str, ...], settings: Settings) -> str:
    """The command that makes the same page again."""
    words = ["lincat bench", *sections, f"--rounds {settings.rounds}"]
    words += [f"--seed {settings.seed}"] if settings.seed else []
    usual = type(settings)().log_rows
    words += [f"--log-rows {settings.log_rows}"] if settings.log_rows != usual else []
    words += ["--quick"] if settings.quick else []
    return " ".join([*words, "--write docs/benchmarks.md"])
