"""The page of one evaluation: what its return distributions say, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from lincat._arguments import check_array, check_levels, check_number, fail
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.report.curves import curve_of, ticks_of
from lincat.report.numbers import show_given, show_share, visible_range
from lincat.report.page import html_table
from lincat.report.pieces import (
    calibration,
    configuration,
    controls,
    distributions_sections,
    learning_curves,
    shown_states,
    warnings_box,
)
from lincat.report.sentences import summary_sentence, threshold_sentence, trust_sentence
from lincat.report.shell import facts, interactive_page, prose
from lincat.report.tables import summary_rows

__all__ = ["Evaluation", "evaluation_page", "summary_text"]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Everything that the page of an evaluation shows, as plain data.

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.report.evaluation import Evaluation, evaluation_page, summary_text
    >>> dist = ReturnDistribution([[0.04, 0.5, 0.9]], Grid(0.0, 30.0, intervals=3))
    >>> evaluation = Evaluation(title="My run", names=["start"], dist=dist, threshold=10.0)
    >>> print(summary_text(evaluation).splitlines()[1])
    The chance to end below 10 is 4.0 %.
    >>> evaluation_page(evaluation)[:15]
    '<!DOCTYPE html>'
    """

    title: str
    names: Sequence[str]  # of the states; the first is "start" where episodes have starts
    dist: ReturnDistribution  # one distribution per name
    observations: Sequence[str] | None = None  # a short text per state
    source: str = ""
    learner: str = ""
    features: str = ""
    n_seen: int | None = None  # transitions learned from
    seconds: float | None = None
    gamma: float | None = None
    bands: tuple[FloatArray, FloatArray] | None = None  # low and high CDF values, (n, K) each
    confidence: float = 0.95  # of the bands
    level: float = 0.05  # of CVaR
    threshold: float | None = None  # a return below it is ruin
    # Rows of metrics, {"transitions", "state", "mean", "q", "cvar"} and, without a state,
    # {"transitions", "clipped", "negative", "step_size", "per_second"}.
    curves: Sequence[Mapping[str, Any]] = ()
    # {"kind", "rows", "pit", "comparison"}; all but rows may be missing.
    validation: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()
    config_text: str = ""  # TOML
    command: str = ""  # that runs it again
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.dist)
        if n == 0:
            raise fail("dist", "at least one state", "none")
        for argument, texts in (("names", self.names), ("observations", self.observations)):
            if texts is not None and len(texts) != n:
                raise fail(argument, f"{n} texts, one per state", len(texts))
        if self.bands is not None:
            shape = self.dist.cdf_values.shape
            for argument, band in zip(("bands[0]", "bands[1]"), self.bands, strict=True):
                check_array(band, argument, shape=shape)
        check_levels(self.level, "level", zero=False)
        check_number(self.confidence, "confidence", low=0.0, high=1.0)
        if self.threshold is not None:
            check_number(self.threshold, "threshold")
        if self.validation is not None and not isinstance(
            self.validation.get("rows"), list | tuple
        ):
            raise fail("validation", "a dict with a list of rows", repr(self.validation)[:60])


def summary_text(evaluation: Evaluation) -> str:
    """Return the summary in plain words, a sentence per line: risk, ruin, and trust."""
    return "\n".join(_sentences(evaluation))


def evaluation_page(evaluation: Evaluation) -> str:
    """Return the page as HTML: one file that needs, and can reach, nothing else."""
    e = evaluation
    first, *rest = _sentences(e)
    shown = shown_states(len(e.dist))
    body = [
        '<header><p class="eyebrow">Return distribution, evaluated with lincat</p>',
        f"<h1>{escape(e.title)}</h1>",
        f'<p class="lead">{prose(first)}</p>',
        f'<p class="trust">{prose(" ".join(rest))}</p>',
        facts(_facts(e)),
        "</header><main>",
        warnings_box(_warnings(e)),
        controls("States", total=len(e.dist), shown=len(shown)),
        *distributions_sections(
            "state",
            static=html_table(
                summary_rows(e.dist[shown], [e.names[i] for i in shown], level=e.level)
            ),
            confidence=e.confidence if e.bands is not None else None,
        ),
    ]
    data = _data(e, shown)
    body.append(learning_curves(data, e.level))
    if e.validation is not None:
        body.append(calibration(data["validation"], e.validation))
    body.append(configuration(e.config_text, e.command, e.versions))
    body.append("</main>")
    return interactive_page(e.title, "\n".join(body), data)


