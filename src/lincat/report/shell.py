"""The frame of an interactive page: one file with its style, its script and its data in it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

import msgspec

from lincat._version import __version__

_SCRIPTS = ("distribution.js", "draw.js", "charts.js", "calibration.js", "gamma.js", "page.js")
_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
    "<path d='M1 14C5 14 5 3 7 3s2 11 8 11z' fill='%230b5cb8'/></svg>"
)


def interactive_page(title: str, body: str, data: msgspec.Struct) -> str:
    """Return a page that draws ``data`` by itself and can reach nothing else.

    ``body`` is HTML with the user's texts escaped; ``data`` goes in as JSON.
    """
    style, script = _style(), _script()
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    # In JSON a "<" only stands within texts; written as a code it cannot end the script.
    values = msgspec.json.encode(data).decode().replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="lincat {escape(__version__)}">
<title>{escape(title)}</title>
<link rel="icon" href="data:image/svg+xml,{escape(_ICON)}">
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{values}</script>
<script>{script}</script>
</body>
</html>
"""


def prose(text: str) -> str:
    """Return a sentence as HTML in which no number is parted from its unit, no option broken."""
    whole = escape(text.replace(" %", "\u00a0%").replace(" × ", "\u00a0×\u00a0"))
    return re.sub(r"--[a-z-]+", r"<code>\g<0></code>", whole)


def section(heading: str, *parts: str, note: str = "", kind: str = "", name: str = "") -> str:
    """Return a section; ``parts`` and ``note`` are HTML, the heading is text."""
    opening = "<section"
    opening += f' class="{kind}"' if kind else ""
    opening += f' aria-labelledby="{name}-heading">' if name else ">"
    identity = f' id="{name}-heading"' if name else ""
    about = f'<p class="note">{note}</p>' if note else ""
    return (
        f"{opening}\n<h2{identity}>{escape(heading)}</h2>{about}\n{chr(10).join(parts)}\n</section>"
    )


def figure(
    name: str, *, heading: str = "", label: str = "", below: str = "", keys: bool = True
) -> str:
    """Return the place of a chart, with a heading above and a line of HTML below it."""
    above = f"<h3>{escape(heading)}</h3>" if heading else ""
    label = (label or heading) + ("; the arrow keys read off values" if keys else "")
    under = f'<p class="under-chart">{below}</p>' if below else ""
    return (
        f'<div>{above}<div class="chart" id="{name}" role="group" '
        f'aria-label="{escape(label)}"></div>{under}</div>'
    )


def legend(*entries: tuple[str, str]) -> str:
    """Return a legend: the class of each key, and HTML that says what it means."""
    items = "".join(
        f'<li><span class="key {key}"></span><span>{text}</span></li>' for key, text in entries
    )
    return f'<ul class="legend">{items}</ul>'


def facts(entries: Sequence[tuple[str, str, str]]) -> str:
    """Return a list of facts: what, the fact, and a smaller line below it, all of them text."""
    items = []
    for what, fact, more in entries:
        kind = ' class="long"' if len(fact) > 24 else ""
        small = f"<small>{escape(more)}</small>" if more else ""
        items.append(f"<div{kind}><dt>{escape(what)}</dt><dd>{prose(fact)}{small}</dd></div>")
    return f'<dl class="facts">{"".join(items)}</dl>'


@cache
def _style() -> str:
    return _read("page.css")


@cache
def _script() -> str:
    inner = "\n".join(_read(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{inner}\n}})();'


def _read(name: str) -> str:
    return files("lincat.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
