"""The section of docs/learners.md on step sizes, from rows; nothing is run here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat._text import listed
from lincat._typing import FloatArray
from lincat.report.tables import as_markdown
from lincat.tuning.run import Row
from lincat.tuning.settings import PILOT, STEPS, Bars, Settings

_BARS = Bars()
_HEADINGS = {"transitions": "{:,} transitions", "gamma": "gamma {:g}"}
_BEGIN = "<!-- From here to the end mark written by make tuning; do not edit. -->"
_END = "<!-- End of what make tuning writes. -->"
_Error = Callable[[Row], float | None]  # which error of a row is meant


_TEXT = """\
{cells} cells: {processes} random processes, independent transitions and walks, runs of {lengths}.
Every number is the error that `"auto"` reaches over that of the best of {steps} constant steps,
from {coarsest} down to {finest}, in the same cell with the same average: the ℓ2,mu distance to
the exact fixed point, root mean square over the runs. *Cold* starts from the uniform distribution,
as constant steps do; *warm* from the batch solution of the first {pilot:,} transitions
(`start_at`). The bar is {near:g}x in {share:.0%} of the cells and {worst:g}x in all: warm,
{warm}; cold, {cold}; {diverged}. No constant step does for all: {best}, the one that is within
{near:g}x most often, is so in {alone}.

{table}
`make tuning` (`python -m lincat.tuning`) made this table, on processes that no choice was made
on."""


def as_section(rows: Sequence[Row], settings: Settings) -> str:
    """Return the section about these rows, as Markdown."""
    best = max(range(len(STEPS)), key=lambda i: _near(_ratios(rows, _constant(i))))
    return _TEXT.format(
        cells=len(rows),
        processes=settings.processes,
        lengths=listed([f"{length.transitions:,}" for length in settings.lengths], "and"),
        steps=len(STEPS),
        coarsest=_over_R(STEPS[0]),
        finest=_over_R(STEPS[-1]),
        pilot=PILOT,
        near=_BARS.near,
        share=_BARS.share,
        worst=_BARS.worst,
        warm=f"{_figures(rows, _warm)}, which {_verdict(holds(rows))}",
        cold=f"{_figures(rows, _auto)}, which {_verdict(holds(rows, warm=False))}",
        diverged=_diverged(rows),
        best=_over_R(STEPS[best]),
        alone=_figures(rows, _constant(best)),
        table=as_markdown([_line(name, group) for name, group in _groups(rows)]),
    )


def holds(rows: Sequence[Row], *, warm: bool = True) -> bool:
    """Whether the bar holds, started warm or from the uniform distribution."""
    ratios = _ratios(rows, _warm if warm else _auto)
    return bool(_near(ratios) >= _BARS.share and ratios.max() <= _BARS.worst)


def with_section(page: str, section: str) -> str:
    """Return a page with what lies between its two marks replaced."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise fail("--write", f"a page with the marks {_BEGIN!r} and {_END!r}", "none")
    return f"{before}{_BEGIN}\n\n{section}\n\n{_END}{after}"


# ----------------------------------------------------------------------------------------- numbers


def _auto(row: Row) -> float | None:
    return row.auto


def _warm(row: Row) -> float | None:
    return row.warm


def _constant(number: int) -> _Error:
    return lambda row: row.constant[number]


def _ratios(rows: Sequence[Row], by: _Error) -> FloatArray:
    return np.array([row.ratio(by(row)) for row in rows])


def _near(ratios: FloatArray) -> float:
    return float((ratios <= _BARS.near).mean())


def _figures(rows: Sequence[Row], by: _Error) -> str:
    ratios = _ratios(rows, by)
    worst = f"{ratios.max():.1f}x" if np.isfinite(ratios.max()) else "diverging"
    return f"{_near(ratios):.1%} and {worst} at worst"


def _verdict(held: bool) -> str:
    return "holds" if held else "misses it"


def _over_R(step: float) -> str:
    return "1/R" if step == 1.0 else f"1/({1.0 / step:.0f}R)"


def _diverged(rows: Sequence[Row]) -> str:
    count = sum(row.auto is None or row.warm is None for row in rows)
    return f"{count} of them diverged" if count else "none diverged"


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """What the table has a line for: all cells, and parts of them."""
    yield "all", list(rows)
    for name in ("kind", "transitions", "features", "process", "gamma"):
        for value in sorted({getattr(row, name) for row in rows}):
            group = [row for row in rows if getattr(row, name) == value]
            yield _HEADINGS.get(name, "{}").format(value), group


def _line(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    line: dict[str, Any] = {"cells": name, "number": len(rows)}
    for start, by in (("cold", _auto), ("warm", _warm)):
        ratios = _ratios(rows, by)
        line[f"{start}: within {_BARS.near:g}x"] = f"{_near(ratios):.0%}"
        line[f"{start}: typical"] = f"{np.exp(np.log(ratios).mean()):.2f}"
        line[f"{start}: worst"] = f"{ratios.max():.2f}"
    steps = [row.best_step for row in rows]
    line["best constant steps"] = f"{_over_R(min(steps))} to {_over_R(max(steps))}"
    return line
