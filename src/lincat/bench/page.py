"""Results as Markdown that reads well as plain text: for the terminal and for the documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lincat.bench.results import Bar, Result


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as a table; columns that only some rows have are empty in the others."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns, *([_show(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(columns))]
    numeric = [all(not isinstance(row.get(c), str) for row in rows) for c in columns]
    rule = [("-" * (w - 1) + ":") if n else "-" * w for w, n in zip(widths, numeric, strict=True)]
    lines = [
        " | ".join(
            text.rjust(w) if n else text.ljust(w)
            for text, w, n in zip(line, widths, numeric, strict=True)
        )
        for line in (cells[0], rule, *cells[1:])
    ]
    return "\n".join(f"| {line} |" for line in lines)


def bars_table(bars: Sequence[Bar]) -> str:
    """Return all bars with what was measured."""
    return table(_bar_rows(bars))


def _bar_rows(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    return [
        {
            "bar": bar.what,
            "measured": "" if bar.measured is None else _show(bar.measured),
            "should be": f"{bar.relation} {bar.limit:g}",
            "holds": bar.verdict,
            "worst case": bar.where,
        }
        for bar in bars
    ]


def page(results: Sequence[Result], machine: dict[str, str], command: str) -> str:
    """Return docs/benchmarks.md."""
    bars = [bar for result in results for bar in result.bars]
    parts = [
        "# Benchmarks",
        f"Made by `{command}`; do not edit. Ratios are the time of the other over ours, measured "
        "in turns in one run: above 1, lincat is faster. On one core, time is CPU time. Times "
        "differ on another machine, ratios less so. *On the line*: within 5 % of the limit, which "
        "is how far runs scatter, so that another run may say the opposite.",
        "\n".join(f"- {key}: {value}" for key, value in machine.items()),
        "## Bars",
        bars_table(bars),
    ]
    parts += [_section(result) for result in results if result.rows or result.notes]
    return "\n\n".join(parts) + "\n"


def updated(text: str, results: Sequence[Result], made: str) -> str:
    """Return a page with these sections, and their bars, in place of those it has, or behind them.

    ``made`` says, below each of them, how they came about.
    """
    head, bars, *others = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    new = [bar for result in results for bar in result.bars]
    names = {bar.what for bar in new}
    lines = [_cells(line) for line in bars.splitlines() if line.startswith("|")]
    columns, kept = lines[0], [cells for cells in lines[2:] if cells[0] not in names]
    rows = [dict(zip(columns, cells, strict=True)) for cells in kept] + _bar_rows(new)
    sections = {part.splitlines()[0].removeprefix("## "): part.rstrip() for part in others}
    sections |= {result.title: f"{_section(result)}\n\n{made}" for result in results}
    return "\n\n".join([head.rstrip(), "## Bars", table(rows), *sections.values()]) + "\n"


def _section(result: Result) -> str:
    tables = [f"## {result.title}", table(result.rows)] if result.rows else []
    return "\n\n".join([*tables, *result.notes])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]


def _show(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
