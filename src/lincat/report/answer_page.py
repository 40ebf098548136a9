"""The pages of answers: of one, and of several laid over each other.

Both hold the answers themselves as JSON, which their script draws; what is written here is what can
be read without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec
import numpy as np

from lincat._arguments import check_levels, check_number, fail
from lincat._rows import html_table
from lincat._typing import FloatArray
from lincat.core.summary import shown_states, visible_range
from lincat.inference.answer import Answer
from lincat.inference.comparison import Comparison
from lincat.inference.intervals import Bands
from lincat.report.budget import budget_section
from lincat.report.cautions import cautions, lost_mass
from lincat.report.differences import certainty_sentence, differences_section
from lincat.report.numbers import show_count, show_given, show_seconds
from lincat.report.pieces import (
    calibration,
    checks_table,
    configuration,
    controls,
    distributions_sections,
    gamma_section,
    learning_curves,
    warnings_box,
)
from lincat.report.sentences import (
    comparison_sentence,
    listed,
    summary_sentence,
    threshold_sentence,
    trust_sentence,
)
from lincat.report.shell import facts, interactive_page, prose
from lincat.report.sites import sites_section
from lincat.report.tables import summary_rows

_MOST_RUNS = 24
_BAND_DIGITS = 5


class _PageData(msgspec.Struct, frozen=True, kw_only=True):
    """What the script of a page reads."""

    answers: tuple[Answer, ...]  # on the same states, those that are shown
    runs: tuple[str, ...]  # what they are called; none for a single one
    chosen: tuple[int, ...]  # what is drawn at first: states, or of several answers runs
    range: tuple[float, float]  # of returns worth drawing
    level: float
    threshold: float | None


def evaluation_page(
    answer: Answer,
    *,
    level: float | None = None,
    threshold: float | None = None,
    command: str = "",
) -> str:
    """Return the page of an answer as HTML: one file that needs, and can reach, nothing else.

    Parameters
    ----------
    answer : Answer
    level, threshold : float, optional
        Of quantiles and CVaR, and of the chance to end below; the answer's own by default.
    command : str
        That runs it again.

    Examples
    --------
    >>> from lincat import Answer, Grid, page
    >>> answer = Answer(source="a coin", gamma=0.5, grid=Grid(0.0, 2.0, intervals=2),
    ...                 state_names=("start",), cdf=((0.5, 0.5),))
    >>> page(answer)[:15]
    '<!DOCTYPE html>'
    """
    level, threshold = _asked(answer, level, threshold)
    first, *rest = _sentences(answer, level, threshold)
    data = _data([answer], (), level, threshold)
    n, shown = len(answer.state_names), data.answers[0]
    header = [
        '<p class="eyebrow">Return distribution, evaluated with lincat</p>',
        f"<h1>{escape(answer.source)}</h1>",
        f'<p class="{"lead failed" if answer.verdict.trusted is False else "lead"}">'
        f"{prose(first)}</p>",
        f'<p class="trust">{prose(" ".join(rest))}</p>',
        facts(_facts(answer)),
    ]
    return _page(
        answer.source,
        header,
        data,
        warnings=[caution.text for caution in cautions(answer)],
        picker=controls("States", total=n, shown=len(shown.state_names)),
        static=html_table(
            summary_rows(
                shown.returns,
                shown.state_names,
                level=level,
                interval=None if shown.intervals is None else shown.interval,
            )
        ),
        checks=checks_table(answer),
        budget=budget_section(answer.budget),
        sites=sites_section(answer.sites) + gamma_section(answer),
        configuration=configuration(answer.config, command, answer.versions),
    )


page = evaluation_page


def comparison_page(
    answers: Sequence[Answer],
    runs: Sequence[str],
    *,
    level: float | None = None,
    threshold: float | None = None,
    command: str = "",
    comparisons: Sequence[Comparison] = (),
) -> str:
    """Return the page of several answers on the same states; grids may differ.

    Parameters
    ----------
    answers : list of Answer
    runs : list of str
        What to call them.
    level, threshold, command
        As for :func:`evaluation_page`; level and threshold of the first by default.
    comparisons : list of Comparison
        How the first differs from each of the others, if that is known.

    Examples
    --------
    >>> from lincat import Answer, Grid
    >>> from lincat.report.answer_page import comparison_page
    >>> grid = Grid(0.0, 10.0, intervals=2)
    >>> one, two = (
    ...     Answer(source="coins", gamma=0.5, grid=grid, state_names=("start",), cdf=(cdf,))
    ...     for cdf in [(0.4, 0.5), (0.1, 0.9)]
    ... )
    >>> "run bold has the highest mean return" in comparison_page([one, two], ["bold", "careful"])
    True
    """
    if not 2 <= len(answers) <= _MOST_RUNS:
        raise fail("answers", f"those of 2 to {_MOST_RUNS} runs", len(answers))
    if len(runs) != len(answers):
        raise fail("runs", f"{len(answers)} names", len(runs))
    for name, answer in zip(runs, answers, strict=True):
        if answer.state_names != answers[0].state_names:
            raise fail(f"run {name}", "the states of the first run", list(answer.state_names))
    level, threshold = _asked(answers[0], level, threshold)
    data = _data(answers, runs, level, threshold)
    sentence = comparison_text(answers, runs, level=level, comparisons=comparisons)
    about = []
    for name, answer in zip(runs, answers, strict=True):
        failed = "not to be trusted" if answer.verdict.trusted is False else ""
        described = ", ".join(filter(None, [answer.source, answer.learner, failed]))
        about.append(f"<strong>{escape(name)}</strong>: {escape(described)}")
    title = "Runs compared"
    header = [
        '<p class="eyebrow">Return distributions, compared with lincat</p>',
        f"<h1>{title}</h1>",
        f'<p class="lead">{prose(sentence)}</p>',
        f'<p class="trust">{"; ".join(about)}.</p>',
    ]
    tables = [
        summary_rows(shown.returns, shown.state_names, level=level, negative=False)
        for shown in data.answers
    ]
    static = [
        {"state": row["state"], "run": name, **row}
        for rows in zip(*tables, strict=True)
        for name, row in zip(runs, rows, strict=True)
    ]
    texts = [
        f"{name}: {caution.text}"
        for name, answer in zip(runs, answers, strict=True)
        for caution in cautions(answer)
    ]
    return _page(
        title,
        header,
        data,
        warnings=texts,
        picker=controls("Runs", facets=len(data.answers[0].state_names) > 1),
        static=html_table(static),
        differences=differences_section(comparisons),
        checks="",
        configuration=configuration("", command, answers[0].versions),
    )


def comparison_text(
    answers: Sequence[Answer],
    runs: Sequence[str],
    *,
    level: float | None = None,
    comparisons: Sequence[Comparison] = (),
) -> str:
    """Return which of several runs does best, or why they cannot be ranked.

    Runs that see other observations, or discount by another gamma, speak of other things; one
    whose verdict failed is left out.
    """
    if level is None:
        level = answers[0].level
    reason = incomparable(answers, runs)
    if reason:
        return f"No run is ranked, as {reason}."
    failed = [r for r, a in zip(runs, answers, strict=True) if a.verdict.trusted is False]
    distributions = [answer.returns for answer in answers]
    ranking = comparison_sentence(
        runs, distributions, answers[0].state_names[0], level=level, failed=failed
    )
    return " ".join(filter(None, [ranking, *map(certainty_sentence, comparisons)]))


def incomparable(answers: Sequence[Answer], runs: Sequence[str]) -> str:
    """Return why these speak of other things: what they observe, or gamma; "" if they do not."""
    for what, plural, found in (
        ("observe", "things", [", ".join(answer.observation_names) for answer in answers]),
        ("discount by", "factors", [f"{answer.gamma:g}" for answer in answers]),
    ):
        known = list(dict.fromkeys(filter(None, found)))
        if len(known) > 1:
            groups = [[r for r, f in zip(runs, found, strict=True) if f == one] for one in known]
            who = "; ".join(
                f"{listed(group)}: {one}" for group, one in zip(groups, known, strict=True)
            )
            return f"they {what} different {plural} ({who})"
    return ""


def summary_text(
    answer: Answer, *, level: float | None = None, threshold: float | None = None
) -> str:
    """Return the summary in plain words, a sentence per line: risk, threshold, and trust.

    Where the verdict failed, it stands for risk and threshold.

    Examples
    --------
    >>> from lincat import Answer, Grid
    >>> from lincat.report.answer_page import summary_text
    >>> answer = Answer(source="my log", gamma=0.9, grid=Grid(0.0, 30.0, intervals=3),
    ...                 state_names=("start",), cdf=((0.04, 0.5, 0.9),), threshold=10.0)
    >>> print(summary_text(answer).splitlines()[1])
    The chance to end below 10 is 4.0 %.
    """
    return "\n".join(_sentences(answer, *_asked(answer, level, threshold)))


def _page(
    title: str,
    header: Sequence[str],
    data: _PageData,
    *,
    warnings: Sequence[str],
    picker: str,
    static: str,
    checks: str,
    configuration: str,
    differences: str = "",
    budget: str = "",
    sites: str = "",
) -> str:
    several = bool(data.runs)
    bands = next((answer.bands for answer in data.answers if answer.bands is not None), None)
    body = [
        f"<header>{chr(10).join(header)}</header><main>",
        warnings_box(warnings),
        differences,
        picker,
        *distributions_sections(
            "run" if several else "state",
            static=static,
            confidence=None if bands is None else bands.confidence,
        ),
        sites,
        learning_curves(data.answers, data.level),
        calibration(
            [answer.validation for answer in data.answers if answer.validation], several, checks
        ),
        budget,
        configuration,
        "</main>",
    ]
    return interactive_page(title, "\n".join(body), data)


def _asked(
    answer: Answer, level: float | None, threshold: float | None
) -> tuple[float, float | None]:
    """The level and the threshold to show: those given, or else the answer's own."""
    level = answer.level if level is None else float(check_levels(level, "level", zero=False))
    if threshold is None:
        return level, answer.threshold
    return level, check_number(threshold, "threshold")


