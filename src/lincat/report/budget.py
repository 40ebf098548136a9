"""The error budget as a section of the page: a picture and a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from lincat._rows import Row, html_table
from lincat.inference.budget import WORDS, Budget, Part
from lincat.report.shell import prose, section

_WIDTH, _ROW, _LEFT, _RIGHT = 640.0, 28.0, 160.0, 60.0  # of the picture


def budget_rows(budget: Budget) -> list[Row]:
    """Return a row per part, the largest first."""
    return [
        {
            "source of error": WORDS[part.code],
            "size": None if part.size is None else round(part.size, 4),
            "what was looked at": part.text,
            "what helps": part.remedy,
        }
        for part in _sorted(budget)
    ]


def budget_section(budget: Budget | None) -> str:
    """Return the section; nothing where there is no budget."""
    if budget is None or not budget.parts:
        return ""
    note = (
        f"{prose(budget.sentence)} Sizes are in standard deviations of the return, so that what "
        "differs in kind can be compared; they need not add up."
    )
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table of errors">'
    table = f"{scroll}{html_table(budget_rows(budget))}</div>"
    parts = [_picture(_sorted(budget), budget.next), table]
    if budget.extrapolated:
        figures: list[Row] = [
            {"state": one.state, "standard deviation": one.std, "CVaR": one.cvar}
            for one in budget.extrapolated
        ]
        parts.append(
            "<details><summary>Figures extrapolated to a grid without end</summary>"
            f"{html_table(figures)}</details>"
        )
    return section("What to spend on next", *parts, note=note, kind="budget", name="budget-section")


def _sorted(budget: Budget) -> list[Part]:
    return sorted(budget.parts, key=lambda part: -1.0 if part.size is None else -part.size - 1.0)


def _picture(parts: Sequence[Part], chosen: str) -> str:
    """A bar for each part that is known; the one to spend on stands out."""
    known = [part for part in parts if part.size is not None]
    most = max([part.size or 0.0 for part in known], default=0.0) or 1.0
    height = _ROW * len(known)
    bars = []
    for row, part in enumerate(known):
        y, size = _ROW * row, part.size or 0.0
        width = max((_WIDTH - _LEFT - _RIGHT) * size / most, 1.0)
        kind = "c1" if part.code == chosen else "c0"
        bars.append(
            f'<g class="series {kind}"><title>{escape(part.text)}</title>'
            f'<text class="ridge-name" x="0" y="{y + 18:.0f}">{WORDS[part.code]}</text>'
            f'<rect class="error-bar" x="{_LEFT:.0f}" y="{y + 5:.0f}" width="{width:.1f}" '
            f'height="18" rx="2"/>'
            f'<text x="{_LEFT + width + 6:.1f}" y="{y + 18:.0f}">{round(size, 4):.2g}</text></g>'
        )
    return (
        '<div class="chart narrow"><svg role="img" aria-label="Errors in standard deviations" '
        f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}">{"".join(bars)}</svg></div>'
    )
