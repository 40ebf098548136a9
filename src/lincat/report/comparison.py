"""The page that lays several runs over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from lincat._arguments import check_levels, check_number, fail
from lincat.core.distribution import ReturnDistribution
from lincat.report.curves import curve_of
from lincat.report.numbers import show_share, visible_range
from lincat.report.page import html_table
from lincat.report.pieces import (
    calibration,
    configuration,
    controls,
    distributions_sections,
    learning_curves,
    shown_states,
    warnings_box,
)
from lincat.report.sentences import comparison_sentence
from lincat.report.shell import interactive_page, prose
from lincat.report.tables import summary_rows

__all__ = ["ComparedRun", "comparison_page"]

_MOST_RUNS = 24


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """One of the runs that a comparison lays over each other."""

    name: str
    dist: ReturnDistribution  # one distribution per common state
    description: str = ""
    # Rows {"transitions", "state", "mean", "cvar"}, as an evaluation has them.
    curves: Sequence[Mapping[str, Any]] = ()
    validation: Mapping[str, Any] | None = None  # {"kind", "rows"}
    warnings: Sequence[str] = field(default_factory=tuple)


def comparison_page(
    runs: Sequence[ComparedRun],
    names: Sequence[str],
    *,
    title: str = "Runs compared",
    level: float = 0.05,
    threshold: float | None = None,
    command: str = "",
    versions: Mapping[str, str] | None = None,
) -> str:
    """Return the page of several runs on common states; grids may differ.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.report.comparison import ComparedRun, comparison_page
    >>> grid = Grid(0.0, 10.0, intervals=2)
    >>> one = ComparedRun(name="one", dist=ReturnDistribution([0.4, 0.5], grid))
    >>> two = ComparedRun(name="two", dist=ReturnDistribution([0.1, 0.9], grid))
    >>> "run one has the highest mean return" in comparison_page([one, two], ["start"])
    True
    """
    if not 2 <= len(runs) <= _MOST_RUNS:
        raise fail("runs", f"2 to {_MOST_RUNS} runs", len(runs))
    for run in runs:
        if len(run.dist) != len(names):
            raise fail(
                f"run {run.name}", f"{len(names)} distributions, one per state", len(run.dist)
            )
    check_levels(level, "level", zero=False)
    if threshold is not None:
        check_number(threshold, "threshold")
    labels, distributions = [run.name for run in runs], [run.dist for run in runs]
    shown = shown_states(len(names))
    data = _data(runs, names, shown, level, threshold)
    sentence = comparison_sentence(labels, distributions, names[0], level=level)
    static = [
        {"state": names[i], "run": run.name, **_without_state(run.dist, i, level)}
        for i in shown
        for run in runs
    ]
    notes = [
        f"<strong>{escape(run.name)}</strong>: {escape(run.description)}"
        for run in runs
        if run.description
    ]
    body = [
        '<header><p class="eyebrow">Return distributions, compared with lincat</p>',
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{prose(sentence)}</p>',
        f'<p class="trust">{"; ".join(notes)}.</p>' if notes else "",
        "</header><main>",
        warnings_box(_warnings(runs)),
        controls("Runs", facets=len(shown) > 1),
        *distributions_sections("run", static=html_table(static), confidence=None),
        learning_curves(data, level),
    ]
    if data["validation"] is not None:
        kinds = dict.fromkeys(
            str(run.validation.get("kind") or "fresh returns") for run in runs if run.validation
        )
        body.append(calibration(data["validation"], {"kind": "; ".join(kinds)}))
    body.append(configuration("", command, versions or {}))
    body.append("</main>")
    return interactive_page(title, "\n".join(body), data)


def _data(
    runs: Sequence[ComparedRun],
    names: Sequence[str],
    shown: list[int],
    level: float,
    threshold: float | None,
) -> dict[str, Any]:
    propers = [run.dist.proper() for run in runs]
    means = [run.dist.mean() for run in runs]
    distributions = [
        [
            {
                "low": run.dist.grid.low,
                "high": run.dist.grid.high,
                "mean": mean[i],
                "cdf": proper.cdf_values[i],
            }
            for run, proper, mean in zip(runs, propers, means, strict=True)
        ]
        for i in shown
    ]
    curves = [[curve_of(run.curves, str(names[i])) for run in runs] for i in shown]
    rows = [
        {"run": run.name, **row}
        for run in runs
        for row in (run.validation["rows"] if run.validation else ())
    ]
    return {
        "series": [{"name": run.name, "note": run.description} for run in runs],
        "facets": [str(names[i]) for i in shown],
        "chosen": list(range(len(runs))),
        "distributions": distributions,
        "range": visible_range(*(run.dist[shown] for run in runs)),
        "level": level,
        "threshold": threshold,
        "curves": curves if any(curve for facet in curves for curve in facet) else None,
        "ticks": None,
        "validation": {"rows": rows, "pit": {}, "comparison": {}} if rows else None,
    }


def _without_state(dist: ReturnDistribution, i: int, level: float) -> dict[str, Any]:
    row = summary_rows(dist[[i]], [""], level=level)[0]
    return {key: value for key, value in row.items() if key not in ("state", "negative")}


def _warnings(runs: Sequence[ComparedRun]) -> list[str]:
    texts = [f"{run.name}: {text}" for run in runs for text in run.warnings]
    for run in runs:
        negative = float(run.dist.negative_mass.max())
        if negative > 1e-3:
            texts.append(f"{run.name}: up to {show_share(negative)} of negative mass.")
    return texts
