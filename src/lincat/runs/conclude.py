"""The end of a run: its answer, and what the user should hear of beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from lincat._arguments import InvalidInputError, fail, reason
from lincat._reach import Words
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.inference.answer import Answer, Caution, Curves
from lincat.inference.budget import Budget, error_budget
from lincat.inference.intervals import Bands, intervals_of
from lincat.inference.settling import FEWEST_BATCHES, Settling
from lincat.inference.validation import Validation
from lincat.inference.verdict import judge
from lincat.learners._base import Learner
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.config import EvaluationConfig, config_to_toml
from lincat.runs.diagnosis import diagnosis_of, rough_widening, widening_of
from lincat.runs.folder import MetricsRow, RunFolder
from lincat.runs.model import DistributionLearner, Model
from lincat.runs.passes import SETTLED, in_deviations
from lincat.runs.recorder import Recorder
from lincat.runs.shown import ShownStates
from lincat.runs.sources import Opened
from lincat.solvers.influence import CAUTIONS, FEWEST_BLOCKS
from lincat.solvers.krylov import ConvergenceError

_CONFIDENCE = 0.95
_NEGLIGIBLE = 1e-5  # mass off the grid, per transition
_WIDER = 0.1  # share by which a given grid may widen
_DEPENDENT = 0.5  # correlation of successive parts of a run, from which it had not settled
_DIGITS = 7  # of curves, which are there to be drawn


class SourceFacts(msgspec.Struct, frozen=True):
    """What an answer says of its source.

    Attributes
    ----------
    description : str
    names : tuple of str
        Of the numbers or columns of an observation.
    gamma : float
    skipped_rows : int
    """

    description: Words
    names: tuple[Words, ...]
    gamma: float
    skipped_rows: int

    @classmethod
    def of(cls, opened: Opened) -> SourceFacts:
        """Return what is known by now."""
        source = opened.source
        names = tuple(source.space.names)
        return cls(source.description, names, opened.gamma, source.skipped_rows)


def answer_of(
    folder: RunFolder,
    facts: SourceFacts,
    model: Model,
    recorder: Recorder,
    *,
    validation: Validation | None,
    seconds: float,
    complete: bool,
    notes: Sequence[str],
    cautions: Sequence[Caution] = (),
) -> Answer:
    """Return what the run says of the shown states, and how far to trust it."""
    config, shown = folder.config, recorder.shown
    no_intervals = _no_intervals(model.learner)
    confidence = None if no_intervals else _CONFIDENCE
    distribution = model.predict_shown(shown, confidence=confidence)
    bands = None
    if distribution.uncertainty is not None:
        low, high = distribution.band()
        bands = Bands(confidence=_CONFIDENCE, low=_rows(low), high=_rows(high))
    return Answer(
        source=facts.description,
        observation_names=facts.names,
        features=model.features.describe(),
        learner=type(model.learner).__name__,
        gamma=facts.gamma,
        transitions=model.learner.n_seen_,
        skipped_rows=facts.skipped_rows,
        seconds=seconds,
        complete=complete,
        grid=distribution.grid,
        state_names=tuple(shown.names),
        cdf=_rows(distribution.cdf_values),
        bands=bands,
        intervals=intervals_of(distribution, [config.level]),
        no_intervals=no_intervals,
        level=config.level,
        threshold=config.below,
        curves=curves_of(folder.metrics(), shown.names, config.level),
        validation=validation,
        budget=_budget(model, shown, config.level, validation),
        verdict=judge(diagnosis_of(model, config.level, shown.asked), validation),
        notes=(*notes, *_grid_notes(model)),
        warnings=(*cautions, *_cautions(model, recorder, config, facts.skipped_rows)),
        config=config_to_toml(config),
        versions=folder.versions,
    )


def _budget(
    model: Model, shown: ShownStates, level: float, validation: Validation | None
) -> Budget | None:
    """Where the error comes from, if the learner knows its own."""
    learner = model.learner
    if not isinstance(learner, CategoricalLSTD) or _no_intervals(learner):
        return None
    return error_budget(
        learner,
        tuple(shown.names),
        lambda other: replace(model, learner=other).predict_shown(shown),
        level=level,
        validation=validation,
        widening=widening_of(model),
    )


def _no_intervals(learner: DistributionLearner) -> str:
    """Why figures of this learner have no intervals; nothing where they have."""
    if not (isinstance(learner, CategoricalLSTD) or learner.settles_at_solution):
        return (
            "No intervals: this learner settles elsewhere than at what its data say; "
            "--learner lstd solves for the figures, and has them."
        )
    if learner.statistics_ is None:
        return (
            "No intervals: sums of so many features are too large to be kept beside what is "
            "learned step by step, and nothing else tells its error; fewer features have them."
        )
    blocks = learner.statistics_.n_blocks
    if blocks < FEWEST_BLOCKS:
        return (
            f"No intervals: {learner.n_seen_:,} transitions fall into {blocks} blocks of time, and "
            f"{FEWEST_BLOCKS} are needed; give more, or features whose sums take less memory."
        )
    if isinstance(learner, CategoricalLearner):
        try:
            _ = learner.ensemble_
        except (InvalidInputError, ConvergenceError) as error:  # which the learner does not need
            return f"No intervals: {reason(error)}."
    return ""


def curves_of(rows: Sequence[MetricsRow], names: Sequence[str], level: float) -> Curves | None:
    """Return the rows of a run as columns; nothing where there are no rows."""
    if not rows:
        return None
    if any(len(row.mean) != len(names) or len(row.cvar) != len(names) for row in rows):
        raise fail("metrics.jsonl", f"rows of {len(names)} states", "others", "remove the file")

    def columns(table: list[Any]) -> Any:
        return tuple(tuple(float(f"{x:.{_DIGITS}g}") for x in column) for column in table)

    clipped, negative = columns(
        [
            [row.clipped_below + row.clipped_above for row in rows],
            [row.negative_mass for row in rows],
        ]
    )
    return Curves(
        level=level,
        state_names=tuple(names),
        transitions=tuple(row.transitions for row in rows),
        mean=columns(list(zip(*(row.mean for row in rows), strict=True))),
        cvar=columns(list(zip(*(row.cvar for row in rows), strict=True))),
        clipped=clipped,
        negative_mass=negative,
    )


def _rows(table: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in table.tolist())


def _cautions(
    model: Model, recorder: Recorder, config: EvaluationConfig, skipped_rows: int
) -> list[Caution]:
    """Return what may be wrong with the answer, a sentence each."""
    skipped = f"{skipped_rows:,} bad rows were left out (--on-bad-rows skip)."
    learner = model.learner
    step = _step(learner, config) if isinstance(learner, CategoricalLearner) else ""
    found = [
        Caution("off_grid", _clipped(model, config)),
        Caution("large_step", step),
        Caution("coarse_grid", _coarse(model, recorder, config)),
        Caution("never_fired", _never_fired(model)),
        Caution("unreached", _unreached(model)),
        Caution("no_contraction", _no_contraction(learner)),
        Caution("unsettled", _unsettled(model, recorder)),
        Caution("bad_rows", skipped if skipped_rows else ""),
        *_interval_cautions(learner),
    ]
    return [caution for caution in found if caution.text]


def _interval_cautions(learner: DistributionLearner) -> list[Caution]:
    """What may make intervals too narrow: few data, or such as depend on each other for long."""
    if _no_intervals(learner):
        return []
    return [Caution(word, CAUTIONS[word]) for word in learner.ensemble_.cautions]


def _moves(recorder: Recorder) -> Settling | None:
    """How the estimate moved, if the run was long enough to tell."""
    moves = recorder.moves
    return moves if moves is not None and moves.n_batches >= FEWEST_BATCHES else None


def _unsettled(model: Model, recorder: Recorder) -> str:
    """How far the estimate is from where it heads, if that is far."""
    if not isinstance(model.learner, CategoricalLearner):
        return ""
    moves = _moves(recorder)
    if moves is None or moves.autocorrelation() <= _DEPENDENT:
        return ""
    estimate = model.predict_shown(recorder.shown)
    off = in_deviations(
        estimate, ReturnDistribution(estimate.cdf_values + moves.ahead(), estimate.grid)
    )
    if off <= SETTLED:
        return ""
    return (
        f"Learning had not settled: the estimate is about {off:.2g} standard deviations from where "
        "it heads (W1, of the shown states the most); learn from more transitions, or in more "
        "--passes."
    )


def _clipped(model: Model, config: EvaluationConfig) -> str:
    below, above = model.learner.clipped_mass_
    if below + above <= _NEGLIGIBLE:
        return ""
    grid = model.learner.grid_
    if model.scale is not None:
        return (
            f"{below:.2g} of the mass falls below the grid, which reaches {-grid.low:.3g} standard "
            f"deviations below the mean of each state and {grid.high:.3g} above, and {above:.2g} "
            "above it; it is moved to the ends, so that means and tails are biased a little."
        )
    remedy = "without --low and --high the grid is put where the returns are"
    if config.low is None:
        remedy = "--low and --high further out, with --intervals in proportion, hold it"
    return (
        f"{below:.2g} of the mass falls below the grid [{grid.low:.4g}, {grid.high:.4g}] and "
        f"{above:.2g} above it, and is moved to its ends, so means are biased; {remedy}."
    )


def _grid_notes(model: Model) -> list[str]:
    learner = model.learner
    if isinstance(learner, CategoricalLearner):
        return []
    about = "" if model.potential is None else " about the potential"
    grid = learner.grid_
    return [
        f"Grid: [{grid.low:.4g}, {grid.high:.4g}]{about}, {grid.intervals} intervals, which make "
        f"standard deviations at most {100.0 * widening_of(model):.1g} % too large."
    ]


def _coarse(model: Model, recorder: Recorder, config: EvaluationConfig) -> str:
    """A given grid is kept, and judged; of one that was chosen the verdict speaks.

    One that grew until it is too coarse is judged too.
    """
    learner = model.learner
    stepwise = isinstance(learner, CategoricalLearner)
    if config.low is None and config.intervals is None and not stepwise:
        return ""
    grid = learner.grid_
    if stepwise:
        wider = rough_widening(model.predict_shown(recorder.shown), learner.gamma)
    else:
        wider = widening_of(model)
    few = 0.0 < grid.intervals * (1.0 - learner.gamma) < 1.0
    if wider <= _WIDER and not few:
        return ""
    return (
        f"The grid [{grid.low:.4g}, {grid.high:.4g}] with {grid.intervals} intervals makes "
        f"standard deviations {'about ' * stepwise}{100.0 * wider:.2g} % too large"
        + (f", and K (1 − gamma) = {grid.intervals * (1.0 - learner.gamma):.2g} is below 1" * few)
        + "; raise --intervals, or leave the grid to lincat."
    )


def _step(learner: Learner[Any], config: EvaluationConfig) -> str:
    if not isinstance(config.step_size, float) or config.step_power is not None:
        return ""
    limit = learner.stable_step_
    if config.step_size <= 0.5 * limit:
        return ""
    return (
        f"The step size {config.step_size:g} is close to or above {limit:.3g}, up to which "
        "learning is shown to be stable: expect noise; --step-size auto needs no tuning."
    )


def _never_fired(model: Model) -> str:
    """Rows of parameters that no transition touched, where that is worth a word."""
    features = model.features
    known = features.n_known_  # other rows are kept for ids that never came
    idle = known - int(model.learner.touched_rows().sum())
    if idle <= 0 or not features.all_used:
        return ""
    what = "features never fire"
    if features.table:
        what = "states were never left (those that end an episode never are)"
    return f"{idle} of {known} {what}: what is said of them is a first guess."


def _unreached(model: Model) -> str:
    """Features that others explain on all rows; of a table, `_never_fired` names the rows."""
    learner = model.learner
    if model.features.table or not isinstance(learner, CategoricalLSTD) or learner.ridge > 0.0:
        return ""
    report = learner.rank_report(learner.sampled_features()[:0])
    if report.rank == int(learner.touched_rows().sum()):
        return ""
    return f"{report.reach} Intervals of states with a part there hold everything."


def _no_contraction(learner: DistributionLearner) -> str:
    if not isinstance(learner, CategoricalLSTD):
        return ""
    spectrum = learner.solution_.spectrum
    if spectrum.is_contraction:
        return ""
    return (
        "The Bellman equation of the data is no contraction (spectral radius "
        f"{spectrum.radius:.4g}): steps lead to where hardly any begin, so that figures may be far "
        "off; learn from whole episodes of the policy itself, or use fewer features."
    )
