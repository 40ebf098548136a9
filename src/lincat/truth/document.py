"""docs/truth.md, from rows; nothing is run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lincat.report.tables import as_markdown
from lincat.truth.analysis import Summary, best_rival, summarise
from lincat.truth.previous import Previous, previous
from lincat.truth.problems import problem_named
from lincat.truth.run import OURS, Row
from lincat.truth.settings import BARS, Settings

_INTRO = f"""# Against known truth

This page was written by `make truth`; do not edit it. Each problem can be simulated, so that the
distribution of the return from each of its states is known. lincat gets a log, or the name of an
environment, and gamma; nothing else is said. Its figures for some starting and typical states are
compared with the truth; ids that a log does not show are left out.

Errors are those at the worst state, in true standard deviations of the return from that state (at
least a tenth of that from all states together). A cell is *right* if the standard deviation is
within {BARS.std:g}, the 5 % quantile and CVaR within {BARS.quantile:g} and W1, of distributions
that are not projected onto any grid, within {BARS.w1:g}, each plus twice its sampling error. That
is the error of as many independent returns from the state (*returns* below, at the worst state) as
tell as much of its mean as the rows do by an efficient estimate: (1 − gamma)/(1 + gamma) a row
where nothing ends and all states are much alike. It is fair for the mean and generous for spread
and shape, of which every row speaks; *strictly right* is without this allowance. A cell is
*flagged* if `run.trusted` is False, or if lincat refused to answer; *silently wrong* if it is
neither right nor flagged. A *false alarm* is a flagged cell that is right, and not by luck: the
sampling error of each figure, as above, is below its bar.

The rivals, on as many rows: *neighbours* takes the returns that followed the same id or the √n
nearest observations; *boosting* regresses quantiles of the returns on the observation
(scikit-learn's histogram gradient boosting). The W1 ratio is ours, averaged over states, to that of
the better one; less than 0.01 counts as 0.01. *Previous* is release"""

_ELECTRICITY = """What is true of `examples/electricity.py` is not known, and it changes: learned
from hours until 2022, scored on all returns of 2023 and 2024 together. Not counted above.
"""


def as_document(rows: Sequence[Row], settings: Settings, held_out: Sequence[Row] = ()) -> str:
    """Return the page about these rows, as Markdown, and about those of the electricity example."""
    past = previous()
    ours = [row for row in rows if row.method == OURS]
    rivals = [row for row in rows if row.method != OURS]
    parts = [
        f"{_INTRO} {past.release}, with seed 0: `{past.command}`.\n",
        f"Seeds here: {', '.join(map(str, settings.seeds))}.\n",
    ]
    if ours:
        parts += ["## Summary\n", _summary_table(ours, rivals, past, settings)]
    parts.append("## Problems\n")
    parts.append(_problem_table(settings))
    for size in settings.sizes:
        at_size = [row for row in rows if row.rows == size]
        if at_size:
            parts += [f"## {size:,} rows\n", _cell_table(at_size, past)]
    if held_out:
        parts += ["## Electricity\n", _ELECTRICITY, _method_table(held_out)]
    return "\n".join(parts)


def _summary_table(
    ours: Sequence[Row], rivals: Sequence[Row], past: Previous, settings: Settings
) -> str:
    lines = []
    for size in (*settings.sizes, None):
        name = "all" if size is None else f"{size:,}"
        sizes = settings.sizes if size is None else (size,)
        for method, rows in ((OURS, ours), ("previous", past.rows), *_by_method(rivals)):
            chosen = [r for r in rows if r.rows in sizes and r.problem in settings.problems]
            if chosen:
                lines.append(_summary_line(name, method, summarise(chosen, rivals)))
    return as_markdown(lines)


def _by_method(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    methods = dict.fromkeys(row.method for row in rows)
    return [(method, [row for row in rows if row.method == method]) for method in methods]


def _summary_line(size: str, method: str, found: Summary) -> dict[str, Any]:
    def share(count: int, of: int) -> str:
        return f"{count / of:.0%} ({count}/{of})" if of else "-"

    ratios = found.ratios
    return {
        "rows": size,
        "method": method,
        "right": share(found.right, found.cells),
        "strictly right": share(found.strictly_right, found.cells),
        "flagged": str(found.flagged),
        "silently wrong": share(found.silently_wrong, found.cells),
        "false alarms": share(found.false_alarms, found.right_by_skill),
        "W1 ratio": "-" if ratios is None else f"{ratios.mean:.2f}",
        "worst problem": "-" if ratios is None else f"{ratios.worst_problem} {ratios.worst:.2f}",
    }


def _problem_table(settings: Settings) -> str:
    problems = [problem_named(name) for name in settings.problems]
    return as_markdown(
        [{"problem": p.name, "gamma": f"{p.gamma:g}", "what": p.note} for p in problems]
    )


def _cell_table(rows: Sequence[Row], past: Previous) -> str:
    lines = []
    for row in rows:
        if row.method != OURS:
            continue
        before = [
            r for r in past.rows if (r.problem, r.rows, r.seed) == (row.problem, row.rows, row.seed)
        ]
        rival = best_rival(row, rows)
        lines.append(
            {
                "problem": row.problem,
                "seed": str(row.seed),
                "returns": f"{row.returns:,.0f}",
                "std ratio": _number(row.std_ratio),
                "5 % quantile": _number(row.quantile),
                "CVaR": _number(row.cvar),
                "W1": _number(row.w1),
                "outcome": _outcome(row),
                "previous: std ratio": _number(before[0].std_ratio) if before else "-",
                "W1 ": _number(before[0].w1) if before else "-",
                "outcome ": _outcome(before[0]) if before else "-",
                "best rival": "-" if rival is None else rival.method,
                "W1  ": "-" if rival is None else _number(rival.w1),
                "right": "-" if rival is None else "yes" if rival.right else "no",
                "seconds": f"{row.seconds:.1f}",
            }
        )
    return as_markdown(lines) if lines else ""


def _method_table(rows: Sequence[Row]) -> str:
    return as_markdown(
        [
            {
                "rows": f"{row.rows:,}",
                "method": row.method,
                "std ratio": _number(row.std_ratio),
                "5 % quantile": _number(row.quantile),
                "CVaR": _number(row.cvar),
                "W1": _number(row.w1),
                "outcome": _outcome(row),
            }
            for row in rows
        ]
    )


def _outcome(row: Row) -> str:
    if row.refused:
        return "refused"
    judged = "strictly right" if row.strictly_right else "right" if row.right else "wrong"
    return f"{judged}, flagged" if row.flagged else f"**{judged}**" if not row.right else judged


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
