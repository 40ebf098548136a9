"""What a batch solution knows of itself: how precise it is, and what its grid does to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from lincat._typing import BoolArray, FeatureMatrix, FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.inference.moment_errors import moment_errors
from lincat.inference.verdict import Diagnosis
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.model import Model
from lincat.solvers.influence import FEWEST_BLOCKS
from lincat.solvers.moments import exact_widening
from lincat.solvers.whitening import whiten

_STATES = 500  # of the sample that is looked at
_TAILS = 100  # likewise for tails, which take draws
_CONFIDENCE = 0.95  # an interval of which is four standard errors wide
_ROUNDING = 1e-9  # of a mean
_SMALLEST_SD = 0.1  # of the pooled one
_FEWEST_ASKED = 20
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
    sd = _sd(learner, Phi)
    errors = moment_errors(
        learner.statistics_, learner.moments_, learner.gamma, Phi, ridge=learner.ridge
    )
    # What is smaller than rounding of the means is no spread; in units of a scale, which there is
    # for a spread alone, it is never that small.
    about = None if model.scale is not None else model.potential
    size = 0.0 if about is None else abs(about.offset)
    size = max(size, float(np.abs(learner.moments_.mean(Phi)).max(initial=0.0)))
    chance = sd > _ROUNDING * size
    signed = learner.predict(Phi).negative_mass
    choice = learner.choice_
    return Diagnosis(
        mean_error=None if errors is None else _typical(errors.mean, sd, chance),
        asked_error=None if asked is None else _asked_error(model, learner, asked, sd),
        sd_error=None if errors is None else _typical(errors.variance, 2.0 * sd**2, chance),
        cvar_error=None if errors is None else _cvar_error(learner, level, Phi, sd, chance),
        negative_mass=float(signed.mean()),
        coarser=1.0 if choice is None else choice.wanted / choice.grid.intervals,
        off_grid=float(learner.clipped_mass_.sum()),
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
    sd = _sd(learner, Phi)
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


def _sd(learner: CategoricalLSTD, Phi: FeatureMatrix) -> FloatArray:
    """Standard deviations by the equation of moments, at least a tenth of the pooled one."""
    mean, variance = learner.moments_.mean(Phi), learner.moments_.variance(Phi)
    pooled = float(np.mean(np.maximum(variance, 0.0)) + np.var(mean))
    return np.sqrt(np.maximum(variance, _SMALLEST_SD**2 * pooled))


def _cvar_error(
    learner: CategoricalLSTD, level: float, Phi: FeatureMatrix, sd: FloatArray, chance: BoolArray
) -> float | None:
    """The standard error of CVaR that nine states in ten do not exceed, in deviations.

    None where data fall into too few blocks for intervals.
    """
    if learner.statistics_.n_blocks < FEWEST_BLOCKS:
        return None
    some = slice(None, None, -(-len(sd) // _TAILS))
    low, high = learner.predict(Phi[some], confidence=_CONFIDENCE).interval("cvar", level)
    known = chance[some] & np.isfinite(high - low)
    return _typical((high - low) / 4.0, sd[some], known)


def _asked_error(
    model: Model, learner: CategoricalLSTD, asked: Any, typical: FloatArray
) -> float | None:
    """The standard error of means that all but one in thirty of some states do not exceed.

    In standard deviations of each state, at least a tenth of a typical one. Of a sum of two, a
    potential and what was learned about it from the same rows, the larger error counts. None where
    too few states are asked for.
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
    variance = np.maximum(learner.moments_.variance(Phi), 0.0)
    sd = np.maximum(np.sqrt(variance), _SMALLEST_SD * float(np.median(typical)))
    if not (sd > 0.0).all():
        return None
    error = errors.mean
    if model.potential is not None:
        own = model.potential.standard_errors(asked)
        error = np.maximum(error, own if model.scale is None else own / model.scale.values(asked))
    return float(np.quantile(error / sd, _NEARLY_ALL))


def _typical(errors: FloatArray, unit: FloatArray, chance: BoolArray) -> float:
    """Nine states in ten are known at least so well, in their units; 0 where nothing is chance."""
    return float(np.quantile(errors[chance] / unit[chance], 0.9)) if chance.any() else 0.0
