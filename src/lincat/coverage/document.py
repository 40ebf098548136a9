"""docs/coverage.md, from rows; nothing is run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lincat.coverage.cases import case_named
from lincat.coverage.run import FIGURES, Row
from lincat.coverage.settings import CONFIDENCE, Bars, Settings
from lincat.report.tables import as_markdown

__all__ = ["as_document", "misses"]

_BARS = Bars()
_WORDS = {"probability_below": "P(G < c)", "quantile": "5 % quantile", "cvar": "5 % CVaR"}

_INTRO = f"""# How often intervals hold

This page was written by `make coverage`; do not edit it. Each process is known, and so is the fixed
point that ever more data lead to. From many logs of it, `CategoricalLSTD` gives intervals of
{CONFIDENCE:.0%} for three states; a table cell is the share of them that hold the fixed point, and
after it their mean width over that of an interval that knows the true standard error. *CDF values*
are the values of `band()` where the CDF is above 0.001 and below 0.999; *whole CDF* is the share of
states whose values lie within `band(simultaneous=True)` all at once. Quantiles and P(G < c) are
interpolated. The bars, from {_BARS.rows:,} transitions on: between {_BARS.low:.0%} and
{_BARS.high:.0%}, whole CDFs at least {_BARS.simultaneous:.0%}, width at most {_BARS.width:g}; what
misses one by more than twice its own standard error is in bold.
"""


def as_document(rows: Sequence[Row], settings: Settings) -> str:
    """Return the page about these rows, as Markdown."""
    cases = [case_named(name) for name in settings.cases]
    table = [{"process": c.name, "gamma": f"{c.gamma:g}", "what": c.note} for c in cases]
    parts = [_INTRO, "## Processes\n", as_markdown(table)]
    late = [row for row in rows if row.rows >= _BARS.rows]
    if late:
        parts += ["## Summary\n", _summary(late)]
    for size in settings.sizes:
        chosen = [row for row in rows if row.rows == size]
        if chosen:
            parts += [f"## {size:,} transitions\n", as_markdown([_line(row) for row in chosen])]
    return "\n".join(parts)


def misses(row: Row, *, noise: float = 2.0) -> list[str]:
    """Return the figures of a row that miss a bar by more than so many of their standard errors."""
    missed = []
    # A standard deviation of n runs, and so the width, is known to 0.7/√n of itself.
    widest = _BARS.width * (1.0 + noise * 0.7 / row.runs**0.5)
    for found in row.counted:
        slack = noise * found.coverage_se
        whole = found.figure == "whole CDF"
        low, high = (_BARS.simultaneous, 1.0) if whole else (_BARS.low, _BARS.high)
        wide = found.width is not None and found.width > widest
        if found.coverage < low - slack or found.coverage > high + slack or wide:
            missed.append(found.figure)
    return missed


def _summary(rows: Sequence[Row]) -> str:
    total = len(rows) * len(FIGURES)
    strictly = total - sum(len(misses(row, noise=0.0)) for row in rows)
    clearly = sum(len(misses(row)) for row in rows)
    logs = sorted({row.runs for row in rows})
    return (
        f"At {_BARS.rows:,} transitions or more, {strictly} of {total} figures are within the bars "
        f"as they stand, and {clearly} miss one by more than noise. Rows rest on {logs[0]} to "
        f"{logs[-1]} logs; with few of them, little can be told from noise.\n\n"
        f"Intervals of six kinds for three states took {_slowest(rows):.1f} times as long as the "
        "answer alone, at worst.\n"
    )


def _slowest(rows: Sequence[Row]) -> float:
    return max(row.seconds / row.seconds_without for row in rows)


def _line(row: Row) -> dict[str, Any]:
    missed = misses(row) if row.rows >= _BARS.rows else []
    line: dict[str, Any] = {"process": row.case, "data": row.kind}
    for found in row.counted:
        width = "" if found.width is None else f", {found.width:.2f}"
        text = f"{found.coverage:.1%}{width}"
        line[_WORDS.get(found.figure, found.figure)] = (
            f"**{text}**" if found.figure in missed else text
        )
    line["cautions"] = f"{row.cautions:.0%}"
    line["logs"] = row.runs
    return line
