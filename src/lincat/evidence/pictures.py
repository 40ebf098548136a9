"""The pictures of docs/theory.md, drawn from rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lincat.evidence import claims
from lincat.evidence.claims import Rows
from lincat.report.figures import curves

if TYPE_CHECKING:
    import altair


def _k_independence(rows: Rows) -> altair.Chart:
    return curves(
        rows,
        x="K",
        y="step",
        series="algorithm",
        log="xy",
        title="The largest stable step: of Linear-CTD it does not depend on K",
        subtitle="the paper's process, batches of 25, without noise",
        x_title="intervals K",
        y_title="largest step",
    )


def _mean_preservation(rows: Rows) -> altair.Chart:
    return curves(
        rows,
        x="updates",
        y="gap",
        series="algorithm",
        log="xy",
        title="Means of Linear-CTD are Linear-TD's, after every update",
        subtitle="largest difference of means over the states, on one stream from one start",
        y_title="difference to Linear-TD",
    )


def _rate(rows: Rows) -> altair.Chart:
    return curves(
        rows,
        x="T",
        y="error",
        series="learner",
        log="xy",
        points=("LinearCTD, auto", "VarianceReducedCTD", "CategoricalLSTD"),
        title="Errors fall like T^(-1/2)",
        subtitle="root mean square of ℓ2,mu to the fixed point; the line is the least possible",
        x_title="transitions T",
        y_title="error",
    )


def _mixing(rows: Rows) -> altair.Chart:
    return curves(
        rows,
        x="mixing time",
        y="walk over independent",
        series="features",
        log="xy",
        points=("a table, measured", "two features, measured"),
        title="A walk costs more only where features blur the states",
        subtitle="mean square of the batch solution over that of independent transitions",
        y_title="walk over independent",
    )


def _metric(rows: Rows) -> altair.Chart:
    import altair as alt

    seen = {"algorithm", "update"}
    x, y = (name for name in rows[0] if name not in seen and name != "error")
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(f"{x}:Q", scale=alt.Scale(zero=False)),
        y=alt.Y(f"{y}:Q", scale=alt.Scale(zero=False)),
        color=alt.Color("algorithm:N", title=None),
        order="update:Q",
    )
    path = base.mark_line(point={"size": 28}).properties(width=270, height=270)
    fall = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("update:Q"),
            y=alt.Y("error:Q", scale=alt.Scale(type="log")),
            color=alt.Color("algorithm:N", title=None),
        )
        .properties(width=270, height=270)
    )
    title = alt.Title(
        "The same descent in two metrics",
        subtitle="mean updates at half of the largest stable step, K = 2",
        anchor="start",
        subtitleColor="gray",
    )
    joined: Any = alt.hconcat(path, fall).properties(title=title)
    chart: altair.Chart = joined
    return chart


def _tails(rows: Rows) -> altair.Chart:
    return curves(
        rows,
        x="log(1/delta)",
        y="relative",
        series="steps",
        title="How errors grow with confidence",
        subtitle="quantile at 1 − delta of the squared error over its median, T = 4,096",
        y_title="squared error over its median",
    )


def _barrier(rows: Rows) -> altair.Chart:
    return curves(
        rows,
        x="step",
        y="ratio",
        series="learner",
        log="xy",
        title="The sample-size barrier, and the way past it",
        subtitle="mean square over the least possible; lambda_min = 0.01, a walk of 10,000",
        x_title="constant step, times R",
        y_title="mean square over the least",
    )


#: Rows of each claim and how they are drawn; "barrier" and "tails" have measurements of their own.
CLAIMS: dict[str, Callable[[], Rows]] = {
    "k_independence": claims.largest_steps,
    "mean_preservation": claims.mean_gaps,
    "rate": claims.rates,
    "mixing": claims.mixing,
    "metric": claims.metric,
}
_DRAWN: dict[str, Callable[[Rows], Any]] = {
    "k_independence": _k_independence,
    "mean_preservation": _mean_preservation,
    "rate": _rate,
    "barrier": _barrier,
    "mixing": _mixing,
    "metric": _metric,
    "tails": _tails,
}


def drawn(name: str, rows: Rows) -> altair.Chart:
    """Return the picture of a claim, with room for legends in wider fonts than they were set in."""
    room = {"left": 5, "top": 5, "bottom": 5, "right": 48}
    chart: altair.Chart = _DRAWN[name](rows).properties(padding=room)
    return chart
