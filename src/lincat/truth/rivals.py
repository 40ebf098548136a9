"""What a user would do instead, with the same rows: returns-to-go, grouped or regressed upon.

A return counts if its record terminates, or continues until gamma^h is at most 0.01; where fewer
than a tenth of the rows have such a return, the tenth with the most future counts. What lies behind
the end of a record that breaks off is filled in with the mean reward for ever, times gamma^h. With
gamma = 1 only whole episodes count.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from lincat._typing import FloatArray
from lincat.truth.scores import Prediction
from lincat.truth.simulation import Log, known_returns


class Rival(Protocol):
    """Predicts returns from probes, shape (p, m), by a log."""

    def __call__(self, log: Log, probes: FloatArray, *, gamma: float, ids: bool) -> Prediction:
        """Return what is predicted; ``ids`` says that observations are names, not numbers."""


_RESIDUAL = 0.01
_LEAST_SHARE = 0.1  # of rows that must count
_LEAST_NEIGHBOURS = 20

_LEVELS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)
_MOST_BOOSTED = 20_000  # rows; more take long and bring little, since returns overlap
_SPREAD = (np.arange(500) + 0.5) / 500  # levels at which a quantile function is taken for samples


def observed_returns(log: Log, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Return the observations and the returns of the rows that count, shapes (n, m) and (n,)."""
    returns, weight, known = known_returns(log, gamma, _RESIDUAL)
    if known.mean() < _LEAST_SHARE and gamma < 1.0:
        known = weight <= np.quantile(weight, _LEAST_SHARE)
    if gamma < 1.0:
        returns = returns + weight * log.reward.mean() / (1.0 - gamma)
    return log.observation[known], returns[known]


def neighbours(log: Log, probes: FloatArray, *, gamma: float, ids: bool) -> Prediction:
    """Take the returns observed from the same id, or from the √n nearest observations.

    Distances are of standardised numbers; an id that was never seen gets all returns.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.truth.problems import problem_named
    >>> from lincat.truth.rivals import neighbours
    >>> problem = problem_named("deterministic")
    >>> log = problem.log(2000, seed=0)
    >>> neighbours(log, np.array([[3.0]]), gamma=problem.gamma, ids=True).std.round(4)
    array([0.])
    """
    observation, returns = observed_returns(log, gamma)
    if ids:
        groups = [returns[observation[:, 0] == probe] for probe in probes[:, 0]]
        return Prediction.of_samples([group if len(group) else returns for group in groups])
    k = min(len(returns), max(_LEAST_NEIGHBOURS, math.isqrt(len(returns))))
    centre, spread = observation.mean(axis=0), observation.std(axis=0)
    spread[spread == 0.0] = 1.0
    _, nearest = cKDTree((observation - centre) / spread).query((probes - centre) / spread, k=k)
    return Prediction.of_samples(returns[nearest])


def boosting(log: Log, probes: FloatArray, *, gamma: float, ids: bool) -> Prediction:
    """Regress fifteen quantiles of the returns on the observation by gradient-boosted trees.

    scikit-learn's ``HistGradientBoostingRegressor`` as it comes, ids as categories, on at most
    20,000 rows at even distances. Quantiles are put in order and joined by lines.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    observation, returns = observed_returns(log, gamma)
    rows = np.unique(np.linspace(0, len(returns) - 1, min(len(returns), _MOST_BOOSTED)).astype(int))
    shift, scale = returns.mean(), returns.std() or 1.0
    columns = []
    for level in _LEVELS:
        model = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=level,
            categorical_features=[0] if ids else None,
            random_state=0,
        )
        model.fit(observation[rows], (returns[rows] - shift) / scale)
        columns.append(shift + scale * model.predict(probes))
    quantiles = np.sort(np.stack(columns, axis=1), axis=1)
    return Prediction.of_samples([np.interp(_SPREAD, _LEVELS, row) for row in quantiles])


RIVALS: dict[str, Rival] = {"neighbours": neighbours, "boosting": boosting}
