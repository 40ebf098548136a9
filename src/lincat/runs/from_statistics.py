"""A run whose source are statistics: no pass over rows, and the same folder, page and verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from lincat._arguments import InvalidInputError, fail, reason
from lincat._threads import steady_blas
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.inference.answer import Answer, Caution
from lincat.inference.heterogeneity import compare_sites
from lincat.inference.moment_sums import moment_sums
from lincat.inference.validate import validate
from lincat.inference.validation import Validation
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.asked_statistics import Asked, ask, nearest_held, states_of, typical_features
from lincat.runs.beginning import check_rows_suffice
from lincat.runs.conclude import SourceFacts, answer_of
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.given import Given
from lincat.runs.known_returns import said_of_weights
from lincat.runs.loop import Progress
from lincat.runs.model import Model
from lincat.runs.plan import PSEUDO_ROWS
from lincat.runs.recorder import Recorder
from lincat.runs.shown import OTHER, ShownStates
from lincat.runs.source_options import STATISTICS, check_options
from lincat.runs.source_statistics import SourceStatistics, merged
from lincat.runs.statistics_files import ENDING
from lincat.solvers.krylov import ConvergenceError

_DEFAULT_GAMMA = 0.99
_DEFAULT_INTERVALS = 50  # of a grid whose ends are given
_MOST_SCORED = 4_000
_NOT_HELD = (
    "No held-out returns are in the statistics for this discount factor and time: lincat stats "
    "keeps them, for --gamma too."
)
# What a pass over rows decides, and statistics have in them.
_DECIDED = ("steps", "n_step", "window", "feature_options", "warm_up")


def open_statistics(
    config: EvaluationConfig, given: Given | None = None
) -> SourceStatistics | None:
    """Return the statistics that a configuration names, added up; None if it names rows."""
    given = Given() if given is None else given
    thing = given.source
    if isinstance(thing, SourceStatistics):
        parts = [thing]
    elif thing is None and any(name.endswith(ENDING) for name in config.source):
        for name in config.source:
            if not name.endswith(ENDING):
                other = next(x for x in config.source if x.endswith(ENDING))
                remedy = f"lincat stats {name} --like {other} makes them"
                raise fail("SOURCE", f"files of statistics only (*{ENDING})", name, remedy)
        parts = [SourceStatistics.load(name) for name in config.source]
    else:
        return None
    check_options(STATISTICS, config, given)
    _check(config)
    names = [Path(name).name for name in config.source]
    return parts[0] if len(parts) == 1 else merged(parts, names)


def _check(config: EvaluationConfig) -> None:
    usual = EvaluationConfig(source=config.source)
    for name in _DECIDED:
        found = getattr(config, name)
        if found != getattr(usual, name):
            remedy = "lincat stats takes it, for a new file"
            raise fail(name, "nothing, as statistics have it in them", found, remedy)
    if config.features != "auto":
        raise fail("features", "'auto': statistics have theirs in them", config.features)
    if config.learner not in ("auto", "lstd"):
        raise fail("learner", "lstd: sums are solved, not learned from", config.learner)


class StatisticsRun:
    """A run from statistics, in a new folder.

    Parameters
    ----------
    folder : RunFolder
    whole : SourceStatistics
    """

    def __init__(self, folder: RunFolder, whole: SourceStatistics) -> None:
        self.folder, self.config, self._whole = folder, folder.config, whole

    def stop(self) -> None:
        """Nothing is under way for long."""

    def run(self) -> Iterator[Progress]:
        """Solve, write the model and the result."""
        self.folder.claim()
        try:
            total = self._whole.count
            yield Progress("solving", 0, total)
            with steady_blas():
                self.folder.answer = self._answer()
            yield Progress("done", total, total)
        finally:
            self.folder.release()

    def _answer(self) -> Answer:
        config, begun = self.config, time.perf_counter()
        asked = ask(
            self._whole, since=config.since, until=config.until, last_blocks=config.last_blocks
        )
        model = model_of(asked, config)
        shown = states_of(asked, config.n_states)
        self.folder.shown = shown
        model.learner.predict(shown.Phi)  # solved by now
        seconds = time.perf_counter() - begun
        self.folder.write_model(model.files())
        validation, cautions = None, []
        if config.validate != 0:
            try:
                validation = check_model(model, shown, asked, config.level)
            except (InvalidInputError, ConvergenceError) as error:
                text = f"Not validated: {reason(error)}."
                cautions.append(Caution("not_validated", text))
        if validation is None:
            cautions.append(Caution("not_held_out", _NOT_HELD))
        answer = answer_of(
            self.folder,
            facts_of(self._whole, model.learner.gamma),
            model,
            Recorder(self.folder, model, shown),
            validation=validation,
            seconds=seconds,
            complete=True,
            notes=notes_of(asked, model),
            cautions=cautions,
        )
        assert shown.Phi is not None  # as states_of has it
        ridge = model.learner.ridge if isinstance(model.learner, CategoricalLSTD) else 0.0
        answer = msgspec.structs.replace(
            answer,
            sites=_sites(asked, model, shown),
            moments=moment_sums(asked.pooled.totals(), shown.Phi, ridge=ridge),
        )
        self.folder.write_model(model.files())  # once more, as it knows its errors by now
        return answer


def model_of(asked: Asked, config: EvaluationConfig) -> Model:
    """Return a model that has learned from the sums."""
    features, gamma = asked.whole.features, config.gamma
    check_rows_suffice(features, asked.pooled.count, "statistics")
    grid: Grid | str = "auto"
    if config.low is not None and config.high is not None:
        grid = Grid(config.low, config.high, config.intervals or _DEFAULT_INTERVALS)
    learner = CategoricalLSTD(
        gamma=_DEFAULT_GAMMA if gamma is None else gamma,
        grid=grid,
        intervals=config.intervals or "auto",
        ridge=0.0 if features.table else PSEUDO_ROWS / max(asked.pooled.count, 1),
        n_features=features.n_features_,
    )
    learner.add_statistics(asked.pooled, typical_features(asked.whole))
    return Model(features, learner)


def quick_returns(
    asked: Asked, gamma: float, intervals: int, observations: Any, confidence: float | None
) -> ReturnDistribution:
    """Return distributions and nothing else: of observations, or of the states of a page."""
    config = EvaluationConfig(source=["-"], gamma=gamma, intervals=intervals)
    model = model_of(asked, config)
    if observations is not None:
        return model.predict(observations, confidence=confidence).proper()
    shown = states_of(asked, config.n_states)
    return model.predict_shown(shown, confidence=confidence).proper().labelled(shown.names)


def check_model(model: Model, shown: ShownStates, asked: Asked, level: float) -> Validation | None:
    """Return how the model compares with held-out returns, at its gamma or the one next to it."""
    learner: Any = model.learner
    held = nearest_held(asked.held, learner.gamma)
    if held is None:
        return None
    every = slice(None, None, -(-len(held.value) // _MOST_SCORED))
    cell, value, stretch = held.cell[every], held.value[every], held.stretch[every]
    weight = None if held.weight is None else held.weight[every]
    used, cell = np.unique(cell, return_inverse=True)
    solved = learner if held.gamma == learner.gamma else learner.solve(gamma=held.gamma)
    predicted = solved.predict(used if held.Phi is None else held.Phi[used])
    names = _names(shown, used, None if held.Phi is None else held.Phi[used])
    what = f"{len(value):,} held-out returns{said_of_weights(weight)}"
    if held.gamma != learner.gamma:
        what += f" at gamma {held.gamma:g}, the next to {learner.gamma:g} for which there are some"
    return validate(
        predicted[cell],
        value,
        weights=weight,
        groups=[names[c] for c in cell.tolist()],
        blocks=stretch.tolist(),
        tail=level,
        method="held_out",
        description=what,
    )


def _names(shown: ShownStates, used: Any, Phi: Any) -> list[str]:
    """The shown group that stands for each cell."""
    assert shown.Phi is not None
    own, names = shown.Phi[1:], shown.names[1:]
    if not len(own):
        return [shown.names[0]] * len(used)
    if Phi is None:
        known = {int(np.argmax(row)): name for row, name in zip(own, names, strict=True)}
        return [known.get(row, OTHER) for row in used.tolist()]
    distance = ((Phi[:, None, :] - own[None]) ** 2).sum(axis=2)
    return [names[i] for i in distance.argmin(axis=1).tolist()]


def _sites(asked: Asked, model: Model, shown: ShownStates) -> Any:
    sites, learner = asked.whole.sites, model.learner
    if len(sites) < 2 or not isinstance(learner, CategoricalLSTD) or shown.Phi is None:
        return None
    return compare_sites(
        [site.name for site in sites],
        [site.statistics for site in sites],
        asked.pooled,
        learner.moments_,
        learner.gamma,
        shown.Phi[0],
        ridge=learner.ridge,
        state=shown.names[0],
    )


def facts_of(whole: SourceStatistics, gamma: float) -> SourceFacts:
    """Return what an answer says of its source."""
    names = [site.name for site in whole.sites]
    said = names[0] if len(names) == 1 else f"{len(names)} sites, {names[0]} to {names[-1]}"
    skipped = sum(site.skipped_rows for site in whole.sites)
    return SourceFacts(f"statistics of {said}", whole.observation_names, gamma, skipped)


def notes_of(asked: Asked, model: Model) -> Sequence[str]:
    """Return what was read, and what the answer stands on."""
    sites = ", ".join(f"{x.name} ({x.statistics.count:,})" for x in asked.whole.sites)
    said = [f"Sums of {sites}; no rows.", *asked.notes, model.features.describe()]
    if not model.features.table:
        said.append(
            "Features without a discount factor in them, and rewards of one step: what lincat "
            "evaluate learns from rows, for one gamma, is often nearer."
        )
    return said
