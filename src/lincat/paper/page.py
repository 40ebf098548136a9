"""The page of the paper: text, tables and interactive figures, in one file without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from lincat._rows import html_table

if TYPE_CHECKING:
    import altair


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid #ddd; }
th.right, td.right { text-align: right; }
.note { color: #555; } .wide { overflow-x: auto; } .notice { background: #fff7df; padding: 1rem; }
"""


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it; everything but the heading may be missing."""

    heading: str
    text: str = ""
    rows: Sequence[dict[str, Any]] = ()
    figure: altair.Chart | None = None


def as_html(title: str, notice: str, sections: Sequence[Section]) -> str:
    """Return the page; figures can be zoomed into the numbers by pointing at them."""
    import vl_convert

    parts, specs = [], {}
    for number, section in enumerate(sections):
        parts.append(f"<h2>{escape(section.heading)}</h2>")
        if section.text:
            parts.append(f'<p class="note">{escape(section.text)}</p>')
        if section.figure is not None:
            specs[f"figure{number}"] = json.loads(section.figure.to_json())
            parts.append(f'<div class="wide" id="figure{number}"></div>')
        if section.rows:
            parts.append(html_table(section.rows))
    # "</" would end the script; in JSON the slash may be escaped.
    data = json.dumps(specs).replace("</", "<\\/")
    bundle: Any = vl_convert.javascript_bundle  # its stub asks for an argument that has a default
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
<script>{bundle()}</script>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="notice">{escape(notice)}</p>
{chr(10).join(parts)}
<script>
const figures = {data};
for (const id in figures) vegaEmbed("#" + id, figures[id], {{actions: false}});
</script>
</body>
</html>
"""
