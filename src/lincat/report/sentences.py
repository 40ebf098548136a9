"""What a return distribution means, in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lincat._arguments import check_levels, check_number
from lincat.core.distribution import ReturnDistribution
from lincat.report.numbers import show_given, show_level, show_number, show_share, visible_range

__all__ = [
    "comparison_sentence",
    "coverage_levels",
    "one_run_in",
    "overall",
    "place",
    "summary_sentence",
    "threshold_sentence",
    "trust_sentence",
]

_COVERAGE = re.compile(r"coverage_?(\d+(?:\.\d+)?)")
_ONE_IN = {
    2: "two",
    3: "three",
    4: "four",
    5: "five",
    10: "ten",
    20: "twenty",
    50: "fifty",
    100: "a hundred",
    200: "two hundred",
    1000: "a thousand",
}


def summary_sentence(
    dist: ReturnDistribution, name: str = "start", *, state: int = 0, level: float = 0.05
) -> str:
    """Return what one state's distribution says: its mean, and how its bad runs end.

    Parameters
    ----------
    dist : ReturnDistribution
    name : str
        What the state is called; "start" stands for the start of an episode.
    state : int
        The row of the state.
    level : float
        How large a share of the worst runs to look at, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.report.sentences import summary_sentence
    >>> dist = ReturnDistribution(np.linspace(0.005, 0.995, 100), Grid(0.0, 20.0, intervals=100))
    >>> summary_sentence(dist)
    'From the start state the mean return is 10.0, but one run in twenty ends below 1.0, and those
    average 0.5.'
    """
    level = float(check_levels(level, "level", zero=False))
    distribution = dist[[state]]
    proper = distribution.proper()
    ends = visible_range(distribution)

    def show(value: float) -> str:
        return show_number(value, *ends, fine=False)

    mean, quantile = float(distribution.mean()[0]), float(proper.quantile(level)[0])
    tail = show(float(proper.cvar(level)[0]))
    start = f"From {place(name)}"
    if proper.std()[0] <= 1e-6 * (distribution.grid.high - distribution.grid.low):
        return f"{start} every run returns {show(mean)}."
    start += f" the mean return is {show(mean)}"
    reached = float(proper.cdf(quantile)[0])
    if reached > 2.0 * level:  # one value that so many runs end at is what there is to say
        share = show_share(reached)
        joint = "and" if quantile >= mean else "but"
        share = "nearly all" if share.startswith("more") else share
        if reached >= 1.0 - 1e-9:
            return f"{start}, and no run returns more than {show(quantile)}."
        return (
            f"{start}, {joint} {share} of runs end at {show(quantile)} or below, and the worst "
            f"{show_level(level)} of runs average {tail}."
        )
    share, verb = one_run_in(level)
    return f"{start}, but {share} {verb} below {show(quantile)}, and those average {tail}."


def threshold_sentence(
    dist: ReturnDistribution, threshold: float, name: str = "start", *, state: int = 0
) -> str:
    """Return the chance of ending below a threshold, as a sentence.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.report.sentences import threshold_sentence
    >>> dist = ReturnDistribution([0.034, 0.5], Grid(-1.0, 1.0, intervals=2))
    >>> threshold_sentence(dist, 0.0)
    'The chance to end below 0 is 3.4 %.'
    """
    threshold = check_number(threshold, "threshold")
    chance = float(dist[[state]].proper().probability_below(threshold)[0])
    where = "" if name == "start" else f" from {place(name)}"
    return f"The chance to end below {show_given(threshold)}{where} is {show_share(chance)}."


def trust_sentence(
    validation: Mapping[str, Any] | None, *, width: float, confidence: float | None = None
) -> str:
    """Return how far the figures can be trusted: what they were checked against, or that not.

    ``width`` is that of the grid, ``confidence`` that of the bands, if there are any.

    Examples
    --------
    >>> from lincat.report.sentences import trust_sentence
    >>> row = {"group": "all", "returns": 10_000, "coverage80": 0.79}
    >>> trust_sentence({"kind": "10,000 rollouts", "rows": [row]}, width=4.0)
    'Checked against 10,000 rollouts: 80 % intervals held 79 % of them.'
    """
    parts = []
    total = overall(validation["rows"]) if validation is not None else {}
    if validation is not None and total:
        kind = str(validation.get("kind") or "fresh returns")
        if kind.split()[0].lower() in ("exact", "last"):
            kind = f"the {kind}"
        levels = coverage_levels(total)
        w1 = total.get("w1_states", total.get("w1"))
        if levels and not (w1 is not None and "exact" in kind.lower()):
            key, nominal = min(levels.items(), key=lambda item: abs(item[1] - 0.8))
            verdict = f"{show_level(nominal)} intervals held {show_share(total[key])} of them"
            if abs(total[key] - nominal) > max(0.0501, 2.0 * total.get(f"{key}_se", 0.0)):
                verdict += f", so these are too {'narrow' if total[key] < nominal else 'wide'}"
        elif w1 is not None:
            share = show_share(w1 / width)
            verdict = f"the distributions are off by {share} of the grid's width (W1)"
        else:
            verdict = "see the scores below"
        parts.append(f"Checked against {kind}: {verdict}.")
    else:
        parts.append("These figures were not checked against fresh returns; --validate does that.")
    if confidence is not None:
        parts.append(
            f"Bands show sampling error at {show_level(confidence)}, not that of features or grid."
        )
    return " ".join(parts)


def comparison_sentence(
    runs: Sequence[str],
    distributions: Sequence[ReturnDistribution],
    name: str,
    *,
    level: float = 0.05,
) -> str:
    """Return which run has the highest mean from the first state, and which the best worst runs.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.report.sentences import comparison_sentence
    >>> grid = Grid(0.0, 10.0, intervals=2)
    >>> bold, careful = ReturnDistribution([0.4, 0.4], grid), ReturnDistribution([0.0, 1.0], grid)
    >>> comparison_sentence(["bold", "careful"], [bold, careful], "start")
    'From the start state run bold has the highest mean return, 6.0, but the worst 5 % of runs do
    best under run careful, where they average 5.0.'
    """
    ends = visible_range(*distributions)

    def show(value: float) -> str:
        return show_number(value, *ends, fine=False)

    means = [float(dist.mean()[0]) for dist in distributions]
    tails = [float(dist[[0]].proper().cvar(level)[0]) for dist in distributions]
    best, safest = int(np.argmax(means)), int(np.argmax(tails))
    start = f"From {place(name)} run {runs[best]} has the highest mean return"
    if best == safest:
        return (
            f"{start}, {show(means[best])}, and the best average over the worst "
            f"{show_level(level)} of runs, {show(tails[best])}."
        )
    return (
        f"{start}, {show(means[best])}, but the worst {show_level(level)} of runs "
        f"do best under run {runs[safest]}, where they average {show(tails[safest])}."
    )


def one_run_in(level: float) -> tuple[str, str]:
    """Return a share of runs in words, with the verb that goes with it.

    Examples
    --------
    >>> from lincat.report.sentences import one_run_in
    >>> one_run_in(0.05), one_run_in(0.053)
    (('one run in twenty', 'ends'), ('5.3 % of runs', 'end'))
    """
    count = round(1.0 / level)
    if count in _ONE_IN and math.isclose(count * level, 1.0, rel_tol=1e-9):
        return f"one run in {_ONE_IN[count]}", "ends"
    return f"{show_level(level)} of runs", "end"


def place(name: str) -> str:
    """Return how to speak of a state: "the start state", or its name."""
    if name == "start":
        return "the start state"
    return name if "state" in name.lower() else f"state {name}"


def coverage_levels(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the keys of a row of scores that hold the coverage of intervals, and their levels."""
    matches = {key: _COVERAGE.fullmatch(key) for key in row if row[key] is not None}
    return {key: float(match[1]) / 100.0 for key, match in matches.items() if match}


def overall(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the scores of all groups together: the row called "all", or means by returns."""
    for row in rows:
        if str(row.get("group", "")).lower() in ("all", "all states", "overall"):
            return {key: float(v) for key, v in row.items() if _is_number(v)}
    shared = set.intersection(*({k for k in r if _is_number(r[k])} for r in rows)) if rows else ()
    weights = np.array([float(row.get("returns") or row.get("n_returns") or 1.0) for row in rows])
    return {
        key: float(np.average([row[key] for row in rows], weights=weights))
        for key in shared
        if key not in ("states", "returns", "n_states", "n_returns")
    }


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )
