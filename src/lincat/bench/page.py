"""Results as Markdown that reads well as plain text: for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lincat.bench.results import Bar, Result

__all__ = ["bars_table", "page", "table"]


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
    return table(
        [
            {
                "bar": bar.what,
                "measured": "" if bar.measured is None else _show(bar.measured),
                "should be": f"{bar.relation} {bar.limit:g}",
                "holds": bar.verdict,
                "worst case": bar.where,
            }
            for bar in bars
        ]
    )


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
    for result in results:
        parts += [f"## {result.title}", table(result.rows)] if result.rows else []
        parts += result.notes
    return "\n\n".join(parts) + "\n"


def _show(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
