"""Rows of numbers about return distributions, and the tables drawn from them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution

if TYPE_CHECKING:
    from rich.table import Table


# A row of a table: its cells by the names of the columns, which all rows of a table share.
Row = Mapping[str, str | float | None]

# What gives the ends of intervals, (low, high), each (n,), of a measure and its argument.
Interval = Callable[[str, float | None], tuple[FloatArray, FloatArray]]

#: What the columns with the ends of intervals are called, after the figure between them.
LOW, HIGH = "_low", "_high"

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
    proper = dist.proper()
    figures: list[tuple[str, FloatArray, str, float | None]] = [
        ("mean", dist.mean(), "mean", None),
        ("std", proper.std(), "std", None),
        (f"q{level:g}", proper.quantile(level), "quantile", level),
        ("median", proper.quantile(0.5), "quantile", 0.5),
        (f"q{1 - level:g}", proper.quantile(1.0 - level), "quantile", 1.0 - level),
        (f"cvar{level:g}", proper.cvar(level), "cvar", level),
    ]
    if threshold is not None:
        below = proper.probability_below(threshold)
        figures.append((f"P(G<{threshold:g})", below, "probability_below", threshold))
    columns: dict[str, FloatArray] = {}
    for name, values, measure, argument in figures:
        columns[name] = values
        if interval is not None:
            columns[name + LOW], columns[name + HIGH] = interval(measure, argument)
    if negative and dist.negative_mass.max() > 1e-9:
        columns["negative"] = dist.negative_mass
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
    for key in _figures(rows[0]):
        table.add_column(key, justify=_side(rows, key), no_wrap=True)
    for row in rows:
        cells = (_show(row[key], zero_below) for key in _figures(row))
        ends = [between(row, key) for key in _figures(row)]
        table.add_row(*(f"{x}\n{y}" if y else x for x, y in zip(cells, ends, strict=True)))
    return table


def html_table(rows: Sequence[Row]) -> str:
    """Return rows as an HTML table, numbers to the right, the ends of intervals behind them."""
    keys = _figures(rows[0])
    sides = [_side(rows, key) for key in keys]

    def line(tag: str, texts: Sequence[str]) -> str:
        inner = (
            f'<{tag} class="{side}">{escape(text)}</{tag}>'
            for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(
        line("td", [f"{_show(row[key])} {between(row, key)}".strip() for key in keys])
        for row in rows
    )
    head = line("th", keys)
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _figures(row: Row) -> list[str]:
    """The columns of a row that are not ends of intervals."""
    ends = {key + end for key in row for end in (LOW, HIGH)}
    return [key for key in row if key not in ends]


def between(row: Row, key: str) -> str:
    """Return the interval of a figure as text: "± 0.3", or "0.1 – 0.4" where it leans to a side.

    Examples
    --------
    >>> from lincat.report.tables import between
    >>> between({"mean": 2.0, "mean_low": 1.75, "mean_high": 2.25}, "mean")
    '± 0.25'
    >>> between({"std": 2.0, "std_low": 1.5, "std_high": 2.25}, "std")
    '1.50 – 2.25'
    """
    value, low, high = (row.get(key + end) for end in ("", LOW, HIGH))
    if not isinstance(value, float) or not isinstance(low, float) or not isinstance(high, float):
        return ""
    width = high - low
    if width <= 0.0:
        return ""
    places = min(max(0, 2 - math.ceil(math.log10(width))), 12)
    if abs(low + high - 2.0 * value) <= 0.05 * width:
        return f"± {width / 2.0:.{places}f}"
    return f"{low:.{places}f} – {high:.{places}f}"


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
