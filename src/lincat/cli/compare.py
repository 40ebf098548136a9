"""``lincat compare``: several runs on the same states."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from lincat.cli.options import (
    check_place,
    file_options,
    level_option,
    terminal,
    threshold_option,
    trust_option,
)

if TYPE_CHECKING:
    from lincat import Answer, Comparison
    from lincat.runs.run import Run
    from lincat.runs.shown import ShownStates

_T = TypeVar("_T")


@click.command(short_help="Several runs on the same states, side by side.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False))
@level_option("Of quantiles and CVaR.", default=0.05)
@threshold_option
@click.option(
    "--confidence",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals of differences.",
)
@file_options("Also write a page, as HTML, to this file.")
@trust_option("a run")
def compare(
    runs: tuple[Path, ...],
    level: float,
    threshold: float | None,
    confidence: float,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    trust_code: bool,
) -> None:
    """Lay what RUNS learned beside each other, on the states that the report of the first shows.

    Two policies in the same environment, say, or two learners on the same log. The first run is
    held against each of the others: differences with their intervals (paired where both learned
    from the same rows), and whether one is at least as good at every return.

    \b
    Examples:
      lincat compare runs/cartpole-v1 runs/cartpole-v1-2
      lincat compare runs/careful runs/bold --below 0 --out comparison.html
    """
    import msgspec

    from lincat._files import write_atomically
    from lincat.cli.run_page import short_scores
    from lincat.report.answer_page import comparison_page, comparison_text
    from lincat.report.cautions import lost_mass
    from lincat.report.differences import difference_rows
    from lincat.report.tables import rich_table, summary_rows
    from lincat.runs.run import read_run

    learned = [read_run(run, trust_code=trust_code) for run in runs]
    names, shown = _names(runs), _common(learned)
    answers = [_answer_on(one, shown) for one in learned]
    comparisons = _comparisons(learned, names, shown, confidence, level, threshold)
    tables = [
        summary_rows(
            answer.returns,
            answer.state_names,
            level=level,
            threshold=threshold,
            lost=lost_mass(answer),
        )
        for answer in answers
    ]
    columns = max((table[0] for table in tables), key=len)  # only signed ones have the last one
    rows = [
        {"state": found[0]["state"], "run": name, **{key: row.get(key, 0.0) for key in columns}}
        for found in zip(*tables, strict=True)
        for name, row in zip(names, found, strict=True)
    ]
    if out is not None:
        command = shlex.join(["lincat", "compare", *map(str, runs), "--out", str(out)])
        page = comparison_page(
            answers,
            names,
            level=level,
            threshold=threshold,
            command=command,
            comparisons=comparisons,
        )
        write_atomically(check_place(out), page)
    scores = [
        {"run": name, **short_scores(answer.validation)}
        for name, answer in zip(names, answers, strict=True)
        if answer.validation is not None
    ]
    said = ""
    if len(answers) > 1:
        said = comparison_text(answers, names, level=level, comparisons=comparisons)
    verdicts = [
        {"run": name, "trusted": answer.verdict.trusted, "verdict": answer.verdict.sentence}
        for name, answer in zip(names, answers, strict=True)
    ]
    if as_json:
        place = None if out is None else str(out)
        found = {
            "summary": said,
            "states": rows,
            "differences": msgspec.to_builtins(comparisons),
            "validation": scores,
            "verdicts": verdicts,
        }
        click.echo(json.dumps({**found, "report": place}))
        return
    console = terminal()
    console.print(rich_table(rows))
    if comparisons:
        console.print(rich_table(difference_rows(comparisons)))
    if scores:
        console.print(rich_table(scores))
    for name, answer in zip(names, answers, strict=True):
        if answer.verdict.trusted is False:
            console.print(f"{name}: {answer.verdict.sentence}", soft_wrap=True)
    if said:
        console.print(said, soft_wrap=True)
    if out is not None and not quiet:
        console.print(f"Report: {out}")


def _common(runs: Sequence[Run]) -> ShownStates:
    """The states that the report of the first run shows, as far as all runs know them."""
    from lincat.runs.comparing import known_states

    shown = runs[0].shown
    for run in runs[1:]:
        shown = _named(run, partial(known_states, run, shown))
    return shown


def _comparisons(
    runs: Sequence[Run],
    names: Sequence[str],
    shown: ShownStates,
    confidence: float,
    level: float,
    threshold: float | None,
) -> list[Comparison]:
    """The first run against each of the others; none where they speak of other things."""
    from lincat.report.answer_page import incomparable
    from lincat.runs.comparing import compare

    if incomparable([run.answer for run in runs], names):
        return []
    return [
        compare(
            runs[0],
            run,
            states=shown,
            confidence=confidence,
            level=level,
            threshold=threshold,
            names=(names[0], name),
        )
        for run, name in zip(runs[1:], names[1:], strict=True)
    ]


def _answer_on(run: Run, shown: ShownStates) -> Answer:
    return _named(run, partial(run.answer_on, shown))


def _named(run: Run, ask: Callable[[], _T]) -> _T:
    """What the run answers; errors name it."""
    import lincat

    try:
        return ask()
    except lincat.InvalidInputError as error:
        raise lincat.InvalidInputError(
            f"{run.path}, on the states of the first run: {error}"
        ) from None


def _names(runs: tuple[Path, ...]) -> list[str]:
    """The names of the folders, or their paths where these are the same."""
    names = [run.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]
