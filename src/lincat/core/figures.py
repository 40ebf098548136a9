"""Pictures of distributions, as Altair charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lincat._imports import optional
from lincat._text import drawable
from lincat._typing import FloatArray
from lincat.core.summary import shown_states, visible_range

if TYPE_CHECKING:
    import altair

    from lincat.core.distribution import ReturnDistribution

_MOST_BARS = 240  # of a state


def ridgelines(
    dist: ReturnDistribution,
    state_names: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    level: float = 0.05,
) -> altair.Chart:
    """Draw the return distributions of up to 24 states under each other.

    Each ridge is the density of one state's return (mass over spacing), with the mean as a line
    and the mean of the worst ``level`` share as a dashed one.
    """
    alt = optional("altair", "plot()")
    state_names, title, subtitle = drawable([list(state_names), title, subtitle])
    shown = shown_states(len(dist))
    left, right, masses = _bars(dist)
    mean, cvar = dist.mean(), dist.cvar(level)
    rows = [
        {
            "state": state_names[i],
            "return": float((x + y) / 2.0),
            "left": float(x),
            "right": float(y),
            "density": float(p / (y - x)),
            "probability": float(p),
            "mean": float(mean[i]),
            "tail": float(cvar[i]),
        }
        for i in shown
        for x, y, p in zip(left, right, masses[i], strict=True)
    ]
    states: list[str] = [state_names[i] for i in shown]
    height = 70 if len(shown) <= 8 else 40
    base = alt.Chart().properties(width=560, height=height)
    bars = base.mark_rect(opacity=0.85, stroke=None).encode(
        x=alt.X("left:Q", title="return", scale=alt.Scale(nice=False, zero=False)),
        x2="right:Q",
        y=alt.Y("density:Q", title=None, axis=alt.Axis(tickCount=2, grid=False)),
        y2=alt.datum(0.0),
        color=alt.Color("state:N", legend=None, sort=states),
        tooltip=[
            alt.Tooltip("state:N"),
            alt.Tooltip("return:Q", format=".4g"),
            alt.Tooltip("probability:Q", format=".4g"),
        ],
    )
    mean_rule = base.mark_rule(strokeWidth=2).encode(x="max(mean):Q")
    tail_rule = base.mark_rule(strokeWidth=1.5, strokeDash=[4, 3]).encode(x="max(tail):Q")
    layers: Any = alt.layer(bars, mean_rule, tail_rule, data=alt.InlineData(values=rows))
    note = f"solid line: mean; dashed line: mean of the worst {level:.3g} of returns"
    if len(shown) < len(dist):
        note += f"; {len(shown)} of {len(dist)} states"
    chart: altair.Chart = (
        layers.facet(
            row=alt.Row("state:N", sort=states, title=None, header=alt.Header(labelAngle=0)),
            spacing=6,
        )
        .properties(title=alt.Title(title, subtitle=[*([subtitle] if subtitle else []), note]))
        .configure_view(stroke=None)
        .configure_title(anchor="start", subtitleColor="gray")
    )
    return chart


def _bars(dist: ReturnDistribution) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends of bars (m,), and masses (n, m), where there is something to see: atoms, or several."""
    low, high = visible_range(dist)
    atoms, half = dist.grid.atoms, dist.grid.spacing / 2.0
    inside = np.flatnonzero((low <= atoms) & (atoms <= high))
    begins = inside[:: -(-len(inside) // _MOST_BARS)]
    masses = np.add.reduceat(dist.pmf[:, : inside[-1] + 1], begins, axis=1)
    lasts = np.append(begins[1:] - 1, inside[-1])
    return atoms[begins] - half, atoms[lasts] + half, masses
