"""The sections that the pages of evaluations and comparisons are made of, as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lincat._rows import html_table
from lincat.inference.answer import Answer, Check
from lincat.inference.validation import Validation
from lincat.inference.verdict import WORDS
from lincat.report.numbers import show_level
from lincat.report.shell import figure, legend, prose, section

_VISIBLE_MASS = 1e-9  # below is rounding; page.js has the same
_LEVEL = '<span data-text="level"></span>'


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
    keys = [
        ("upright", "mean"),
        ("upright dashed", f"mean of the worst {_LEVEL}"),
        ("fill", f"the worst {_LEVEL}"),
        ("upright dotted", '<span data-text="threshold"></span>'),
    ]
    if confidence is not None:
        keys.insert(2, ("whisker", f"{show_level(confidence)} intervals of both"))
    ridges = section(
        "How runs end",
        legend(*keys),
        figure("ridges", label="Ridgelines of the return distributions", keys=False),
        note=f"The distribution of the return{which}, each scaled to its own peak.",
        name="ridges-section",
    )
    bands = intervals = ""
    if confidence is not None:
        bands = (
            f" Shaded: {show_level(confidence)} confidence bands; with more than three lines, "
            f"of the first, or of the {series} that you point at."
        )
        intervals = (
            f" Under each figure: its {show_level(confidence)} interval, for sampling error alone."
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
        f"Select a heading to sort.{intervals}",
        name="risk-section",
    )
    return [ridges, cdf, table]


def learning_curves(answers: Sequence[Answer], level: float) -> str:
    """Return the places of the curves that were recorded, each under the level of its record."""
    curves = [answer.curves for answer in answers if answer.curves is not None]
    if not curves:
        return ""
    levels = sorted({one.level for one in curves})
    places = [figure("curve-mean", heading="Mean")]
    places += [
        figure(f"curve-cvar-{i}", heading=f"Mean of the worst {show_level(recorded)}")
        for i, recorded in enumerate(levels)
    ]
    if len(answers) == 1:
        (own,) = curves
        masses = {"clipped mass": own.clipped, "negative mass": own.negative_mass}
        names = [name for name, column in masses.items() if max(column) > _VISIBLE_MASS]
        if names:
            places.append(figure("curve-mass", heading=" and ".join(names).capitalize()))
    note = "A curve that still moves at its right end asks for more data, or other steps."
    if levels != [level]:
        note += " Curves stay at the level that they were recorded at."
    return section(
        "Learning curves",
        f'<div class="grids">{"".join(places)}</div>',
        note=note,
        name="curves-section",
    )


def gamma_section(answer: Answer) -> str:
    """Return a slider for the discount factor, where the answer has sums to solve from."""
    if answer.moments is None:
        return ""
    return section(
        "Another discount factor",
        '<div class="control wide gamma"><label for="gamma">Discount factor γ</label> '
        '<input type="range" id="gamma" min="0" max="3" step="0.01"> '
        '<output for="gamma" id="gamma-shown"></output></div>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of moments">'
        '<table id="gamma-table"></table></div>',
        note="Mean and standard deviation, solved here from the sums that the page carries; from 1 "
        "to 1,000 steps ahead. For whole distributions, evaluate the same statistics with another "
        "<code>--gamma</code>.",
        kind="gamma-section",
        name="gamma-section",
    )


def check_rows(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Return a row for each check of a verdict: what, found, allowed, and how it ended."""
    rows = []
    for check in checks:
        name = WORDS.get(check.code, check.code)
        ended = "passed" if check.passed else "failed"
        found = None if check.value is None else _short(check.value)
        rows.append({"check": name, "found": found, "allowed": _short(check.limit), "": ended})
    return rows


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def checks_table(answer: Answer) -> str:
    """Return what the verdict looked at, folded in unless some of it failed."""
    checks = answer.verdict.checks
    if not checks:
        return ""
    passed = sum(check.passed for check in checks)
    rows = html_table(check_rows(checks))
    return (
        f'<details class="checks"{"" if passed == len(checks) else " open"}>'
        f"<summary>What was checked: {passed} of {len(checks)} passed</summary>{rows}</details>"
    )


def calibration(validations: Sequence[Validation], several: bool, checks: str = "") -> str:
    """Return the checks, the places of the calibration charts, and that of the table of scores."""
    heading, name = "Can these figures be trusted?", "calibration"
    if not validations:
        note = "They were not held against returns that were not learned from."
        return section(heading, checks, note=note, name=name) if checks else ""
    first, parts, charts = validations[0], [], []
    n_groups = sum(len(validation.groups) for validation in validations)
    if not several:
        charts.append(
            figure(
                "pit",
                heading="Where returns fell in their predicted distributions",
                below="Flat is calibrated. A hump says too wide, tall ends too narrow, a slope too "
                "high or too low. Grey: the scatter of a calibrated distribution.",
            )
        )
        if n_groups > 1:
            parts.append(
                '<fieldset><div class="picker"><legend>Group</legend></div>'
                '<div class="chips" id="groups"></div></fieldset>'
            )
    dots = "One dot per group and run." if several else "Grey dots: the other groups."
    charts.append(
        figure(
            "coverage",
            heading="Coverage of intervals",
            below="The upright line is where the dots should be."
            + (f" {dots}" if n_groups > 1 else ""),
            keys=False,
        )
    )
    parts.append(f'<div class="grids">{"".join(charts)}</div>')
    if not several:
        truth, entries = "exact", [("blue", "predicted"), ("grey", "exact")]
        if first.method != "exact":
            sure = show_level(first.confidence)
            truth, entries[1] = "observed", ("grey", "observed")
            entries.append(("greyfill", f"where it can lie by chance, {sure} (DKW)"))
        chart = figure("compared", label=f"Predicted and {truth}")
        above = f"Predicted and {truth} chance to end at or below"
        parts.append(f"<div><h3>{above}</h3>{legend(*entries)}{chart}</div>")
    parts.append(
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of scores">'
        '<table id="scores"></table></div>'
    )
    parts.append(checks)
    described = "; ".join(dict.fromkeys(validation.description for validation in validations))
    note = f"Checked against {escape(described)}. "
    note += "W1 and CRPS are in units of the return; less is better."
    if any(group.skill is not None for one in validations for group in one.groups):
        note += " Skill is the part of the CRPS that telling states apart saves."
    return section(heading, *parts, note=note, name=name)


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
