"""Rows of figures as tables, in text and HTML: for pages, terminals and notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

# A row of a table: its cells by the names of the columns, which all rows of a table share.
Row = Mapping[str, str | float | None]

#: What the columns with the ends of intervals are called, after the figure between them.
LOW, HIGH = "_low", "_high"

_ROUNDING = 1e-9  # of a figure: an interval that is no wider says nothing


def html_table(rows: Sequence[Row]) -> str:
    """Return rows as an HTML table, numbers to the right, the ends of intervals behind them."""
    keys = figure_names(rows[0])
    sides = [side(rows, key) for key in keys]

    def line(tag: str, texts: Sequence[str]) -> str:
        inner = (
            f'<{tag} class="{where}">{escape(text)}</{tag}>'
            for where, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(
        line("td", [f"{show(row[key])} {_aside(between(row, key))}".strip() for key in keys])
        for row in rows
    )
    head = line("th", keys)
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def text_table(rows: Sequence[Row]) -> str:
    """Return rows as lines of text, the ends of intervals behind their figures.

    Examples
    --------
    >>> from lincat._rows import text_table
    >>> print(text_table([{"state": "start", "mean": 2.0, "mean_low": 1.75, "mean_high": 2.25}]))
    state      mean
    start  2 ± 0.25
    """
    keys = figure_names(rows[0])
    lines = [
        keys,
        *(
            [f"{show(row[key])} {_aside(between(row, key))}".strip() for key in keys]
            for row in rows
        ),
    ]
    widths = [max(len(line[j]) for line in lines) for j in range(len(keys))]
    sides = [side(rows, key) for key in keys]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if where == "right" else cell.ljust(width)
            for cell, width, where in zip(line, widths, sides, strict=True)
        ).rstrip()
        for line in lines
    )


def _aside(ends: str) -> str:
    return f"({ends})" if ends and not ends.startswith("±") else ends


def figure_names(row: Row) -> list[str]:
    """The columns of a row that are not ends of intervals."""
    ends = {key + end for key in row for end in (LOW, HIGH)}
    return [key for key in row if key not in ends]


def between(row: Row, key: str) -> str:
    """Return the interval of a figure as text: "± 0.3", or "0.1 – 0.4" where it leans to a side.

    Examples
    --------
    >>> from lincat._rows import between
    >>> between({"mean": 2.0, "mean_low": 1.75, "mean_high": 2.25}, "mean")
    '± 0.25'
    >>> between({"std": 2.0, "std_low": 1.5, "std_high": 2.25}, "std")
    '1.50 – 2.25'
    """
    value, low, high = (row.get(key + end) for end in ("", LOW, HIGH))
    if not isinstance(value, float) or not isinstance(low, float) or not isinstance(high, float):
        return ""
    width = high - low
    if width <= _ROUNDING * max(abs(low), abs(high)):
        return ""
    places = min(max(0, 2 - math.ceil(math.log10(width))), 12)
    if abs(low + high - 2.0 * value) <= 0.05 * width:
        return f"± {width / 2.0:.{places}f}"
    return f"{low:.{places}f} – {high:.{places}f}"


def side(rows: Sequence[Row], key: str) -> Literal["left", "right"]:
    """Numbers are set to the right, and so are columns of them with gaps."""
    kinds = {type(row[key]) for row in rows if row[key] is not None}
    return "right" if kinds and kinds <= {int, float} else "left"


def show(value: Any, zero_below: float = 0.0) -> str:
    """Return a cell as text: numbers to five digits."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{0.0 if abs(value) < zero_below else value:.5g}"
