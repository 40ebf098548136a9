"""Weights that undo what chance did in the choice of actions.

A policy that acts at random acts, in any log, a little more or less often than its chances say, and
much of what differs from log to log is that. Where the chances are known, steps can be weighted so
that near every observation all actions count as often as the policy takes them (Pavse, Durugkar,
Hanna and Stone, 2020: "Reducing sampling error in batch temporal difference learning"). What is
learned then varies less, by as much as actions explain, and is the same in the limit.

With u the noise of an action, of mean 0 given the observation s, and ψ narrow bumps, g = u ⊗ ψ(s)
has the mean 0, and the weights w = 1 − g·(Σ g gᵀ)⁻¹ Σ g are those nearest to 1 for which Σ w g = 0
(calibration: Deville and Särndal, 1992). Of a table they would be the policy's chance of an action
over its frequency.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lincat._typing import FeatureMatrix, FloatArray
from lincat.data.steps import Steps, joined
from lincat.features.nearby import Nearby
from lincat.runs.pilot import PILOT

#: What is said of a run whose steps are weighted so.
BALANCED = "Steps are weighted so that actions count as often as the policy takes them."

_log = logging.getLogger("lincat.runs")

_ROWS_A_BUMP = 130  # fewer are too fine to be balanced, more leave noise in between
_MOST_BUMPS = 1500
_FEWEST_BUMPS = 8
_MOST_CONDITIONS = 3600  # numbers of g
_NEIGHBOURS = 8
_RIDGE = 1e-3  # of the mean square of each number of g
_LOW, _HIGH = 0.1, 10.0  # of a weight
_SURE = 6.0  # standard errors: noise that is further from 0 is not what the policy says


def balanced(batches: Iterable[Steps], *, rows: int = PILOT) -> Iterator[Steps]:
    """Yield the same steps with weights, so many at a time; as they are where no noise is known.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.steps import Steps
    >>> from lincat.runs.balancing import balanced
    >>> rng, no = np.random.default_rng(0), np.zeros(6000, dtype=bool)
    >>> s, right = rng.normal(size=(6000, 1)), rng.random(6000) < 0.3
    >>> steps = Steps(s, right * 1.0, s, no, no, action_noise=right[:, None] - 0.3)
    >>> (weighted,) = balanced([steps])
    >>> float(right.mean().round(3)), float(np.average(right, weights=weighted.weight).round(3))
    (0.299, 0.3)
    """
    narrow: Nearby | None = None  # of the first part
    weighted: bool | None = None  # whether that was: parts are joined, so all are, or none
    for part in _parts(batches, rows):
        whole = joined(part)
        if whole.action_noise is None or weighted is False:
            yield from part
            continue
        if weighted is None:
            narrow = bumps_for(whole)
        few = weighted and 2 * len(whole) < rows  # for so many bumps
        weight = balancing_weights(whole, None if few else narrow)
        if weighted is None:
            weighted = weight is not None
        yield from _weighted(part, weight) if weighted else part


def _parts(batches: Iterable[Steps], rows: int) -> Iterator[list[Steps]]:
    """Batches with noise, so many rows at a time; others one by one."""
    waiting: list[Steps] = []
    for batch in batches:
        if batch.action_noise is None:
            yield [batch]
            continue
        waiting.append(batch)
        if sum(map(len, waiting)) >= rows:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _weighted(batches: list[Steps], weight: FloatArray | None) -> Iterator[Steps]:
    """The batches of a part with their weights, 1 where the part is too short for others."""
    begin = 0
    for batch in batches:
        own = np.ones(len(batch)) if weight is None else weight[begin : begin + len(batch)]
        begin += len(batch)
        yield replace(batch, weight=own if batch.weight is None else own * batch.weight)


def bumps_for(steps: Steps) -> Nearby | None:
    """Return bumps near which the noise of steps can be balanced; None for too few steps."""
    noise = steps.action_noise
    if noise is None:
        return None
    points = _points(steps)
    n, m = points.shape
    others = (m + 1) * (m + 2) // 2  # a quadratic
    bumps = min(n // _ROWS_A_BUMP, _MOST_BUMPS, _MOST_CONDITIONS // noise.shape[1]) - others
    if bumps < _FEWEST_BUMPS:
        return None
    narrow = Nearby(bumps=bumps, neighbours=_NEIGHBOURS).fit(points)
    if len(narrow.centers_) < bumps:  # as many as there are different points: each has its own
        narrow = Nearby(bumps=bumps, neighbours=1).fit(points)
    return narrow


def balancing_weights(steps: Steps, narrow: Nearby | None = None) -> FloatArray | None:
    """Return weights under which the noise of actions is 0 near every observation, shape (n,).

    ``narrow`` are the bumps; by default those for these steps. None where rows are too few to say
    so, where nothing is left to chance or noise is no number, or where it is not what the policy
    says: it may remember what it did, or look at more than the observation.
    """
    noise = steps.action_noise
    if noise is None or not noise.any() or not np.isfinite(noise).all():
        return None
    narrow = narrow or bumps_for(steps)
    if narrow is None:
        return None
    g = _conditions(narrow.transform(_points(steps)), noise[:, noise.any(axis=0)])
    total = np.asarray(g.sum(axis=0)).ravel()
    squares = (g.T @ g).toarray()
    error = np.sqrt(np.diag(squares))
    if (np.abs(total) > _SURE * np.maximum(error, np.finfo(np.float64).tiny)).any():
        _log.info("actions are not taken as often as the policy says: not weighted")
        return None
    squares[np.diag_indices(len(squares))] += _RIDGE * (error**2 + np.finfo(np.float64).tiny)
    try:
        factors = cho_factor(squares, overwrite_a=True)
    except LinAlgError:
        return None
    return np.asarray(np.clip(1.0 - g @ cho_solve(factors, total), _LOW, _HIGH))


def _conditions(psi: FeatureMatrix, noise: FloatArray) -> FeatureMatrix:
    """The numbers g = u ⊗ ψ(s) of each step, sparse."""
    unit = noise / np.abs(noise).max(axis=0)
    parts = [scipy.sparse.diags_array(u, format="csr") @ psi for u in unit.T]
    return scipy.sparse.hstack(parts, format="csr")


def _points(steps: Steps) -> FloatArray:
    return np.asarray(steps.observation, np.float64).reshape(len(steps), -1)
