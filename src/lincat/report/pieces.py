"""The sections that the pages of evaluations and comparisons are made of, as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from lincat.report.numbers import show_level
from lincat.report.sentences import coverage_levels
from lincat.report.shell import figure, legend, prose, section

__all__ = [
    "calibration",
    "configuration",
    "controls",
    "distributions_sections",
    "learning_curves",
    "shown_states",
    "warnings_box",
]

_MOST_STATES = 24
_LEVEL = '<span data-text="level"></span>'


def shown_states(n: int) -> list[int]:
    """Return at most 24 of n states, evenly spread, the first among them."""
    return [int(i) for i in np.unique(np.linspace(0, n - 1, min(n, _MOST_STATES)).round())]


def warnings_box(warnings: Sequence[str]) -> str:
    """Return the warnings, or nothing where there are none."""
    if not warnings:
        return ""
    items = "".join(f"<li>{prose(text)}</li>" for text in warnings)
    heading = "Mind this" if len(warnings) == 1 else f"Mind these {len(warnings)} things"
    return section(heading, f"<ul>{items}</ul>", kind="warnings", name="warnings")


def controls(series: str, *, total: int = 0, shown: int = 0, facets: bool = False) -> str:
    """Return the chips that choose, and the bar with the level and the threshold.

    The script fills in their values.
    """
    note = f"<span>{shown} of {total:,} shown here</span>" if shown < total else ""
    parts = [
        f'<fieldset><div class="picker"><legend>{series}</legend>'
        f'<button type="button" id="all">all</button>'
        f'<button type="button" id="none">none</button>{note}</div>'
        '<div class="chips" id="chips"></div></fieldset>'
    ]
    if facets:
        parts.append(
            '<fieldset><div class="picker"><legend>State to draw</legend></div>'
            '<div class="chips" id="facets"></div></fieldset>'
        )
    hidden = " hidden" if total == 1 else ""  # one state leaves nothing to choose
    return (
        f'<section class="controls" aria-label="What to show"{hidden}>{"".join(parts)}</section>\n'
        '<section class="dock" aria-label="Level and threshold">'
        '<div class="control wide"><label for="level">Worst share of runs</label>'
        '<input type="range" id="level" min="0.5" max="50" step="0.5">'
        f'<output for="level">{_LEVEL}</output></div>'
        '<div class="control"><label for="threshold">Chance to end below</label>'
        '<input type="number" id="threshold" step="any" placeholder="a return"></div></section>'
    )


def distributions_sections(series: str, *, static: str, confidence: float | None) -> list[str]:
    """Return ridgelines, CDFs and the table; ``static`` is what is read without scripts."""
    which = "" if series == "state" else ' from <strong data-text="facet"></strong>'
    ridges = section(
        "How runs end",
        legend(
            ("upright", "mean"),
            ("upright dashed", f"mean of the worst {_LEVEL}"),
            ("fill", f"the worst {_LEVEL}"),
            ("upright dotted", '<span data-text="threshold"></span>'),
        ),
        figure("ridges", label="Ridgelines of the return distributions", keys=False),
        note=f"The distribution of the return{which}, each scaled to its own peak.",
        name="ridges-section",
    )
    bands = ""
    if confidence is not None:
        bands = (
            f" Shaded: {show_level(confidence)} confidence bands; with more than three lines, "
            f"of the first, or of the {series} that you point at."
        )
    cdf = section(
        "Chance to end at or below a return",
        figure("cdf", label="Chance to end at or below a return"),
        note=f"Point at the chart, or use the arrow keys, to read off chances{which}.{bands}",
        name="cdf-section",
    )
    table = section(
        "Risk in numbers",
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of risks">'
        f'<table id="risk"></table><noscript>{static}</noscript></div>',
        note=f"The mean of the worst {_LEVEL} is also known as CVaR or expected shortfall. "
        "Select a heading to sort.",
        name="risk-section",
    )
    return [ridges, cdf, table]


def learning_curves(data: Mapping[str, Any], level: float) -> str:
    """Return the places of the curves that there are rows for."""
    places = []
    if data.get("curves"):
        places.append(figure("curve-mean", heading="Mean"))
        places.append(figure("curve-cvar", heading=f"Mean of the worst {100 * level:g} %"))
    ticks = data.get("ticks")
    if ticks and ticks["masses"]:
        names = " and ".join(m["name"] for m in ticks["masses"])
        places.append(figure("curve-mass", heading=names.capitalize()))
    if ticks and ticks["step_size"]:
        places.append(figure("curve-step", heading="Step size"))
    if not places:
        return ""
    return section(
        "Learning curves",
        f'<div class="grids">{"".join(places)}</div>',
        note="A curve that still moves at its right end asks for more data, or other steps.",
        name="curves-section",
    )


def calibration(shown: Mapping[str, Any] | None, validation: Mapping[str, Any]) -> str:
    """Return the places of the calibration charts and the table of scores."""
    kind = str(validation.get("kind") or "fresh returns")
    if shown is None:
        return section("Calibration", note="The validation left no scores.", name="calibration")
    rows, parts = shown["rows"], []
    pooled, skilled = "run" in rows[0], any(row.get("skill") is not None for row in rows)
    if len(rows) > 1 and not pooled and (shown["pit"] or shown["comparison"]):
        parts.append(
            '<fieldset><div class="picker"><legend>Group</legend></div>'
            '<div class="chips" id="groups"></div></fieldset>'
        )
    charts = []
    if shown.get("pit"):
        charts.append(
            figure(
                "pit",
                heading="Where returns fell in their predicted distributions",
                below="Flat is calibrated. A hump says too wide, tall ends too narrow, a slope too "
                "high or too low. Grey: the scatter of a calibrated distribution.",
            )
        )
    if any(coverage_levels(row) for row in rows):
        dots = "One dot per group and run." if pooled else "Grey dots: the other groups."
        charts.append(
            figure(
                "coverage",
                heading="Coverage of intervals",
                below="The upright line is where the dots should be."
                + (f" {dots}" if len(rows) > 1 else ""),
                keys=False,
            )
        )
    if charts:
        parts.append(f'<div class="grids">{"".join(charts)}</div>')
    if shown.get("comparison"):
        truth = "exact" if shown.get("exact") else "observed"
        sure = show_level(float(validation.get("confidence") or 0.95))
        first = next(iter(shown["comparison"].values()))
        entries = [("blue", "predicted"), ("grey", truth)]
        if first.get("low") is not None and first.get("high") is not None:
            entries.append(("greyfill", f"where it can lie by chance, {sure} (DKW)"))
        parts.append(f"<div><h3>Predicted and {truth} chance to end at or below</h3>")
        parts.append(
            legend(*entries) + figure("compared", label=f"Predicted and {truth}") + "</div>"
        )
    parts.append(
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of scores">'
        '<table id="scores"></table></div>'
    )
    return section(
        "Can these figures be trusted?",
        *parts,
        note=f"Checked against {escape(kind)}. W1 and CRPS are in units of the return; less is "
        "better."
        + (" Skill is the part of the CRPS that telling states apart saves." if skilled else ""),
        name="calibration",
    )


def configuration(config_text: str, command: str, versions: Mapping[str, str]) -> str:
    """Return how to run it again, the configuration and the versions."""
    parts = []
    if command:
        # A line may end before an option, not within its two hyphens.
        whole = re.sub(r"--[a-z-]+", r"<span>\g<0></span>", escape(command))
        parts.append(f'<pre class="command">{whole}</pre>')
    if config_text:
        parts.append(
            f"<details><summary>Configuration</summary><pre>{escape(config_text)}</pre></details>"
        )
    if versions:
        items = "".join(
            f"<dt>{escape(str(name))}</dt><dd>{escape(str(version))}</dd>"
            for name, version in versions.items()
        )
        parts.append(
            f'<details><summary>Versions</summary><dl class="versions">{items}</dl></details>'
        )
    return section("Run it again", *parts, name="configuration") if parts else ""
