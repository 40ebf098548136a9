"""A picture of how predictions and returns compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lincat._imports import optional
from lincat._text import drawable

if TYPE_CHECKING:
    import altair

    from lincat.inference.validation import Validation

_MOST_POINTS = 300  # of a curve


def validation_chart(validation: Validation, group: str) -> altair.Chart:
    """Draw predicted and realised CDF, with the band of the latter, and the PIT histogram."""
    alt = optional("altair", "plot()")
    found = validation[group]
    both = np.array([found.predicted_cdf, found.empirical_cdf])
    # Where something happens, and a step to either side of it.
    moving = np.flatnonzero(((both > 5e-4) & (both < 1.0 - 5e-4)).any(axis=0))
    first, last = (moving[0], moving[-1]) if len(moving) else (0, both.shape[1] - 1)
    chosen = range(max(first - 1, 0), min(last + 2, both.shape[1]))
    chosen = chosen[:: -(-len(chosen) // _MOST_POINTS)]
    rows = [
        {
            "return": validation.atoms[k],
            "predicted": found.predicted_cdf[k],
            "realised": found.empirical_cdf[k],
            "low": found.empirical_low[k],
            "high": found.empirical_high[k],
        }
        for k in chosen
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("return:Q", title="return", scale=alt.Scale(zero=False, nice=False))
    )
    area = base.mark_area(opacity=0.25, interpolate="step-after").encode(
        y=alt.Y("low:Q", title="share of returns below"), y2="high:Q"
    )
    legend = alt.Legend(orient="top-left")
    lines = (
        base.transform_fold(["predicted", "realised"], as_=["which", "share"])
        .mark_line(interpolate="step-after")
        .encode(y="share:Q", color=alt.Color("which:N", title=None, legend=legend))
    )
    curves: Any = (area + lines).properties(width=340, height=240, title="Predicted and realised")
    n = len(found.pit)
    bars = [
        {"from": i / n, "to": (i + 1) / n, "height": height} for i, height in enumerate(found.pit)
    ]
    pit = alt.Chart(alt.InlineData(values=bars))
    histogram = pit.mark_rect(opacity=0.7).encode(
        x=alt.X("from:Q", title="place within the prediction (PIT)", scale=alt.Scale(nice=False)),
        x2="to:Q",
        y=alt.Y("height:Q", title="flat if calibrated"),
        y2=alt.datum(0.0),
    )
    level = pit.mark_rule(strokeDash=[4, 3]).encode(y=alt.datum(1.0))
    right: Any = (histogram + level).properties(width=240, height=240, title="Calibration")
    said = f"{validation.description}; W1 {found.w1:.3g}, of which noise {found.w1_noise:.2g}"
    chart: altair.Chart = alt.hconcat(curves, right).properties(
        title=alt.Title(
            drawable(f"Checked: {group}"),
            subtitle=drawable(said),
            anchor="start",
            subtitleColor="gray",
        )
    )
    return chart