def _sentences(answer: Answer, level: float, threshold: float | None) -> list[str]:
    """Summary and chance to end below the threshold, or why they are withheld; trust."""
    dist, name, verdict = answer.returns, answer.state_names[0], answer.verdict
    if verdict.trusted is False:
        sentences = [verdict.sentence]
    else:
        sentences = [summary_sentence(dist, name, level=level, interval=answer.interval)]
        if threshold is not None:
            lost, ends = lost_mass(answer), answer.interval
            sentences.append(threshold_sentence(dist, threshold, name, lost=lost, interval=ends))
    width = answer.grid.high - answer.grid.low
    confidence = None if answer.bands is None else answer.bands.confidence
    # Sums cannot be checked later by what they do not hold; a warning says so.
    lost = any(caution.code == "not_held_out" for caution in answer.warnings)
    how = {"remedy": ""} if lost else {}
    trust = trust_sentence(answer.validation, verdict, width=width, confidence=confidence, **how)
    return [*sentences, *filter(None, [trust, answer.no_intervals])]


def _facts(answer: Answer) -> list[tuple[str, str, str]]:
    grid, pace = answer.grid, ""
    if answer.seconds:
        per_second = show_count(answer.transitions / answer.seconds)
        pace = f"in {show_seconds(answer.seconds)}, {per_second} per second"
    entries = [
        ("Source", answer.source, ""),
        ("Learner", answer.learner, ""),
        ("Features", answer.features, ""),
        ("Transitions", f"{answer.transitions:,}" if answer.transitions else "", pace),
        ("Discount", f"γ = {answer.gamma:g}", ""),
        (
            "Grid",
            f"{show_given(grid.low)} to {show_given(grid.high)}",
            f"{grid.intervals} intervals",
        ),
    ]
    return [entry for entry in entries if entry[1]]