def _sentences(e: Evaluation) -> list[str]:
    """Summary, chance of ruin, trust."""
    name = e.names[0]
    sentences = [summary_sentence(e.dist, name, level=e.level)]
    if e.threshold is not None:
        sentences.append(threshold_sentence(e.dist, e.threshold, name))
    width = e.dist.grid.high - e.dist.grid.low
    confidence = e.confidence if e.bands is not None else None
    return [*sentences, trust_sentence(e.validation, width=width, confidence=confidence)]


def _facts(e: Evaluation) -> list[tuple[str, str, str]]:
    entries = [
        (what, text, "")
        for what, text in (("Source", e.source), ("Learner", e.learner), ("Features", e.features))
        if text
    ]
    if e.n_seen is not None:
        pace = ""
        if e.seconds:
            pace = f"in {_seconds(e.seconds)}, {_count(e.n_seen / e.seconds)} per second"
        entries.append(("Transitions", f"{e.n_seen:,}", pace))
    if e.gamma is not None:
        entries.append(("Discount", f"γ = {e.gamma:g}", ""))
    grid = e.dist.grid
    entries.append(
        (
            "Grid",
            f"{show_given(grid.low)} to {show_given(grid.high)}",
            f"{grid.intervals} intervals",
        )
    )
    return entries


def _warnings(e: Evaluation) -> list[str]:
    texts = [str(text) for text in e.warnings]
    negative = e.dist.negative_mass
    if negative.max() > 1e-3 and not any("negative mass" in text.lower() for text in texts):
        worst = int(negative.argmax())
        texts.append(
            f"Negative mass: up to {show_share(float(negative[worst]))} (state {e.names[worst]}). "
            "Distributions, quantiles and tails are of the nearest proper ones; means are as "
            "learned."
        )
    return texts


def _data(e: Evaluation, shown: list[int]) -> dict[str, Any]:
    grid, proper, means = e.dist.grid, e.dist.proper(), e.dist.mean()
    distributions = []
    for i in shown:
        distribution: dict[str, Any] = {"low": grid.low, "high": grid.high, "mean": means[i]}
        distribution["cdf"] = proper.cdf_values[i]
        if e.bands is not None:
            low, high = (np.clip(np.asarray(band)[i], 0.0, 1.0).round(5) for band in e.bands)
            distribution["bands"] = {"low": low, "high": high}
        distributions.append(distribution)
    notes = e.observations or [""] * len(e.names)
    names = [str(e.names[i]) for i in shown]
    by_state = {name: curve_of(e.curves, name) for name in names}
    data: dict[str, Any] = {
        "series": [{"name": str(e.names[i]), "note": str(notes[i])} for i in shown],
        "facets": [""],
        "chosen": _first_choice(len(shown)),
        "distributions": [distributions],
        "range": visible_range(e.dist[shown]),
        "level": e.level,
        "threshold": e.threshold,
        "curves": [[by_state[name] for name in names]] if any(by_state.values()) else None,
        "ticks": ticks_of(e.curves),
        "validation": None,
    }
    if e.validation is not None and e.validation["rows"]:
        v = e.validation
        data["validation"] = {
            "rows": [dict(row) for row in v["rows"]],
            "pit": v.get("pit") or {},
            "comparison": v.get("comparison") or {},
            "tail": v.get("tail"),
            "exact": "exact" in str(v.get("kind", "")).lower(),
        }
    return data


def _first_choice(n: int) -> list[int]:
    """All states, or eight spread over many: more ridges than that are a crowd."""
    return sorted({round(i * (n - 1) / max(min(n, 8) - 1, 1)) for i in range(min(n, 8))})


def _seconds(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes = seconds / 60.0
    return f"{minutes:.0f} min" if minutes < 120.0 else f"{minutes / 60.0:.1f} h"


def _count(n: float) -> str:
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if n >= size:
            return f"{n / size:.3g} {word}"
    return f"{float(f'{n:.3g}'):,.0f}"
