"""From rows to what is claimed: how many cells are right, silently wrong, and how the rivals do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lincat.truth.run import OURS, Row

_LEAST_W1 = 0.01  # sd; less is as good as this, since the truth is known no better


@dataclass(frozen=True)
class W1Ratios:
    """W1, averaged over the probes, over that of the best rival on the same rows."""

    mean: float  # geometric, over cells
    worst: float  # of a problem: geometric mean over its seeds
    worst_problem: str


@dataclass(frozen=True)
class Summary:
    """What became of the cells of one size, or of all."""

    cells: int
    right: int
    strictly_right: int  # without allowance for sampling error
    flagged: int
    silently_wrong: int
    false_alarms: int  # right, and yet flagged
    right_by_skill: int  # right, with enough rows that it was not luck: what alarms are a share of
    ratios: W1Ratios | None


def summarise(rows: Sequence[Row], rivals: Sequence[Row]) -> Summary:
    """Count the rows of one method, and compare them with the rivals' on the same logs.

    Alarms about cells that are right by luck (a sampling error is above its bar) are not false.
    """
    skilled = [row for row in rows if row.right_by_skill]
    return Summary(
        cells=len(rows),
        right=sum(row.right for row in rows),
        strictly_right=sum(row.strictly_right for row in rows),
        flagged=sum(row.flagged for row in rows),
        silently_wrong=sum(row.silently_wrong for row in rows),
        false_alarms=sum(row.flagged for row in skilled),
        right_by_skill=len(skilled),
        ratios=w1_ratios(rows, rivals),
    )


def best_rival(row: Row, rivals: Sequence[Row]) -> Row | None:
    """Return the rival with the least mean W1 on the rows of this cell, if any was run."""
    same = [
        rival
        for rival in rivals
        if (rival.problem, rival.rows, rival.seed) == (row.problem, row.rows, row.seed)
        and rival.method != OURS
        and rival.mean_w1 is not None
    ]
    return min(same, key=_w1) if same else None


def w1_ratios(rows: Sequence[Row], rivals: Sequence[Row]) -> W1Ratios | None:
    """Return how W1 compares with that of the best rival; cells without figures are left out."""
    by_problem: dict[str, list[float]] = {}
    for row in rows:
        rival = best_rival(row, rivals)
        if rival is not None and row.mean_w1 is not None:
            by_problem.setdefault(row.problem, []).append(math.log(_w1(row) / _w1(rival)))
    if not by_problem:
        return None
    logs = [value for values in by_problem.values() for value in values]
    means = {problem: sum(values) / len(values) for problem, values in by_problem.items()}
    worst = max(means, key=lambda problem: means[problem])
    return W1Ratios(math.exp(sum(logs) / len(logs)), math.exp(means[worst]), worst)


def _w1(row: Row) -> float:
    return max(_LEAST_W1, math.inf if row.mean_w1 is None else row.mean_w1)
