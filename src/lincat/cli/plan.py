"""``lincat plan``: step size and number of transitions for a target error."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

import lincat
from lincat.cli.options import (
    SHARE,
    WHOLE,
    machine_options,
    pairs,
    spinner,
    terminal,
)

if TYPE_CHECKING:
    from lincat.inference.planning import SamplePlan


@click.command(short_help="Step size and sample size for a target error.")
@click.argument("source", nargs=-1)
@click.option(
    "--error",
    type=click.FloatRange(0, min_open=True),
    required=True,
    help="Target: W1 to what more data would give, in units of returns, root mean square over "
    "states.",
)
@click.option(
    "--confidence",
    type=SHARE,
    default=0.95,
    show_default=True,
    help="Share of runs whose error is to be below the target.",
)
@click.option("--gamma", type=float, help="Discount factor; 0.99, or that of the process.")
@click.option("--steps", type=WHOLE, help="Transitions to read; up to 200,000 by default.")
@click.option("--intervals", type=WHOLE, help="K; by default as many as the target asks for.")
@click.option("--format", "format_", help="Format of a file whose name does not tell.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=pairs,
    metavar="ROLE=NAME",
    help="Which column holds what.",
)
@click.option("--features", help="As for lincat evaluate.")
@click.option(
    "--sampling",
    type=click.Choice(["markov", "generative"]),
    help="How transitions of a finite process will come.  [default: markov]",
)
@click.option("--policy", help="What acts in an environment.")
@click.option("--lambda-min", type=float, help="Without SOURCE: smallest eigenvalue of Sigma.")
@click.option("--norm", type=float, help="Without SOURCE: ‖θ*‖_V1; 1/(1 - gamma) by default.")
@click.option("--mixing-time", type=float, default=1.0, help="Without SOURCE: of the walk.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@machine_options
def plan(
    source: tuple[str, ...],
    error: float,
    confidence: float,
    lambda_min: float | None,
    norm: float | None,
    mixing_time: float,
    as_json: bool,
    quiet: bool,
    columns: dict[str, str],
    format_: str | None,
    **options: Any,
) -> None:
    """Say how many transitions a target error takes, for every way to learn, and why.

    SOURCE is what lincat evaluate takes: a log, an environment, a finite process (planned for
    exactly). Without it, --lambda-min and --gamma give what the paper's theorem says.

    \b
    Examples:
      lincat plan paper --error 0.05
      lincat plan examples/inventory.json --error 1 --confidence 0.9 --json
      lincat plan --gamma 0.9 --lambda-min 0.1 --error 0.5
    """
    given = {name: value for name, value in options.items() if value is not None}
    with spinner("Planning", quiet=quiet):
        if source:
            if columns:
                given["columns"] = {
                    role: names.split(",") if "," in names else names
                    for role, names in columns.items()
                }
            if format_ is not None:
                given["format"] = format_
            made = lincat.plan(list(source), error=error, confidence=confidence, **given)
        else:
            setting = _setting(given, lambda_min, norm, mixing_time)
            made = lincat.plan(setting, error=error, confidence=confidence)
    if as_json:
        click.echo(json.dumps(asdict(made)))
    else:
        _show(made, notes=not quiet)


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"{number:.2g}"


def _setting(
    given: dict[str, Any], lambda_min: float | None, norm: float | None, mixing_time: float
) -> lincat.Setting:
    if lambda_min is None or "gamma" not in given:
        raise click.UsageError("expected SOURCE, or --lambda-min and --gamma")
    gamma = given["gamma"]
    if not 0.0 <= gamma < 1.0:
        raise click.BadParameter(f"{gamma:g} is not below 1", param_hint="--gamma")
    size = 1.0 / (1.0 - gamma) if norm is None else norm
    K = given.get("intervals", max(round(2.0 * size), 32))
    return lincat.Setting(gamma, K, lambda_min, size, 2.0 * size, mixing_time=mixing_time)


def _show(made: SamplePlan, *, notes: bool) -> None:
    from lincat.report.tables import rich_table

    console = terminal()
    console.print(
        f"To come within {made.error:g} of the fixed point (W1,mu) in {made.confidence:.0%} of "
        f"runs, gamma {made.gamma:g}:"
    )
    rows = [
        {
            "way": need.way,
            "step size": need.step or "-",
            "transitions": _count(need.transitions),
            "why": need.reason,
        }
        for need in made.needs
    ]
    console.print(rich_table(rows))
    grid = "" if made.grid is None else f" on [{made.grid.low:.4g}, {made.grid.high:.4g}]"
    console.print(f"K = {made.intervals}{grid}.")
    if made.approximation is not None:
        console.print(f"Approximation error, whatever the number: {made.approximation:.3g}.")
    if notes:
        for note in made.notes:
            console.print(note, soft_wrap=True)
