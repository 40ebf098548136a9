"""Comparisons in words, tables and a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from lincat._rows import Row, html_table
from lincat.inference.comparison import Comparison, Difference, Dominance
from lincat.report.numbers import show_given, show_level
from lincat.report.sentences import place
from lincat.report.shell import section

_WIDTH, _ROW, _LEFT, _MARGIN = 440.0, 26.0, 150.0, 14.0  # of the picture
_MOST_NAME = 20  # characters
_PICTURES = ("mean", "cvar")


def certainty_sentence(found: Comparison) -> str:
    """Return what the first state says of mean, tail and dominance, with its certainty.

    Examples
    --------
    >>> import lincat
    >>> from lincat.report.differences import certainty_sentence
    >>> grid = lincat.Grid(0.0, 10.0, intervals=2)
    >>> sides = [lincat.ReturnDistribution(cdf, grid) for cdf in ([0.4, 0.4], [0.0, 1.0])]
    >>> certainty_sentence(lincat.compare(*sides, names=("bold", "careful")))
    'How certain the difference of runs bold and careful is, is not known.'
    """
    if found.failed:
        return ""
    state = found.states[0]
    mean, tail = state["mean"], state["cvar"]
    if mean.low is None or tail.low is None:
        return f"How certain the difference of runs {found.a} and {found.b} is, is not known."
    sure = show_level(found.confidence)
    level = show_level(tail.argument or 0.0)
    words = [
        f"From {place(state.state)} {_told(found, mean, 'the means', sure)}; "
        f"{_told(found, tail, f'the averages over the worst {level} of runs', sure)}."
    ]
    winner = _winner(found, state.first_order) or _winner(found, state.second_order)
    if winner:
        kind = "at every return" if _winner(found, state.first_order) else "in shortfalls"
        words.append(f"Run {winner} is at least as good {kind} (stochastic dominance).")
    return " ".join(words)


def difference_rows(comparisons: Sequence[Comparison], *, named: bool = True) -> list[Row]:
    """Return a row per state and pair: differences with their intervals, and who dominates.

    ``named`` has a column that says of what to what.
    """
    rows: list[Row] = []
    for i in range(len(comparisons[0].states) if comparisons else 0):
        for found in comparisons:
            state = found.states[i]
            cells: dict[str, str | float | None] = {"state": state.state}
            if named:
                cells["difference"] = f"{found.a} − {found.b}"
            cells["dominance"] = _dominance(found, state.first_order, state.second_order)
            cells |= {_heading(one): _cell(one) for one in state.differences}
            rows.append(cells)
    return rows


def differences_section(comparisons: Sequence[Comparison]) -> str:
    """Return the section of a page; nothing where nothing was compared."""
    several = len(comparisons) > 1
    rows = difference_rows(comparisons, named=several)
    if not rows:
        return ""
    found = comparisons[0]
    heading = "Differences" if several else f"Differences, {found.a} − {found.b}"
    sure = show_level(found.confidence)
    shared = [each.paired for each in comparisons]
    same = "the same rows, so that errors they share cancel"
    where = same if all(shared) else "rows of their own"
    if any(shared) and not all(shared):
        where = f"rows of their own, or {same}"
    note = (
        f"In brackets, intervals that hold each difference with {sure}: sampling error, not that "
        f"of features or grid. Learned from {where}. One dominates where its chance to end below "
        "a return is nowhere larger than the other's, by 0.01 at most; in shortfalls, where that "
        "holds of the expected shortfall below any return."
    )
    pictures = "".join(
        f"<div><h3>{escape(_title(found, figure))}</h3>{_picture(comparisons, figure)}</div>"
        for figure in _PICTURES
        if all(one[figure].low is not None for each in comparisons for one in each.states)
    )
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table of differences">'
    table = f"{scroll}{html_table(rows)}</div>"
    grids = f'<div class="grids">{pictures}</div>' if pictures else ""
    return section(heading, grids, table, note=escape(note), name="differences-section")


def _told(found: Comparison, one: Difference, what: str, sure: str) -> str:
    low, high = (_number(end or 0.0, _width(one)) for end in (one.low, one.high))
    if not one.clear:
        between = f"{found.a} − {found.b} is between {low} and {high} with {sure}"
        return f"{what} cannot be told apart ({between})"
    better = found.a if one.difference > 0.0 else found.b
    ends = sorted((abs(one.low or 0.0), abs(one.high or 0.0)))
    by = " to ".join(_number(end, _width(one)) for end in ends)
    return f"{what} differ, run {better} is higher by {by} ({sure})"


def _winner(found: Comparison, dominance: Dominance) -> str:
    return {"A dominates": found.a, "B dominates": found.b}.get(dominance.verdict, "")


def _dominance(found: Comparison, first: Dominance, second: Dominance) -> str:
    if _winner(found, first):
        return f"{_winner(found, first)} dominates"
    if _winner(found, second):
        return f"{_winner(found, second)} dominates in shortfalls"
    return "not shown"


def _heading(one: Difference) -> str:
    names = {"mean": "mean", "quantile": "q", "cvar": "cvar"}
    if one.figure == "probability_below":
        return f"P(G<{one.argument:g})"
    return names[one.figure] + ("" if one.argument is None else f"{one.argument:g}")


def _cell(one: Difference) -> str:
    width = _width(one)
    shown = _number(one.difference, width)
    if one.low is None or one.high is None:
        return shown
    return f"{shown} [{_number(one.low, width)}, {_number(one.high, width)}]"


def _number(value: float, width: float) -> str:
    """A number to a few hundredths of the width of its interval, at most."""
    if width <= 0.0:
        return show_given(float(f"{value:.3g}"))
    return show_given(round(value, 1 - math.floor(math.log10(width))) + 0.0)


def _width(one: Difference) -> float:
    return 0.0 if one.low is None or one.high is None else one.high - one.low


def _title(found: Comparison, figure: str) -> str:
    if figure == "mean":
        return "Difference of means"
    level = found.states[0][figure].argument or 0.0
    return f"Difference of the means of the worst {show_level(level)}"


def _picture(comparisons: Sequence[Comparison], figure: str) -> str:
    """A dot and its interval for each state and pair, beside a line where nothing differs."""
    lines = [(found, state) for state in range(len(comparisons[0].states)) for found in comparisons]
    values = [found.states[i][figure] for found, i in lines]
    low = min(0.0, *(one.low or 0.0 for one in values))
    high = max(0.0, *(one.high or 0.0 for one in values))
    scale = (_WIDTH - _LEFT - 2 * _MARGIN) / ((high - low) or 1.0)

    def x(value: float) -> float:
        return _LEFT + _MARGIN + (value - low) * scale

    height = _ROW * len(lines) + 24.0
    parts = [
        f'<line class="base" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{height - 20:.1f}"/>',
        f'<text x="{x(0):.1f}" y="{height - 6:.1f}" text-anchor="middle">0</text>',
    ]
    for end in (low, high):
        if abs(x(end) - x(0)) > 40.0:
            parts.append(
                f'<text x="{x(end):.1f}" y="{height - 6:.1f}" text-anchor="middle">'
                f"{_number(end, high - low)}</text>"
            )
    for row, ((found, i), one) in enumerate(zip(lines, values, strict=True)):
        y = _ROW * (row + 0.5)
        pair = f" ({found.b})" if len(comparisons) > 1 else ""
        name = found.states[i].state + pair
        short = name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 1] + "…"
        told = f"{name}: {_cell(one)}"
        parts.append(
            f'<g class="series c{0 if one.clear else 5}"><title>{escape(told)}</title>'
            f'<text class="ridge-name" x="0" y="{y + 4:.1f}">{escape(short)}</text>'
            f'<line class="line" x1="{x(one.low or 0.0):.1f}" x2="{x(one.high or 0.0):.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle class="dot" cx="{x(one.difference):.1f}" cy="{y:.1f}" r="4.5"/></g>'
        )
    label = escape(_title(comparisons[0], figure))
    return (
        f'<div class="chart"><svg role="img" aria-label="{label}" '
        f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}">{"".join(parts)}</svg></div>'
    )
