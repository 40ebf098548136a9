"""The summary of an answer in one table of text, in the manner of statistics packages."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from lincat._rows import Row, html_table, text_table
from lincat._text import as_arguments
from lincat.inference.answer import Answer
from lincat.report.cautions import cautions

_WIDTH = 78


@dataclass(frozen=True, repr=False)
class RunSummary:
    """A summary: print it, or leave it as the last line of a notebook's cell.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What was learned, and from what.
    rows : tuple of Row
        A state each, with figures and the ends of their intervals.
    remarks : tuple of str
        The verdict first, then intervals and warnings.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]

    def as_text(self) -> str:
        """Return it as lines of text."""
        table = text_table(self.rows)
        width = max(_WIDTH, *(len(line) for line in table.splitlines()))
        half = -(-len(self.facts) // 2)
        cells = [f"{name + ':':<14}{value}" for name, value in self.facts]
        cells += [""] * (2 * half - len(cells))
        column = max(len(cell) for cell in cells[:half]) + 3
        facts = [
            f"{left:<{column}}{right}".rstrip()
            for left, right in zip(cells[:half], cells[half:], strict=True)
        ]
        said = [textwrap.fill(text, width, subsequent_indent="  ") for text in self.remarks]
        thick, thin = "=" * width, "-" * width
        head = self.title.center(width).rstrip()
        return "\n".join([head, thick, *facts, thin, table, thick, *said])

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.facts
        )
        said = "".join(f"<p>{escape(text)}</p>" for text in self.remarks)
        return (
            f"<div><h4>{escape(self.title)}</h4><table>{facts}</table>{html_table(self.rows)}"
            f"{said}</div>"
        )

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__


def summary_of_answer(answer: Answer, place: str, rows: Sequence[Row]) -> RunSummary:
    """Return the summary of an answer, whose figures are in ``rows``; ``place`` is its folder.

    Examples
    --------
    >>> from lincat import Answer, Grid
    >>> from lincat.report.summary import summary_of_answer
    >>> answer = Answer(source="a coin", gamma=0.5, grid=Grid(0.0, 2.0, intervals=2),
    ...                 state_names=("start",), cdf=((0.5, 0.5),), transitions=1000)
    >>> print(summary_of_answer(answer, "runs/coin", [{"state": "start", "mean": 1.0}]))
                                 Return distributions
    ==============================================================================
    Source:       a coin      Grid:         0 to 2, 2 intervals
    Gamma:        0.5         Trusted:      not checked
    Transitions:  1,000       Folder:       runs/coin
    ------------------------------------------------------------------------------
    state  mean
    start     1
    ==============================================================================
    Not checked.
    """
    grid = answer.grid
    trusted = {True: "yes", False: "no", None: "not checked"}[answer.verdict.trusted]
    facts = [
        ("Source", answer.source),
        ("Gamma", f"{answer.gamma:g}"),
        ("Transitions", f"{answer.transitions:,}"),
        ("Learner", answer.learner),
        ("Grid", f"{grid.low:g} to {grid.high:g}, {grid.intervals} intervals"),
        ("Trusted", trusted),
        ("Folder", place),
    ]
    remarks = [answer.verdict.sentence]
    if answer.intervals is not None:
        remarks.append(f"Intervals behind figures hold at {answer.intervals.confidence:.0%}.")
    elif answer.no_intervals:
        remarks.append(answer.no_intervals)
    if answer.features:
        remarks.append(f"Features: {answer.features}")
    remarks += [f"Warning: {caution.text}" for caution in cautions(answer)]
    return RunSummary(
        "Return distributions",
        tuple((name, value) for name, value in facts if value),
        tuple(rows),
        tuple(map(as_arguments, remarks)),
    )
