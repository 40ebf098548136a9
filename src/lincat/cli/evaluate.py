"""``lincat evaluate``: from an environment, logs or a stream to return distributions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lincat.cli.options import (
    WHOLE,
    connect_option,
    environment_options,
    output_options,
    pairs,
    plain_value,
    require_option,
    say,
    storage_option,
    terminal,
    trust_option,
    workers_options,
)
from lincat.features.registry import FEATURE_NAMES
from lincat.learners.registry import AVERAGINGS, DTYPES, LEARNERS
from lincat.runs.pilot import PILOT, STEPWISE_PILOT
from lincat.tables.formats import FORMATS

if TYPE_CHECKING:
    from lincat import Answer
    from lincat._reach import Allowed
    from lincat.cli.run_page import Summary
    from lincat.runs.config import EvaluationConfig
    from lincat.runs.folder import RunFolder


# The built-in example: a pole that a noisy policy keeps from falling, for a while.
_EXAMPLE: dict[str, Any] = {
    "source": ["gym:CartPole-v1"],
    "policy": "balance",
    "gamma": 0.95,
    "steps": 250_000,
    "warm_up": 50_000,  # a fifth of them: plans of numbers are made sooner
    "n_envs": 64,
    "validate": 10_000,
    "below": 10.0,
}


_SEVERAL = ("observation", "calendar")  # roles that several columns may have


@click.command(short_help="Learn return distributions from an environment, files or stdin.")
@click.argument("source", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="TOML file with any of these options, such as a run's config.toml; flags win.",
)
@click.option("--gamma", type=float, help="Discount factor; 0.99, or the finite process's own.")
@click.option("--steps", type=WHOLE, help="Transitions to learn from; all of a file by default.")
@click.option(
    "--n-step",
    type=int,
    help="Sum the rewards of so many steps; by default as many as held-out returns speak for.",
)
@environment_options
@click.option(
    "--sampling", type=click.Choice(["markov", "generative"]), help="From a finite process."
)
@click.option(
    "--format",
    type=click.Choice(list(FORMATS)),
    help="Where the name does not tell.",
)
@storage_option
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=pairs,
    metavar="ROLE=NAMES",
    help="Column for observation, next_observation, reward, terminated, truncated, discount, "
    "weight, episode or step; several with commas, or a pattern such as obs_*. calendar=COLUMN "
    "observes hour, weekday and season of a time, calendar=COLUMN.hour one of them.",
)
@click.option("--on-bad-rows", type=click.Choice(["stop", "skip"]), help="[default: stop]")
@click.option(
    "--missing",
    type=click.Choice(["auto", "indicator", "skip", "stop"]),
    help="Cells of observations that are missing: an indicator and the mean, or leave the row out, "
    "or stop; auto is the first if there are any, unless bad rows are skipped.  [default: auto]",
)
@click.option(
    "--episode-end",
    type=click.Choice(["terminated", "truncated"]),
    help="What it means, where no column tells.  [default: terminated]",
)
@click.option("--features", help=f"{', '.join(FEATURE_NAMES)} or m:name.")
@click.option(
    "--feature-option",
    "feature_options",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="Parameter of the features, such as tilings=16.",
)
@click.option(
    "--warm-up",
    type=WHOLE,
    help=f"Transitions that features are chosen and fitted on; {PILOT:,}, or {STEPWISE_PILOT:,} "
    "where learning goes step by step.",
)
@click.option(
    "--learner",
    type=click.Choice(LEARNERS.offered),
    help="auto is lstd, the batch solution, but linear_ctd, step by step, for very many "
    "features.  [default: auto]",
)
@click.option("--low", type=float, help="First atom of the grid; by default where returns begin.")
@click.option("--high", type=float, help="Last atom of the grid; by default where they end.")
@click.option(
    "--intervals",
    type=int,
    help="K; there are K + 1 atoms. By default as many as the returns ask for.",
)
@click.option("--step-size", help="A number, or auto.  [default: auto]")
@click.option(
    "--step-power",
    type=click.FloatRange(0, 1),
    help="The step of update t is --step-size times t to minus this; by default steps that are "
    "given do not decay.",
)
@click.option("--averaging", type=click.Choice(AVERAGINGS), help="[default: tail]")
@click.option(
    "--window",
    type=WHOLE,
    metavar="N",
    help="Learn from about the last N transitions, where the world drifts: older sums are dropped, "
    "or steps are constant.",
)
@click.option(
    "--passes",
    metavar="N",
    help="Read a log N times, where learning goes step by step; auto until it has settled.  "
    "[default: auto]",
)
@click.option("--batch-size", type=int, help="Transitions per update.  [default: 1]")
@click.option("--dtype", type=click.Choice(DTYPES), help="[default: float64]")
@click.option(
    "--validate",
    type=WHOLE,
    metavar="N",
    help="Check against N returns: rolled out, held out, or exact for a finite process. By default "
    "4,000 rollouts, or a tenth of a log that is long enough; 0 for no check.",
)
@click.option("--level", type=float, help="Of quantiles and CVaR.  [default: 0.05]")
@click.option("--below", type=float, metavar="C", help="Show the chance of a return below this.")
@click.option("--show", "n_states", type=int, help="Typical states to show.  [default: 8]")
@click.option("--since", metavar="TIME", help="Of statistics: blocks of time from then on.")
@click.option("--until", metavar="TIME", help="Of statistics: blocks of time before then.")
@click.option(
    "--last-blocks", type=int, metavar="N", help="Of statistics: the last N blocks of each site."
)
@click.option("--states", type=int, hidden=True)  # what --show was called; for one release
@workers_options
@trust_option("--config")
@connect_option("--config")
@require_option
@output_options
def evaluate(
    source: tuple[str, ...],
    config: Path | None,
    trust_code: bool,
    connect: bool,
    require: bool,
    as_json: bool,
    out: Path | None,
    force: bool,
    seed: int,
    storage_options: dict[str, Any],
    quiet: bool,
    **flags: Any,
) -> None:
    """Learn the distribution of the return, and write a page about it.

    SOURCE is a Gymnasium environment (gym:NAME), logs (Parquet, CSV, JSON lines or Arrow files, or
    a folder of them), - for standard input, a Minari data set (minari:NAME), or a finite process
    (a .json file, or a name that lincat solve knows), or statistics (.stats, by lincat stats).
    Without SOURCE a built-in example runs: CartPole under a noisy balancing policy.

    Everything lands in --out, by default a new folder in runs/: config.toml, metrics.jsonl,
    checkpoints, model.safetensors, and report.html. Ctrl-C finishes with what was learned so far;
    lincat resume continues.

    \b
    Examples:
      lincat evaluate
      lincat evaluate gym:FrozenLake-v1 --gamma 0.95 --validate 2000
      lincat evaluate log.parquet --column reward=cash --gamma 0.99 --below 0
      lincat evaluate 'logs/**/*.parquet' --workers 8
      lincat evaluate 's3://bucket/logs/*.parquet' --storage-option anon=true
      cat log.jsonl | lincat evaluate - --gamma 0.99
      lincat evaluate all.stats --gamma 0.95
    """
    from lincat._reach import Allowed
    from lincat.runs.folder import RunFolder
    from lincat.runs.from_statistics import StatisticsRun, open_statistics
    from lincat.runs.given import Given
    from lincat.runs.loop import EvaluationRun
    from lincat.runs.pools import open_pool
    from lincat.runs.sources import open_source

    seeded = click.get_current_context().get_parameter_source("seed")
    called_before = flags.pop("states")
    if flags["n_states"] is None:
        flags["n_states"] = called_before
    given = {name: value for name, value in flags.items() if value not in (None, {})}
    if config is None or seeded == click.core.ParameterSource.COMMANDLINE:
        given["seed"] = seed
    allowed = Allowed(code=trust_code, connect=connect)
    settings = settings_of(source, config, given, allowed)
    # Before anything is written or, with --force, cleared.
    objects = Given(policy=given.get("policy"), storage_options=storage_options)
    whole = open_statistics(settings, objects)
    opened = open_source(settings, objects) if whole is None else None
    pool = open_pool(settings, opened)
    folder = RunFolder.create(
        _default_folder(settings) if out is None else out, settings, force=force
    )
    with folder.kept_if_learned():
        run = (
            EvaluationRun(folder, opened, pool=pool)
            if whole is None
            else StatisticsRun(folder, whole)
        )
        finish(folder, run, require=require, as_json=as_json, quiet=quiet)


def finish(folder: RunFolder, run: Any, *, require: bool, as_json: bool, quiet: bool) -> None:
    """Run to the end, write the page, and say what came out; ``require`` that it be trusted."""
    import msgspec

    from lincat.cli.leaving import INTERRUPTED, NOT_TRUSTED, leave, leave_reading
    from lincat.cli.progress import run_to_the_end
    from lincat.cli.run_page import summary_of
    from lincat.runs.run import Run

    run_to_the_end(run, quiet=quiet)
    done = Run(folder)
    summary = summary_of(done, done.report())
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        _show(done.answer, summary, quiet=quiet)
    if not done.answer.complete:
        if not quiet:
            say(f"Interrupted; lincat resume {folder.path} continues.", err=True)
        leave(INTERRUPTED)
    if require and done.trusted is False:
        leave(NOT_TRUSTED)
    leave_reading(0)  # while the run, and with it the stream, is still there


def settings_of(
    source: tuple[str, ...],
    config: Path | None,
    given: dict[str, Any],
    allowed: Allowed | None = None,
) -> EvaluationConfig:
    """Put together the file, the flags, and for neither the example.

    What the file has done beyond reading data of this machine has to be ``allowed``, or be said by
    the flags.
    """
    import msgspec

    from lincat._reach import NOTHING_ALLOWED, check_allowed
    from lincat.runs.binding import given_here, resolved
    from lincat.runs.config import config_from_dict, read_config

    values: dict[str, Any] = {}
    if config is not None:
        allowed = NOTHING_ALLOWED if allowed is None else allowed
        kept = read_config(config)
        if "workers" in given or "scheduler" in given:  # either stands for both
            kept = msgspec.structs.replace(kept, workers=None, scheduler=None)
        check_allowed(kept, str(config), allowed, *given, *(["source"] if source else []))
        pickles = kept.trust_pickle and allowed.code
        values = msgspec.to_builtins(
            msgspec.structs.replace(resolved(kept), trust_pickle=pickles, given_in=None)
        )
    elif not source:
        values = dict(_EXAMPLE)
    if source:
        values["source"] = list(source)
    if "columns" in given:
        given["columns"] = {**(values.get("columns") or {}), **_columns(given["columns"])}
    if "env_options" in given:
        given["env_options"] = {key: plain_value(x) for key, x in given["env_options"].items()}
    for name in ("step_size", "passes"):
        if name in given:
            given[name] = plain_value(given[name])
    return given_here(config_from_dict({**values, **given}, "options"))


def _columns(roles: dict[str, str]) -> dict[str, Any]:
    return {
        role: names.split(",") if role.endswith(_SEVERAL) and "," in names else names
        for role, names in roles.items()
    }


def _default_folder(settings: EvaluationConfig) -> Path:
    """A name after the source, with a number if it is taken."""
    name = settings.source[0].rpartition(":")[2]
    name = "stdin" if name == "-" else Path(name).stem
    stem = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "run"
    number, folder = 1, Path("runs") / stem
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{stem}-{number}"
    return folder


def _show(answer: Answer, summary: Summary, *, quiet: bool) -> None:
    from lincat.cli.run_page import short_scores
    from lincat.report.tables import rich_table

    console = terminal()
    for note in () if quiet else answer.notes:
        console.print(note, style="dim", soft_wrap=True)
    console.print(rich_table(summary.states))
    if answer.validation is not None:
        console.print(rich_table([short_scores(answer.validation)]))
    for text in summary.warnings:
        say(f"Warning: {text}", err=True)
    console.print(f"{answer.transitions:,} transitions in {answer.seconds:.1f} s.", style="dim")
    for sentence in summary.summary:
        console.print(sentence, soft_wrap=True)
    if answer.sites is not None:
        console.print(answer.sites.sentence, soft_wrap=True)
    if summary.budget is not None:
        console.print(summary.budget.sentence, soft_wrap=True)
    console.print(f"Report: {summary.report}", soft_wrap=True)
