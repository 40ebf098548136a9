"""The paper's figures, and those beyond it, drawn from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lincat.paper.analysis import NAMES, Rows, noise_free_steps, quadratic_fit
from lincat.paper.settings import PUBLISHED, Settings
from lincat.report.figures import beside, curves, error_curves

if TYPE_CHECKING:
    import altair


_AXES: dict[str, Any] = {"x": "iterations", "y": "log_error", "y_title": "−ln error"}


def all_figures(rows: Rows, settings: Settings) -> dict[str, altair.Chart]:
    """Return the figures that the rows are enough for, by name, in the order of the paper."""
    figures: dict[str, altair.Chart] = {}
    for name in ("loss_cdf", "loss_pmf"):
        if name in rows:
            figures[name] = _convergence(rows, name, settings)
    if "loss_change_alpha" in rows:
        figures["loss_change_alpha"] = curves(
            [_with_log(row) for row in rows["loss_change_alpha"]],
            **_AXES,
            series="step",
            log="x",
            title=f"SSGD-PMF with different step sizes, K = {settings.alpha_intervals}",
            subtitle="negative logarithm of the error of the running average; falling: diverges",
        )
    if len(noise_free_steps(rows)) >= 4:
        figures["dependence"] = _dependence(rows)
    if "comparation" in rows:
        figures["comparation"] = _comparation(rows)
    if "bound" in rows:
        figures["bound"] = _bound(rows)
    for name, key in (("large_K", "K"), ("gammas", "gamma"), ("random_process", "K")):
        if name in rows:
            figures[name] = _iterations(rows, name, key)
    if "markov" in rows:
        figures["markov"] = error_curves(
            [
                {**row, "data": f"{row['kind']}, step {row['step']:g}", "W1": row["wasserstein"]}
                for row in rows["markov"]
            ],
            x="iterations",
            y="W1",
            series="data",
            title="One walk against independent transitions",
            subtitle="Linear-CTD, tail average; median and middle half of the runs",
        )
    return figures


def _convergence(rows: Rows, name: str, settings: Settings) -> altair.Chart:
    algorithm = NAMES["ctd" if name == "loss_cdf" else "pmf"]
    return curves(
        [_with_log(row) for row in rows[name]],
        **_AXES,
        series="K",
        log="" if name == "loss_cdf" else "x",
        title=f"{algorithm} under varying K, step size {settings.step_size:g}",
        subtitle="negative logarithm of the error of the running average along iterations",
    )


def _dependence(rows: Rows) -> altair.Chart:
    paper, ours = "paper, average of the bounds", "lincat, noise-free"
    steps, out = noise_free_steps(rows), []
    for K, (low, high) in PUBLISHED.brackets["pmf"].items():
        out.append({"K": K, "inverse": 2 / (low + high), "source": paper})
    out += [{"K": K, "inverse": 1 / step, "source": ours} for K, step in steps.items()]
    _, r2, coefficients = quadratic_fit(list(steps), [1 / step for step in steps.values()])
    for K in np.linspace(min(steps), max(steps), 60):
        value = float(np.polyval(coefficients, K))
        out.append({"K": float(K), "inverse": value, "source": "quadratic fit of ours"})
    return curves(
        out,
        x="K",
        y="inverse",
        y_title="1/step",
        series="source",
        points=(paper, ours),
        title="The maximum step of SSGD-PMF falls as 1/K²",
        subtitle=f"R² of our fit {r2:.7f}, of the paper's {PUBLISHED.fit_r2}",
    )


def _comparation(rows: Rows) -> altair.Chart:
    sides = {"left": "Left side: W1 of the average", "right": "Right side: ‖Ā_PMF(θ − θ*)‖/√K"}
    data = rows["comparation"]
    return beside(
        *(
            curves(data, x="iterations", y=side, series="K", log="y", title=title, width=380)
            for side, title in sides.items()
        )
    )


def _bound(rows: Rows) -> altair.Chart:
    measured = [
        {"T": row["T"], "W1": row["wasserstein"], "what": "measured"} for row in rows["bound"]
    ]
    bound = {row["T"]: row["bound"] for row in rows["bound"]}
    return error_curves(
        [*measured, *({"T": T, "W1": value, "what": "bound"} for T, value in bound.items())],
        x="T",
        y="W1",
        series="what",
        title="The bound of Thm l2_error_linear_ctd, with constant 1",
        subtitle="Linear-CTD on unit_norm, tail average",
    )


def _iterations(rows: Rows, name: str, key: str) -> altair.Chart:
    titles = {
        "large_K": "Iterations for larger K",
        "gammas": "Iterations and the discount factor",
        "random_process": "A random process: the gap grows with K",
    }
    data: list[dict[str, Any]] = []
    for row in rows[name]:
        if row["iterations"] is not None:
            horizon = 1 / (1 - row["gamma"])
            data.append({**row, "algorithm": NAMES[row["rule"]], "horizon": horizon})
    return curves(
        data,
        x="horizon" if key == "gamma" else key,
        x_title="1/(1 − gamma)" if key == "gamma" else key,
        y="iterations",
        series="algorithm",
        log="xy",
        title=titles[name],
        subtitle="to the error of the table, at a fifth of the maximum step; median over runs",
    )


def _with_log(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "log_error": -float(np.log(row["error"]))}
