"""Where learning step by step begins: on the grid, and from the distributions, of the warm-up.

A start far away is forgotten slowly (at gamma .99 not within 100,000 steps), and a grid that only
rewards know of is far too wide. Both come from the batch solution of the warm-up instead: with the
features themselves if they are few, with smooth features of the same numbers, or, where there is
nothing to be smooth in, of all states together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lincat._arguments import InvalidInputError
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf
from lincat.data.mixed import is_mixed
from lincat.data.steps import Steps
from lincat.data.transitions import Transitions
from lincat.features._base import Features
from lincat.features.auto import are_ids
from lincat.features.mixed import Mixed
from lincat.features.smooth import Smooth
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.growing import constants_of
from lincat.solvers.krylov import ConvergenceError

_FEW = 256  # features that are solved for as they are
_BUMPS = 64  # of smooth ones otherwise
_PSEUDO_ROWS = 15.0  # what a ridge weighs
_PARAMETERS = 20_000_000  # of the learner, that set its number of intervals
_INTERVALS = (50, 400)
_FITTED = 1500  # states that the first parameters are fitted to
_RIDGE = 1e-2  # of that fit, relative


@dataclass(frozen=True)
class WarmStart:
    """What a learner begins with.

    Attributes
    ----------
    grid : Grid
    Theta : array of shape (d, K)
    reason : str
        Where it comes from.
    """

    grid: Grid
    Theta: FloatArray
    reason: str


def warm_start(
    features: Features,
    warm_up: Steps,
    gamma: float,
    *,
    grid: Grid | None = None,
    intervals: int | None = None,
) -> WarmStart | None:
    """Return where to begin, from the first steps; None where these have no solution.

    Parameters
    ----------
    features : Features
        Fitted.
    warm_up : Steps
        As the learner is going to see them.
    gamma : float
    grid : Grid, optional
        If it is given.
    intervals : int, optional
        K, if it is given.
    """
    narrow, word = _narrower(features, warm_up)
    phi, phi_next = warm_up.both(_constant if narrow is None else narrow.transform)
    batch = CategoricalLSTD(
        gamma=gamma,
        grid=grid or "auto",
        intervals=intervals or "auto",
        ridge=_PSEUDO_ROWS / len(warm_up),
        n_features=1 if narrow is None else narrow.n_features_,
        max_blocks=1,
    )
    batch.partial_fit(
        Transitions(
            phi, warm_up.reward, phi_next, warm_up.terminated, warm_up.discount, warm_up.weight
        )
    )
    try:
        most = intervals_for(features.n_features_)
        if grid is None and intervals is None and batch.grid_.intervals > most:
            batch = batch.solve(intervals=most)
        rows = np.arange(len(warm_up))[:: -(-len(warm_up) // _FITTED)]
        F = batch.predict(phi[rows]).proper().cdf_values - uniform_cdf(batch.grid_.intervals)
    except (InvalidInputError, ConvergenceError):  # no episode has ended yet, at gamma = 1
        return None
    if narrow is features and not features.table:
        Theta = batch.Theta_
    else:
        Theta = _fitted(features, warm_up.observation[rows], F)
        if narrow is features:
            seen = np.unique(phi)
            Theta[seen] = batch.Theta_[seen]
    reason = f"Grid and first distributions: the batch solution of the first {len(warm_up):,}"
    return WarmStart(batch.grid_, Theta, f"{reason} transitions, {word}.")


def intervals_for(n_features: int) -> int:
    """Return how many intervals so many features may have, so that parameters fit."""
    return int(np.clip(_PARAMETERS // n_features, *_INTERVALS))


def _narrower(features: Features, warm_up: Steps) -> tuple[Features | None, str]:
    """Features for the warm-up; None for none but a constant."""
    if features.n_known_ <= _FEW:
        return features, "with the same features"
    if features.table or are_ids(warm_up.observation):
        return None, "all states together"
    form = Mixed if is_mixed(warm_up.observation) else Smooth
    smooth = form(bumps=_BUMPS).fit(warm_up.observation)
    return smooth, f"with {smooth.n_features_} smooth features"


def _constant(observations: FeatureMatrix) -> FloatArray:
    return np.ones((len(observations), 1))


def _fitted(features: Features, observations: FeatureMatrix, F: FloatArray) -> FloatArray:
    """Parameters (d, K) with phi·Theta about F, and about its mean for states not among these."""
    Phi = features.lookup(observations)
    d = features.n_features_
    if Phi.ndim == 1:
        ones = (np.ones(len(Phi)), Phi, np.arange(len(Phi) + 1))
        Phi = scipy.sparse.csr_array(ones, shape=(len(Phi), d))
    constant = next((c for c in constants_of(Phi) if c.holds(Phi)), None)
    mean = F.mean(axis=0) if constant is not None else np.zeros(F.shape[1])
    gram = Phi @ Phi.T
    gram = np.asarray(gram.toarray() if scipy.sparse.issparse(gram) else gram)
    gram[np.diag_indices_from(gram)] += _RIDGE * max(float(np.trace(gram)) / len(gram), 1e-300)
    Theta = np.asarray(Phi.T @ np.linalg.solve(gram, F - mean))
    if constant is not None:
        Theta += np.outer(constant.vector(d), mean)
    return Theta