def _data(
    answers: Sequence[Answer], runs: Sequence[str], level: float, threshold: float | None
) -> _PageData:
    states = shown_states(len(answers[0].state_names))
    shown = tuple(_shown(answer, states) for answer in answers)
    return _PageData(
        answers=shown,
        runs=tuple(runs),
        chosen=tuple(range(len(runs))) if runs else _first_choice(len(states)),
        range=visible_range(*(answer.returns for answer in shown)),
        level=level,
        threshold=threshold,
    )


def _shown(answer: Answer, states: Sequence[int]) -> Answer:
    """The answer on some of its states, in digits enough to be drawn."""
    names, curves, bands = [answer.state_names[i] for i in states], answer.curves, answer.bands
    if bands is not None:
        low, high = (_drawn_band(np.array(band)[states]) for band in (bands.low, bands.high))
        bands = Bands(confidence=bands.confidence, low=low, high=high)
    moments = answer.moments
    if moments is not None:
        own = tuple(moments.states[i] for i in states)
        moments = msgspec.structs.replace(moments, states=own)
    intervals = answer.intervals
    if intervals is not None:
        kept_intervals = tuple(intervals.states[i] for i in states)
        intervals = msgspec.structs.replace(intervals, states=kept_intervals)
    if curves is not None:
        kept = [i for i, name in enumerate(curves.state_names) if name in names]
        curves = msgspec.structs.replace(
            curves,
            state_names=tuple(curves.state_names[i] for i in kept),
            mean=tuple(curves.mean[i] for i in kept),
            cvar=tuple(curves.cvar[i] for i in kept),
        )
    return msgspec.structs.replace(
        answer,
        state_names=tuple(names),
        cdf=tuple(answer.cdf[i] for i in states),
        bands=bands,
        intervals=intervals,
        curves=curves,
        moments=moments,
    )


def _drawn_band(band: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, np.clip(band, 0.0, 1.0).round(_BAND_DIGITS).tolist()))


def _first_choice(n: int) -> tuple[int, ...]:
    """All states, or eight spread over many: more ridges than that are a crowd."""
    return tuple(sorted({round(i * (n - 1) / max(min(n, 8) - 1, 1)) for i in range(min(n, 8))}))
