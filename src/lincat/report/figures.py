"""Figures, drawn from what they are given."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lincat._files import write_atomically
from lincat._text import drawable

if TYPE_CHECKING:
    import altair


def error_curves(
    rows: Sequence[dict[str, Any]], *, x: str, y: str, series: str, title: str, subtitle: str = ""
) -> altair.Chart:
    """Draw how an error falls, on two logarithmic axes, a line for each value of ``series``.

    Rows that share x and series (seeds) are shown by their median and the middle half of them.
    """
    import altair as alt

    rows, series = drawable(rows), drawable(series)
    names = list(dict.fromkeys(row[series] for row in rows))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(f"{x}:Q", scale=alt.Scale(type="log"), title=x)
    )
    scale = alt.Scale(type="log")
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y(f"q1({y}):Q", scale=scale, title=y),
        y2=f"q3({y}):Q",
        fill=alt.Fill(f"{series}:N", sort=names, legend=None),
    )
    # Dashes too, so that lines which coincide are all seen.
    line = base.mark_line(strokeWidth=2.5).encode(
        y=alt.Y(f"median({y}):Q", scale=scale),
        color=alt.Color(f"{series}:N", sort=names, title=None),
        strokeDash=alt.StrokeDash(f"{series}:N", sort=names, legend=None),
    )
    # Room at the right: browsers may write legends in a wider font than they were measured in.
    room: Any = {"left": 5, "top": 5, "bottom": 5, "right": 24}
    chart: Any = _titled(band + line, title, subtitle).configure_view(stroke=None)
    padded: altair.Chart = chart.properties(padding=room)
    return padded


def curves(
    rows: Sequence[dict[str, Any]],
    *,
    x: str,
    y: str,
    series: str,
    title: str,
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    log: str = "",
    points: Sequence[str] = (),
    width: int = 560,
) -> altair.Chart:
    """Draw y over x, a line for each value of ``series``, shown by medians where rows share x.

    ``log`` names the logarithmic axes ("x", "y", "xy"); the series in ``points`` are drawn as
    points instead of lines.
    """
    import altair as alt

    rows, series, points = drawable(rows), drawable(series), drawable(points)
    names = list(dict.fromkeys(row[series] for row in rows))
    data = [{key: row[key] for key in (x, y, series)} for row in rows]
    scales: dict[str, Any] = {
        axis: alt.Scale(type="log", nice=False) if axis in log else alt.Scale(zero=False)
        for axis in "xy"
    }
    # Numbers are in order, and so are their colours; names are told apart.
    numbers = all(isinstance(name, int | float) for name in names)
    kind, colours = ("O", alt.Scale(scheme="viridis")) if numbers else ("N", alt.Undefined)
    base = alt.Chart(alt.InlineData(values=data)).encode(
        x=alt.X(f"{x}:Q", scale=scales["x"], title=x_title or x),
        y=alt.Y(f"median({y}):Q", scale=scales["y"], title=y_title or y),
        color=alt.Color(f"{series}:{kind}", sort=names, title=series, scale=colours),
        tooltip=[
            alt.Tooltip(f"{series}:N"),
            alt.Tooltip(f"{x}:Q", format=".5g"),
            alt.Tooltip(f"median({y}):Q", format=".5g", title=y_title or y),
        ],
    )
    dotted = alt.FieldOneOfPredicate(field=series, oneOf=list(points))
    layers: list[Any] = []
    if len(points) < len(names):
        layers.append(base.mark_line(strokeWidth=2).transform_filter({"not": dotted}))
    if points:
        layers.append(base.mark_point(size=70, filled=True).transform_filter(dotted))
    return _titled(alt.layer(*layers), title, subtitle, width)


def _titled(chart: Any, title: str, subtitle: str, width: int = 560) -> altair.Chart:
    import altair as alt

    title, subtitle = drawable(title), drawable(subtitle)
    above = alt.Title(title, subtitle=subtitle, anchor="start", subtitleColor="gray")
    titled: altair.Chart = chart.properties(width=width, height=320, title=above)
    return titled


def beside(*charts: altair.Chart) -> altair.Chart:
    """Put figures side by side."""
    import altair as alt

    joined: Any = alt.hconcat(*charts)
    chart: altair.Chart = joined
    return chart


def save_figure(
    chart: altair.Chart,
    folder: Path,
    name: str,
    endings: Sequence[str] = ("svg", "png", "html"),
) -> list[Path]:
    """Write a figure as SVG, PNG and a page of its own that needs no network."""
    import vl_convert

    spec = json.dumps(drawable(chart.to_dict()))  # whatever it was made from
    writers: dict[str, Callable[[], bytes | str]] = {
        "svg": lambda: vl_convert.vegalite_to_svg(spec),
        "png": lambda: vl_convert.vegalite_to_png(spec, scale=2),
        "html": lambda: vl_convert.vegalite_to_html(spec, bundle=True),
    }
    for ending in endings:
        write_atomically(folder / f"{name}.{ending}", writers[ending]())
    return [folder / f"{name}.{ending}" for ending in endings]
