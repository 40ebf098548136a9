"""The rows of a table about an answer: a state each."""

from __future__ import annotations

from lincat._rows import Row
from lincat.inference.answer import Answer
from lincat.report.cautions import lost_mass
from lincat.report.tables import summary_rows


def answer_rows(
    answer: Answer, *, level: float | None = None, threshold: float | None = None
) -> list[Row]:
    """Return figures of each state with their intervals; level and threshold are the answer's own.

    Examples
    --------
    >>> from lincat import Answer, Grid
    >>> from lincat.report.answer_rows import answer_rows
    >>> answer = Answer(source="a coin", gamma=0.5, grid=Grid(0.0, 2.0, intervals=2),
    ...                 state_names=("start",), cdf=((0.5, 0.5),))
    >>> answer_rows(answer)[0]["mean"]
    1.0
    """
    return summary_rows(
        answer.returns,
        answer.state_names,
        level=answer.level if level is None else level,
        threshold=answer.threshold if threshold is None else threshold,
        lost=lost_mass(answer),
        interval=None if answer.intervals is None else answer.interval,
    )
