"""Rows of numbers about return distributions, and the tables drawn from them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "Row",
    "as_csv",
    "as_latex",
    "as_markdown",
    "html_table",
    "mass_rows",
    "rich_table",
    "sparkline",
    "summary_rows",
]

# A row of a table: its cells by the names of the columns, which all rows of a table share.
Row = Mapping[str, str | float | None]

_BARS = " ▁▂▃▄▅▆▇█"


def summary_rows(
    dist: ReturnDistribution,
    state_names: Sequence[str],
    *,
    level: float = 0.05,
    threshold: float | None = None,
    negative: bool = True,
    lost: bool = False,
) -> list[Row]:
    """Return a row per state: mean, standard deviation, quantiles, CVaR, chance below a threshold.

    The mean is that of the distribution as it is; where distributions are signed, everything else
    is of the nearest proper distribution, and a column says how much negative mass there is, unless
    ``negative`` leaves it out. Where mass fell off the grid and was moved to its ends (``lost``),
    nothing is said of a threshold outside.
    """
    proper = dist.proper()
    columns: dict[str, FloatArray] = {
        "mean": dist.mean(),
        "std": proper.std(),
        f"q{level:g}": proper.quantile(level),
        "median": proper.quantile(0.5),
        f"q{1 - level:g}": proper.quantile(1.0 - level),
        f"cvar{level:g}": proper.cvar(level),
    }
    if threshold is not None:
        columns[f"P(G<{threshold:g})"] = proper.probability_below(threshold)
    if negative and dist.negative_mass.max() > 1e-9:
        columns["negative"] = dist.negative_mass
    unknown = lost and threshold is not None and not dist.grid.low < threshold <= dist.grid.high
    hidden = f"P(G<{threshold:g})" if unknown else None
    return [
        {
            "state": name,
            **{key: None if key == hidden else float(x[i]) for key, x in columns.items()},
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
    """Return rows as a table for the terminal: five digits, and 0 for what rounding left over."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for key in rows[0]:
        table.add_column(key, justify=_side(rows, key), no_wrap=True)
    for row in rows:
        table.add_row(*(_show(value, zero_below) for value in row.values()))
    return table


def html_table(rows: Sequence[Row]) -> str:
    """Return rows as an HTML table, numbers to the right."""
    sides = [_side(rows, key) for key in rows[0]]

    def line(tag: str, texts: Sequence[str]) -> str:
        inner = (
            f'<{tag} class="{side}">{escape(text)}</{tag}>'
            for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(line("td", [_show(x) for x in row.values()]) for row in rows)
    head = line("th", list(rows[0]))
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def as_markdown(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    keys = list(rows[0])
    lines = [keys, ["---:" if _side(rows, key) == "right" else "---" for key in keys]]
    lines += [[_show(value).replace("|", "\\|") for value in row.values()] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(rows: Sequence[Row]) -> str:
    """Return rows as a LaTeX tabular."""
    keys = list(rows[0])
    columns = "".join("r" if _side(rows, key) == "right" else "l" for key in keys)
    lines = [[_escape(_show(value)) for value in row.values()] for row in rows]
    body = [" & ".join(line) + r" \\" for line in [[_escape(key) for key in keys], *lines]]
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", body[0], r"\hline", *body[1:], r"\end{tabular}", ""]
    )


def _side(rows: Sequence[Row], key: str) -> Literal["left", "right"]:
    """Numbers are set to the right, and so are columns of them with gaps."""
    kinds = {type(row[key]) for row in rows if row[key] is not None}
    return "right" if kinds and kinds <= {int, float} else "left"


def _show(value: Any, zero_below: float = 0.0) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{0.0 if abs(value) < zero_below else value:.5g}"


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
    """Return rows as CSV text, numbers in full precision."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
