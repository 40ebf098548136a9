"""Rows of numbers about return distributions, and the tables drawn from them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lincat._rows import HIGH as HIGH
from lincat._rows import LOW as LOW
from lincat._rows import Row, between, figure_names, show, side
from lincat._text import printable
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.summary import Interval, summary_columns

if TYPE_CHECKING:
    from rich.table import Table


# What a formula begins with, in one spreadsheet or another.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BARS = " ▁▂▃▄▅▆▇█"


def summary_rows(
    dist: ReturnDistribution,
    state_names: Sequence[str],
    *,
    level: float = 0.05,
    threshold: float | None = None,
    negative: bool = True,
    lost: bool = False,
    interval: Interval | None = None,
) -> list[Row]:
    """Return a row per state: mean, standard deviation, quantiles, CVaR, chance below a threshold.

    The mean is that of the distribution as it is; where distributions are signed, everything else
    is of the nearest proper distribution, and a column says how much negative mass there is, unless
    ``negative`` leaves it out. Where mass fell off the grid and was moved to its ends (``lost``),
    nothing is said of a threshold outside. With ``interval``, such as an answer's, columns
    mean_low and mean_high follow the mean, and so on: None where they are not known.
    """
    columns = summary_columns(
        dist, level=level, threshold=threshold, negative=negative, interval=interval
    )
    unknown = lost and threshold is not None and not dist.grid.low < threshold <= dist.grid.high
    hidden = f"P(G<{threshold:g})" if unknown else "-"
    return [
        {
            "state": name,
            **{
                key: None if key.startswith(hidden) or np.isnan(x[i]) else float(x[i])
                for key, x in columns.items()
            },
        }
        for i, name in enumerate(state_names)
    ]


def mass_rows(dist: ReturnDistribution, state_names: Sequence[str]) -> list[Row]:
    """Return one row per atom: the return, and its probability from each state."""
    table = dist.pmf.T
    return [
        {"return": float(x), **dict(zip(state_names, map(float, masses), strict=True))}
        for x, masses in zip(dist.grid.atoms, table, strict=True)
    ]


def sparkline(pmf: FloatArray, width: int = 16) -> str:
    """Return the shape of a distribution in a few characters, from lowest to highest return."""
    bins = np.arange(len(pmf)) * min(width, len(pmf)) // len(pmf)
    heights = np.bincount(bins, np.maximum(pmf, 0.0)) / np.bincount(bins)
    steps = np.ceil(heights / max(heights.max(), 1e-300) * (len(_BARS) - 1) - 1e-9)
    return "".join(_BARS[int(step)] for step in steps)


def rich_table(rows: Sequence[Row], *, zero_below: float = 0.0) -> Table:
    """Return rows as a table for the terminal: five digits, and 0 for what rounding left over.

    The ends of intervals stand under the figure that lies between them.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for key in figure_names(rows[0]):
        table.add_column(key, justify=side(rows, key), no_wrap=True)
    for row in rows:
        cells = (show(row[key], zero_below) for key in figure_names(row))
        ends = [between(row, key) for key in figure_names(row)]
        table.add_row(*(f"{x}\n{y}" if y else x for x, y in zip(cells, ends, strict=True)))
    return table


def as_markdown(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    keys = list(rows[0])
    lines = [keys, ["---:" if side(rows, key) == "right" else "---" for key in keys]]
    lines += [[show(value).replace("|", "\\|") for value in row.values()] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(rows: Sequence[Row]) -> str:
    """Return rows as a LaTeX tabular."""
    keys = list(rows[0])
    columns = "".join("r" if side(rows, key) == "right" else "l" for key in keys)
    lines = [[_escape(show(value)) for value in row.values()] for row in rows]
    body = [" & ".join(line) + r" \\" for line in [[_escape(key) for key in keys], *lines]]
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", body[0], r"\hline", *body[1:], r"\end{tabular}", ""]
    )


_LATEX = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "²": "$^2$",
    "−": "$-$",
}


def _escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def as_csv(rows: Sequence[Row]) -> str:
    """Return rows as CSV text, numbers in full precision.

    A text that spreadsheets would take for a formula gets an apostrophe before it; control
    characters are written out.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_harmless, rows[0]))
    writer.writerows([_harmless(row.get(name)) for name in rows[0]] for row in rows)
    return text.getvalue()


def _harmless(cell: str | float | None) -> str | float | None:
    if not isinstance(cell, str):
        return cell
    formula = cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell)
    return printable(f"'{cell}" if formula else cell)
