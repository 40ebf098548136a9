"""The section of docs/learners.md on step sizes, from rows; nothing is run here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat.report.tables import as_markdown
from lincat.tuning.run import Row
from lincat.tuning.settings import KINDS, STEPS, Bars, Settings

__all__ = ["as_section", "holds", "with_section"]

_BARS = Bars()
_BEGIN = "<!-- From here to the end mark written by make tuning; do not edit. -->"
_END = "<!-- End of what make tuning writes. -->"


def as_section(rows: Sequence[Row], settings: Settings) -> str:
    """Return the section about these rows, as Markdown."""
    auto, warm = (_ratios(rows, by) for by in (_auto, _warm))
    verdict = "holds" if holds(rows) else "does not hold"
    best = max(range(len(STEPS)), key=lambda i: _near(_ratios(rows, _constant(i))))
    alone = _ratios(rows, _constant(best))
    lengths = ", ".join(f"{x.runs} of {x.transitions:,} transitions" for x in settings.lengths)
    return f"""{len(rows)} cells: {settings.processes} random processes, independent transitions and
walks, {len(settings.lengths)} lengths ({lengths}). Each number is the error of `"auto"` over that of
the best of {len(STEPS)} constant steps (1/R down to 1/({1 / STEPS[-1]:.0f} R)) in the same cell, with
the same average: the ℓ2,mu distance to the exact fixed point, root mean square over the runs.
*Warm* starts from the batch solution of the first 1,000 transitions, the constant steps and *cold*
from the uniform distribution. The bar, within {_BARS.near:g}x in {_BARS.share:.0%} of the cells and
{_BARS.worst:g}x in all, {verdict}: cold {_near(auto):.1%} and {auto.max():.2f}x, warm
{_near(warm):.1%} and {warm.max():.2f}x; {_diverged(rows)}. No constant step does for all: the best of
them, {STEPS[best]:g}/R, is within {_BARS.near:g}x in {_near(alone):.0%}, and {_times(alone.max())} off
at worst.

{as_markdown([_line(name, [row for row in rows if test(row)]) for name, test in _groups(rows)])}
`make tuning` (`python -m lincat.tuning`) made this table, on processes that no choice was made on."""


def holds(rows: Sequence[Row]) -> bool:
    """Whether the bar holds, from the uniform distribution."""
    ratios = _ratios(rows, _auto)
    return bool(_near(ratios) >= _BARS.share and ratios.max() <= _BARS.worst)


def with_section(page: str, section: str) -> str:
    """Return a page with what lies between its two marks replaced."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise fail("--write", f"a page with the marks {_BEGIN!r} and {_END!r}", "none")
    return f"{before}{_BEGIN}\n\n{section}\n\n{_END}{after}"


# ----------------------------------------------------------------------------------------- numbers


def _auto(row: Row) -> float | None:
    return row.auto


def _warm(row: Row) -> float | None:
    return row.warm


def _constant(number: int) -> Callable[[Row], float | None]:
    return lambda row: row.constant[number]


def _ratios(rows: Sequence[Row], by: Callable[[Row], float | None]) -> Any:
    return np.array([row.ratio(by(row)) for row in rows])


def _near(ratios: Any) -> float:
    return float((ratios <= _BARS.near).mean())


def _times(ratio: float) -> str:
    return f"{ratio:.0f}x" if np.isfinite(ratio) else "without bound"


def _diverged(rows: Sequence[Row]) -> str:
    count = sum(row.auto is None or row.warm is None for row in rows)
    return f"{count} of them diverged" if count else "none diverged"


def _groups(rows: Sequence[Row]) -> list[tuple[str, Callable[[Row], bool]]]:
    """What the table has a line for: all cells, and parts of them."""
    lengths = sorted({row.transitions for row in rows})
    gammas = sorted({row.gamma for row in rows})
    return [
        ("all", lambda row: True),
        *((kind, lambda row, kind=kind: row.kind == kind) for kind in KINDS),
        *((f"{n:,} transitions", lambda row, n=n: row.transitions == n) for n in lengths),
        *((name, lambda row, name=name: name == row.features) for name in _seen(rows, "features")),
        *((name, lambda row, name=name: name == row.process) for name in _seen(rows, "process")),
        *((f"gamma {gamma:g}", lambda row, gamma=gamma: row.gamma == gamma) for gamma in gammas),
    ]


def _seen(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(getattr(row, name) for row in rows))


def _line(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    line: dict[str, Any] = {"cells": name, "number": len(rows)}
    for start, by in (("cold", _auto), ("warm", _warm)):
        ratios = _ratios(rows, by)
        line[f"{start}: within {_BARS.near:g}x"] = f"{_near(ratios):.0%}"
        line[f"{start}: typical"] = f"{np.exp(np.log(ratios).mean()):.2f}"
        line[f"{start}: worst"] = f"{ratios.max():.2f}"
    steps = [row.best_step for row in rows]
    line["best constant step, times R"] = f"{min(steps):g} to {max(steps):g}"
    return line
