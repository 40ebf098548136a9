"""docs/coverage.md, from rows; nothing is run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lincat.coverage.cases import case_named
from lincat.coverage.run import FIGURES, Row
from lincat.coverage.settings import CONFIDENCE, Bars, Settings
from lincat.report.tables import as_markdown

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
        parts += ["## Bars\n", as_markdown(bar_rows(late)), _summary(late)]
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


def bar_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return, for each bar, the worst of the rows with enough data, and whether it is met."""
    late = [row for row in rows if row.rows >= _BARS.rows]
    lines = []
    for figure in (*_BARS.figures, "whole CDF"):
        found = [(one, row) for row in late for one in row.counted if one.figure == figure]
        if not found:
            continue
        low, high = (pick(found, key=lambda x: x[0].coverage) for pick in (min, max))
        wide = max(found, key=lambda x: x[0].width or 0.0)
        strictly, clearly = (
            any(figure in misses(row, noise=noise) for _, row in found) for noise in (0.0, 2.0)
        )
        lines.append(
            {
                "figure": _WORDS.get(figure, figure),
                "held least": f"{low[0].coverage:.1%} ({_place(low[1])})",
                "held most": f"{high[0].coverage:.1%} ({_place(high[1])})",
                "widest": f"{wide[0].width:.2f} ({_place(wide[1])})" if wide[0].width else "",
                "bar": "not met" if clearly else "not met, by noise" if strictly else "met",
            }
        )
    if late:
        dear = max(late, key=_cost)
        lines.append(
            {
                "figure": f"cost, times the answer alone: {_cost(dear):.2f}",
                "held least": "",
                "held most": "",
                "widest": f"({_place(dear)})",
                "bar": "met" if _cost(dear) <= _BARS.cost else "not met",
            }
        )
    return lines


def _place(row: Row) -> str:
    return f"{row.case}, {row.kind}, {row.rows:,}"


def _summary(rows: Sequence[Row]) -> str:
    total = len(rows) * len(FIGURES)
    strictly = total - sum(len(misses(row, noise=0.0)) for row in rows)
    clearly = sum(len(misses(row)) for row in rows)
    logs = sorted({row.runs for row in rows})
    rest = f"{logs[0]} logs each" if len(logs) == 1 else f"{logs[0]} to {logs[-1]} logs"
    return (
        f"This is the worst of all cells with {_BARS.rows:,} transitions or more; noise is two "
        f"standard errors. Of all figures counted there, variance and entropic risk among them, "
        f"{strictly} of {total} are within the bars as they stand, and {clearly} miss one by more "
        f"than noise. Rows rest on {rest}. The cost, in CPU time, is that of intervals "
        "of six kinds for three states, from the first transition to the last figure.\n"
    )


def _cost(row: Row) -> float:
    return row.seconds / row.seconds_without


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
