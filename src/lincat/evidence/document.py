"""The measured sections of docs/theory.md, from rows; nothing is run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat.evidence.barrier import Mean
from lincat.evidence.looseness import Measured, fitted
from lincat.evidence.plans import CONFIDENCE, Reached
from lincat.evidence.tails import Tail
from lincat.report.tables import as_markdown
from lincat.theory.universal import UNIVERSAL


def with_section(page: str, name: str, section: str) -> str:
    """Return a page with what lies between the two marks of a section replaced."""
    begin, end = f"<!-- Begin {name}: make evidence -->", f"<!-- End {name} -->"
    before, first, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise fail("--write", f"a page with the marks {begin!r} and {end!r}", "none")
    return f"{before}{begin}\n\n{section}\n\n{end}{after}"


def bounds_section(catalog: Sequence[Measured], held_out: Sequence[Measured]) -> str:
    """Return the table of fitted constants and of how loose bounds are."""
    needed, rows = fitted(catalog), []
    for label, constant in UNIVERSAL.items():
        asked = np.array([row.ratio for row in held_out if row.label == label])
        rows.append(
            {
                "bound": f"`{label}`",
                "fitted": f"{needed[label]:g}",
                "in the library": f"{constant:g}",
                "largest held out": f"{asked.max():.2g}",
                "covers": f"{(asked <= constant).sum()} of {len(asked)}",
                "loose by, median": f"{constant / np.median(asked):.3g}",
                "loose by, at least": f"{constant / asked.max():.3g}",
            }
        )
    processes = len({row.process for row in catalog}), len({row.process for row in held_out})
    text = (
        f"Fitted on {processes[0]} processes, tried on {processes[1]} others; errors, or the "
        "numbers of transitions for them, after each of "
        f"{', '.join(f'{T:,}' for T in sorted({row.transitions for row in held_out}))} transitions."
    )
    return f"{text}\n\n{as_markdown(rows)}"


def barrier_section(found: dict[str, dict[str, Mean]]) -> str:
    """Return the table of mean squares over the least possible."""
    rows = []
    for name, means in found.items():
        steps = {key: mean for key, mean in means.items() if key.startswith("step ")}
        best = min(steps, key=lambda key: steps[key].mean)
        rows.append(
            {
                "process": name,
                "best constant step": f"{_shown(steps[best])} ({best.removeprefix('step ')})",
                "LinearCTD, auto": _shown(means["auto"]),
                "VarianceReducedCTD": _shown(means["VarianceReducedCTD"]),
                "CategoricalLSTD": _shown(means["CategoricalLSTD"]),
            }
        )
    return as_markdown(rows)


def barrier_rows(means: dict[str, Mean]) -> list[dict[str, Any]]:
    """Return one barrier as rows of the picture."""
    steps = {
        float(key.removeprefix("step ").removesuffix("/R")): mean
        for key, mean in means.items()
        if key.startswith("step ")
    }
    rows = [
        {"step": step, "ratio": mean.mean, "learner": "constant step"}
        for step, mean in steps.items()
    ]
    for name in ("VarianceReducedCTD", "CategoricalLSTD"):
        for step in (min(steps), max(steps)):
            rows.append({"step": step, "ratio": means[name].mean, "learner": name})
    return rows


def tails_section(found: Sequence[Tail]) -> str:
    """Return the quantiles of the squared error by delta."""
    rows = []
    for name in dict.fromkeys(tail.steps for tail in found):
        of = {tail.delta: tail for tail in found if tail.steps == name}
        row: dict[str, Any] = {"steps": f"`{name}`"}
        for delta, tail in of.items():
            row[f"{delta:g}"] = f"{tail.squared:.3g}"
        small, large = of[0.1], of[min(of)]
        grown = (large.squared - small.squared) / np.log(small.delta / large.delta)
        row["for each unit of log(1/delta)"] = f"{grown:.2f}"
        rows.append(row)
    return as_markdown(rows)


def tails_rows(found: Sequence[Tail]) -> list[dict[str, Any]]:
    """Return the same as rows of the picture."""
    return [
        {"log(1/delta)": -float(np.log(tail.delta)), "relative": tail.relative, "steps": tail.steps}
        for tail in found
    ]


def plans_section(found: Sequence[Reached], others: Sequence[Reached]) -> str:
    """Return the table of plans that were carried out."""
    rows = [
        {
            "process": row.process,
            "planned from": row.planned_from,
            "learner": row.learner,
            "transitions": f"{row.transitions:,}",
            "over the least": f"{row.transitions / row.least:.1f}",
            "reached": f"{row.share:.1%}",
            f"{CONFIDENCE:.0%} and within 10x": "yes" if row.holds else "NO",
        }
        for row in found
    ]
    held = sum(row.holds for row in found)
    runs = f"{found[0].runs} runs each: {held} of {len(found)} plans hold."
    reached = sum(row.share >= CONFIDENCE for row in others)
    most = max(others, key=lambda row: row.transitions / row.least)
    processes = len({row.process for row in others})
    beyond = (
        f"On {processes} random processes that no factor was chosen on, planned from samples, "
        f"{others[0].runs} runs each, {reached} of {len(others)} reached the target in "
        f"{CONFIDENCE:.0%} of runs; the number was at most {most.transitions / most.least:.1f} "
        f"times the least ({most.learner}, {most.process})."
    )
    return f"{runs}\n\n{as_markdown(rows)}\n{beyond}"


def _shown(mean: Mean) -> str:
    return f"{mean.mean:.2f} ± {mean.error:.2f}"
