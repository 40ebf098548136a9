"""Sites side by side as a section of the page: each with its interval, and the pooled mean."""

from __future__ import annotations

from html import escape

from lincat._rows import Row, html_table
from lincat.inference.heterogeneity import SiteFigures, Sites
from lincat.report.numbers import show_level
from lincat.report.shell import prose, section

_WIDTH, _ROW, _LEFT, _RIGHT, _FOOT = 640.0, 28.0, 160.0, 90.0, 24.0  # of the picture
_MOST_DRAWN = 40
_LONGEST = 22  # letters of a name


def sites_section(sites: Sites | None) -> str:
    """Return the section; nothing where there is one site."""
    if sites is None or len(sites.figures) < 2:
        return ""
    note = (
        f"{prose(sites.sentence)} The mean return from {escape(sites.state)} as the rows of each "
        f"site have it, with its {show_level(sites.confidence)} interval; upright: all sites "
        "together."
    )
    rows: list[Row] = [
        {
            "site": one.name,
            "transitions": one.transitions,
            "mean": _short(one.mean),
            "low": None if one.mean_low is None else _short(one.mean_low),
            "high": None if one.mean_high is None else _short(one.mean_high),
            "standard deviation": None if one.std is None else _short(one.std),
        }
        for one in sites.figures
    ]
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table of sites">'
    parts = [_picture(sites), f"{scroll}{html_table(rows)}</div>"]
    return section("Do the sites agree?", *parts, note=note, kind="sites", name="sites-section")


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _picture(sites: Sites) -> str:
    """A point with its whiskers for each site, on one axis."""
    drawn = sites.figures[:_MOST_DRAWN]
    ends = [sites.mean, *(x for one in drawn for x in _ends(one))]
    low, high = min(ends), max(ends)
    unit = (_WIDTH - _LEFT - _RIGHT) / ((high - low) or 1.0)

    def at(x: float) -> float:
        return _LEFT + (x - low) * unit

    height, pooled = _ROW * len(drawn), at(sites.mean)
    marks = [
        f'<line class="base" x1="{pooled:.1f}" x2="{pooled:.1f}" y1="0" y2="{height:.0f}"/>',
        f'<text class="tick" x="{pooled:.1f}" y="{height + 16:.0f}" text-anchor="middle">'
        f"{_short(sites.mean):g}</text>",
    ]
    for row, one in enumerate(drawn):
        y, (left, right) = _ROW * row + 14, map(at, _ends(one))
        name = one.name if len(one.name) <= _LONGEST else f"{one.name[: _LONGEST - 1]}…"
        marks.append(
            f'<g class="series c1 site"><title>{escape(one.name)}, {one.transitions:,} '
            f'transitions</title><text class="ridge-name" x="0" y="{y + 4:.0f}">{escape(name)}'
            f'</text><line class="line" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.0f}" '
            f'y2="{y:.0f}"/><circle class="dot" cx="{at(one.mean):.1f}" cy="{y:.0f}" r="4.5"/>'
            f'<text x="{_WIDTH - _RIGHT + 12:.0f}" y="{y + 4:.0f}">{_short(one.mean):g}</text></g>'
        )
    return (
        '<div class="chart narrow"><svg role="img" aria-label="Mean return of each site" '
        f'viewBox="0 0 {_WIDTH:.0f} {height + _FOOT:.0f}">{"".join(marks)}</svg></div>'
    )


def _ends(one: SiteFigures) -> tuple[float, float]:
    if one.mean_low is None or one.mean_high is None:
        return one.mean, one.mean
    return one.mean_low, one.mean_high
