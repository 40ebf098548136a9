"""What a batch solution knows of itself: how precise it is, and what its grid does to it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from lincat._typing import BoolArray, FeatureMatrix, FloatArray, IntArray
from lincat.core.distribution import ReturnDistribution
from lincat.inference.moment_errors import MomentErrors, moment_errors
from lincat.inference.verdict import Diagnosis
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.model import Model
from lincat.solvers.grid_choice import spacing_for
from lincat.solvers.influence import FEWEST_BLOCKS
from lincat.solvers.moments import exact_widening, widening
from lincat.solvers.whitening import whiten

_STATES = 500  # of the sample that is looked at
_TAILS = 100  # likewise for tails, which take draws
_CONFIDENCE = 0.95  # an interval of which is four standard errors wide
_ROUNDING = 1e-9  # of a mean
_SMALLEST_SD = 0.1  # of the pooled one
_FEWEST_ASKED = 20
_ALIKE = 0.6  # TD errors of neighbours, from which on they are no chance (0.05, or 0.87 and more)
_MOST = 0.9  # of the states
_NEARLY_ALL = 0.97  # of the states that are asked for


def diagnosis_of(model: Model, level: float = 0.05, asked: Any = None) -> Diagnosis | None:
    """Return what the solution says of itself; None for what is learned step by step.

    Parameters
    ----------
    model : Model
    level : float
        Of CVaR.
    asked : n observations, optional
        That the headline speaks of: where records begin, as a rule.
    """
    learner = model.learner
    if not isinstance(learner, CategoricalLSTD):
        return None
    Phi = learner.typical_features(_STATES)
    mean, variance = _moments(learner, Phi)
    pooled = _pooled_sd(model, learner, Phi)
    sd = _unit(variance, pooled)
    errors = moment_errors(
        learner.statistics_, learner.moments_, learner.gamma, Phi, ridge=learner.ridge
    )
    # What is smaller than rounding of the means is no spread; in units of a scale, which there is
    # for a spread alone, it is never that small.
    about = None if model.scale is not None else model.potential
    size = 0.0 if about is None else abs(about.offset)
    size = max(size, float(np.abs(mean).max(initial=0.0)))
    least = _ROUNDING * size
    chance = sd > least
    # Of distributions that are narrow beside how returns differ, negative mass moves little.
    seen = np.minimum(np.sqrt(variance) / np.where(sd > 0.0, sd, 1.0), 1.0)
    signed = learner.predict(Phi).negative_mass * np.where(sd > 0.0, seen, 1.0)
    return Diagnosis(
        mean_error=None if errors is None else _typical(errors.mean, sd, chance),
        asked_error=None if asked is None else _asked_error(model, learner, asked, pooled, least),
        sd_error=None if errors is None else _typical(_sd_error(errors, variance), sd, chance),
        cvar_error=None if errors is None else _cvar_error(learner, level, Phi, sd, chance),
        negative_mass=float(signed.mean()),
        coarser=_coarser(learner, Phi, variance, _SMALLEST_SD * pooled),
        off_grid=float(learner.clipped_mass_.sum()),
        unresolved=_unresolved(model, np.sqrt(variance), pooled),
    )


def widening_of(model: Model) -> float:
    """Return the share by which the grid makes standard deviations too large, typically."""
    learner = model.learner
    if not isinstance(learner, CategoricalLSTD):
        return 0.0
    Phi = learner.typical_features(_STATES)
    totals = learner.statistics_.totals()
    whitening = whiten(totals.Sigma, ridge=learner.ridge)
    weights = exact_widening(
        totals, learner.gamma, learner.grid_, learner.Theta_, whitening=whitening
    )
    added = np.maximum(np.asarray(Phi @ weights), 0.0) * learner.grid_.spacing**2
    sd = _unit(_moments(learner, Phi)[1], _pooled_sd(model, learner, Phi))
    inside = sd > 0.0
    if not inside.any():
        return 0.0
    return float(np.median(np.sqrt(1.0 + added[inside] / sd[inside] ** 2) - 1.0))


def rough_widening(learned: ReturnDistribution, gamma: float) -> float:
    """Return the same for what was learned step by step, of which no sums tell.

    Where rewards are spread out, projecting adds spacing²/6 of variance a step, and
    spacing²/(6 (1 − gamma²)) in all.
    """
    if gamma == 1.0:
        return 0.0
    variance = learned.proper().variance()
    added = learned.grid.spacing**2 / (6.0 * (1.0 - gamma**2))
    # What was learned is wide already; none is left of one that is nothing but widening.
    some = variance[variance > 0.0]
    if not len(some):
        return 0.0
    return float(np.median(np.sqrt(some / np.maximum(some - added, 0.01 * some)) - 1.0))


def _moments(learner: CategoricalLSTD, Phi: FeatureMatrix) -> tuple[FloatArray, FloatArray]:
    """Mean and variance by the equations of moments, (n,) each."""
    return learner.moments_.mean(Phi), np.maximum(learner.moments_.variance(Phi), 0.0)


def _pooled_sd(model: Model, learner: CategoricalLSTD, Phi: FeatureMatrix) -> float:
    """The standard deviation of returns, all states together, in the units that are learned in.

    Part of it may be that of a potential; where units differ from state to state, the large ones
    count, so that it is rather too small.
    """
    pooled = learner.moments_.pooled_variance(Phi)
    if model.potential is not None:
        unit = 1.0 if model.scale is None else model.scale.large
        pooled += 0.0 if unit is None else (model.potential.spread / unit) ** 2
    return math.sqrt(pooled)


def _unit(variance: FloatArray, pooled: float) -> FloatArray:
    """What errors are measured in: each standard deviation, at least a tenth of the pooled one."""
    return np.asarray(np.maximum(np.sqrt(variance), _SMALLEST_SD * pooled))


def _unresolved(model: Model, sd: FloatArray, pooled: float) -> float | None:
    """What nine states in ten vary by at most, of all returns, where nothing seems to be chance.

    Held-out returns do not tell: they lie where a distribution that is too wide has them.
    """
    if model.potential is None or not model.potential.alike > _ALIKE or not pooled > 0.0:
        return None
    return float(np.quantile(sd, _MOST)) / pooled


def _coarser(
    learner: CategoricalLSTD, Phi: FeatureMatrix, variance: FloatArray, floor: float
) -> float:
    """How many times more intervals are wanted than there are; 1 of a grid that was given.

    The grid was chosen by what is left of returns about a potential: of certain ones hardly
    anything, of which it need not show the shape.
    """
    choice = learner.choice_
    if choice is None:
        return 1.0
    coarser = choice.wanted / choice.grid.intervals
    if coarser <= 1.0:
        return coarser
    added = np.asarray(Phi @ widening(learner.statistics_.totals(), learner.gamma))
    spacing = spacing_for(variance, added, floor)
    return min(coarser, max(choice.grid.spacing / spacing, 1.0)) if spacing > 0.0 else coarser


def _sd_error(errors: MomentErrors, variance: FloatArray) -> FloatArray:
    """The standard errors of standard deviations: √(v + e) − √v, of variances v with errors e.

    That is e/2√v at most, and √e where there is hardly any variance.
    """
    certain = variance <= errors.variance / 4.0
    half = errors.variance / np.where(certain, 1.0, 2.0 * np.sqrt(variance))
    return np.asarray(np.where(certain, np.sqrt(errors.variance), half))


def _cvar_error(
    learner: CategoricalLSTD, level: float, Phi: FeatureMatrix, sd: FloatArray, chance: BoolArray
) -> float | None:
    """The standard error of CVaR that nine states in ten do not exceed, in deviations.

    None where data fall into too few blocks for intervals.
    """
    if learner.statistics_.n_blocks < FEWEST_BLOCKS:
        return None
    some = slice(None, None, -(-len(sd) // _TAILS))
    first, again = _distinct(Phi[some])
    found = learner.predict(Phi[some][first], confidence=_CONFIDENCE)
    low, high = (end[again] for end in found.interval("cvar", level))
    known = chance[some] & np.isfinite(high - low)
    return _typical((high - low) / 4.0, sd[some], known)


def _distinct(Phi: FeatureMatrix) -> tuple[IntArray, IntArray]:
    """Return rows that are all there are, and which of these each row is: a table has few."""
    rows = scipy.sparse.csr_array(Phi)
    numbers: dict[tuple[bytes, bytes], int] = {}
    again = np.empty(rows.shape[0], dtype=np.int64)
    for i, (begin, end) in enumerate(pairwise(rows.indptr)):
        row = rows.indices[begin:end].tobytes(), rows.data[begin:end].tobytes()
        again[i] = numbers.setdefault(row, len(numbers))
    return np.unique(again, return_index=True)[1], again


def _asked_error(
    model: Model, learner: CategoricalLSTD, asked: Any, pooled: float, least: float
) -> float | None:
    """The standard error of means that all but one in thirty of some states do not exceed.

    In standard deviations of each state, at least a tenth of the pooled one; below the ``least``
    there is no chance. Of a sum of two, a potential and what was learned about it from the same
    rows, the larger error counts. None where too few states are asked for.
    """
    asked = asked[model.features.knows(asked)]
    if len(asked) < _FEWEST_ASKED:
        return None
    Phi = model.features.lookup(asked)
    if Phi.ndim == 1:  # of a table
        shape = (len(Phi), learner.statistics_.n_features or 0)
        Phi = scipy.sparse.csr_array((np.ones(len(Phi)), (np.arange(len(Phi)), Phi)), shape=shape)
    errors = moment_errors(
        learner.statistics_, learner.moments_, learner.gamma, Phi, ridge=learner.ridge
    )
    if errors is None:
        return None
    sd = _unit(_moments(learner, Phi)[1], pooled)
    error = errors.mean
    if model.potential is not None:
        own = model.potential.standard_errors(asked)
        error = np.maximum(error, own if model.scale is None else own / model.scale.values(asked))
    return _typical(error, sd, sd > least, _NEARLY_ALL)


def _typical(
    errors: FloatArray, unit: FloatArray, chance: BoolArray, share: float = _MOST
) -> float:
    """Such a share of states is known at least so well, in their units; 0 of what is certain."""
    return float(np.quantile(errors[chance] / unit[chance], share)) if chance.any() else 0.0
