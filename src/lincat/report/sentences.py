"""What a return distribution means, in plain words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from lincat._arguments import check_levels, check_number
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.summary import Interval, visible_range
from lincat.inference.answer import Verdict
from lincat.inference.validation import Validation
from lincat.report.numbers import show_given, show_level, show_number, show_share

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
    dist: ReturnDistribution,
    name: str = "start",
    *,
    state: int = 0,
    level: float = 0.05,
    interval: Interval | None = None,
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
    interval : callable, optional
        That gives the ends of intervals, as an answer's does: figures then have a ±.

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

    def known(value: float, measure: str, argument: float | None = None) -> str:
        if interval is None:
            return show(value)
        return show(value) + _margin(interval(measure, argument), value, state, ends)

    mean, quantile = float(proper.mean()[0]), float(proper.quantile(level)[0])
    tail = known(float(proper.cvar(level)[0]), "cvar", level)
    start = f"From {place(name)}"
    if proper.std()[0] <= 1e-6 * (distribution.grid.high - distribution.grid.low):
        return f"{start} every run returns {show(mean)}."
    start += f" the mean return is {known(mean, 'mean')}"
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
    lowest = known(quantile, "quantile", level)
    return f"{start}, but {share} {verb} below {lowest}, and those average {tail}."


def _margin(
    found: tuple[FloatArray, FloatArray], value: float, state: int, ends: tuple[float, float]
) -> str:
    """The ± of a figure, in the digits of the figure; nothing where these show no error."""
    low, high = (float(end[state]) for end in found)
    reach = max(value - low, high - value)
    margin = show_number(reach, *ends, fine=False) if reach > 0.0 else ""
    return f" ± {margin}" if any(digit in margin for digit in "123456789") else ""


def threshold_sentence(
    dist: ReturnDistribution,
    threshold: float,
    name: str = "start",
    *,
    state: int = 0,
    lost: bool = False,
    interval: Interval | None = None,
) -> str:
    """Return the chance of ending below a threshold, as a sentence.

    ``lost`` says that mass fell off the grid and was moved to its ends: nothing is known then of
    what lies outside.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.report.sentences import threshold_sentence
    >>> dist = ReturnDistribution([0.034, 0.5], Grid(-1.0, 1.0, intervals=2))
    >>> threshold_sentence(dist, 0.0)
    'The chance to end below 0 is 3.4 %.'
    """
    threshold = check_number(threshold, "threshold")
    start = f"The chance to end below {show_given(threshold)}"
    start += "" if name == "start" else f" from {place(name)}"
    if lost and not dist.grid.low < threshold <= dist.grid.high:
        return f"{start} is not known: that is outside the grid, which lost mass at its ends."
    chance = float(dist[[state]].proper().probability_below(threshold)[0])
    between = ""
    if interval is not None:
        low, high = (float(end[state]) for end in interval("probability_below", threshold))
        between = f" (between {show_share(low)} and {show_share(high)})" if low < high else ""
    return f"{start} is {show_share(chance)}{between}."


def trust_sentence(
    validation: Validation | None,
    verdict: Verdict | None = None,
    *,
    width: float,
    confidence: float | None = None,
    remedy: str = "--validate N has the figures checked against N returns.",
) -> str:
    """Return how far the figures can be trusted: what they were checked against, or that not.

    ``width`` is that of the grid, ``confidence`` that of the bands, if there are any. A verdict
    that failed is not repeated: it stands where the headline would. ``remedy`` says how to have
    figures checked that were not.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution, validate
    >>> from lincat.report.sentences import trust_sentence
    >>> coin = ReturnDistribution([[0.5]] * 4, Grid(0.0, 1.0, intervals=1))
    >>> found = validate(coin, [0.0, 1.0, 1.0, 0.0], description="4 rollouts")
    >>> trust_sentence(found, width=4.0)
    'Checked against 4 rollouts: 80 % intervals held 80 % of them.'
    """
    trusted = None if verdict is None else verdict.trusted
    if validation is None and trusted is False:
        checked = "Figures and charts are shown as they were learned."
    elif validation is None:
        said = "Not checked." if verdict is None else verdict.sentence
        checked = f"{said} {remedy}".rstrip()
    elif verdict is not None and trusted:
        found, fits = _found(validation, width)
        checked = f"{verdict.sentence.removesuffix('.')}{':' if fits else ', but'} {found}."
    else:
        checked = f"Checked against {validation.description}: {_found(validation, width)[0]}."
    if confidence is None:
        return checked
    level = show_level(confidence)
    return f"{checked} ± and bands are sampling error at {level}, not that of features or grid."


def _found(validation: Validation, width: float) -> tuple[str, bool]:
    """What came of the check, in one figure, and whether that is as it should be."""
    total = validation.groups[0]
    if validation.method == "exact" or not validation.levels:
        w1 = total.w1 if total.w1_states is None else total.w1_states
        share = show_share(w1 / width)
        return f"the distributions are off by {share} of the grid's width (W1)", True
    coverage = zip(validation.levels, total.coverage, total.coverage_se, strict=True)
    level, held, se = min(coverage, key=lambda one: abs(one[0] - 0.8))
    found = f"{show_level(level)} intervals held {show_share(held)} of them"
    fits = abs(held - level) <= max(0.0501, 2.0 * (se or 0.0))
    if not fits:
        found += f": the distributions are somewhat too {'narrow' if held < level else 'wide'}"
    return found, fits


def comparison_sentence(
    runs: Sequence[str],
    distributions: Sequence[ReturnDistribution],
    name: str,
    *,
    level: float = 0.05,
    failed: Collection[str] = (),
) -> str:
    """Return which run has the highest mean from the first state, and which the best worst runs.

    Runs on which the verdict ``failed`` are not ranked.

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
    ranked = [i for i, run in enumerate(runs) if run not in failed]
    if len(ranked) < 2:
        return f"No run is ranked: the figures of {listed(failed)} are not to be trusted."
    if len(ranked) < len(runs):
        among = comparison_sentence(
            [runs[i] for i in ranked], [distributions[i] for i in ranked], name, level=level
        )
        return f"{among} The figures of {listed(failed)} are not to be trusted, and not ranked."
    ends = visible_range(*distributions)

    def show(value: float) -> str:
        return show_number(value, *ends, fine=False)

    first = [dist[[0]].proper() for dist in distributions]
    means = [float(dist.mean()[0]) for dist in first]
    tails = [float(dist.cvar(level)[0]) for dist in first]
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


def listed(runs: Collection[str]) -> str:
    """Return "run a", or "runs a, b and c"."""
    *most, last = runs
    return f"runs {', '.join(most)} and {last}" if most else f"run {last}"


def place(name: str) -> str:
    """Return how to speak of a state: "the start state", or its name."""
    if name == "start":
        return "the start state"
    return name if "state" in name.lower() else f"state {name}"
