"""Predicted distributions against true ones: errors in true standard deviations, and bars.

The unit of every error is the true standard deviation of the return from the probe, but at least a
tenth of that from a typical state, whichever it is: some policies leave nearly nothing to chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lincat._typing import FloatArray
from lincat.truth.known import Known
from lincat.truth.settings import BARS, LEVEL

_DRAWS = 60  # of the sampling error
_MOST_RETURNS = 5_000  # in a draw; errors of more are extrapolated by the square root
_MOST_ATOMS = 5_000  # of the truth in a draw: its sorted samples at even distances
_LEAST_SHARE = 0.1  # of the pooled standard deviation, in the unit


@dataclass(frozen=True)
class Prediction:
    """What is predicted for p probes: three figures, and the distribution as weighted atoms."""

    std: FloatArray  # (p,)
    quantile: FloatArray  # (p,)
    cvar: FloatArray  # (p,)
    atoms: tuple[FloatArray, ...]  # p arrays, increasing
    masses: tuple[FloatArray, ...]  # p arrays that sum to 1; learned ones may be negative

    @classmethod
    def of_samples(
        cls, samples: Iterable[FloatArray], masses: Iterable[FloatArray] | None = None
    ) -> Prediction:
        """Take each probe's samples, equally weighted unless masses are given, as predicted.

        Examples
        --------
        >>> import numpy as np
        >>> from lincat.truth.scores import Prediction
        >>> found = Prediction.of_samples([np.arange(40.0)])
        >>> found.std.round(2), found.quantile, found.cvar
        (array([11.54]), array([1.]), array([0.5]))
        """
        atoms = [np.asarray(values, float) for values in samples]
        if masses is None:
            atoms = [np.sort(values) for values in atoms]
            weights = [np.full(len(values), 1.0 / len(values)) for values in atoms]
        else:
            weights = [np.asarray(values, float) for values in masses]
        pairs = list(zip(atoms, weights, strict=True))
        return cls(
            np.array([_std(*pair) for pair in pairs]),
            np.array([_quantile(*pair) for pair in pairs]),
            np.array([_cvar(*pair) for pair in pairs]),
            tuple(atoms),
            tuple(weights),
        )

    @classmethod
    def of_distribution(cls, dist: Any) -> Prediction:
        """Take a ``lincat.ReturnDistribution`` by its own figures, as a user would.

        A signed distribution without a standard deviation has an infinite one here.
        """
        try:
            std = dist.std()
        except ValueError:
            std = np.sqrt(np.where(dist.variance() < 0.0, np.inf, dist.variance()))
        masses = dist.pmf
        # A distribution may have atoms of its own for each state; otherwise they share the grid's.
        atoms = np.broadcast_to(getattr(dist, "atoms", dist.grid.atoms), masses.shape)
        return cls(std, dist.quantile(LEVEL), dist.cvar(LEVEL), tuple(atoms), tuple(masses))


@dataclass(frozen=True)
class Errors:
    """Absolute errors at p probes, in units of the true standard deviation, each of shape (p,)."""

    std: FloatArray
    quantile: FloatArray
    cvar: FloatArray
    w1: FloatArray

    def worst(self) -> tuple[float, ...]:
        """Return the largest error of each measure, in the order of ``BARS.names``."""
        return tuple(float(getattr(self, name).max()) for name in BARS.names)


def unit(truth: Known) -> FloatArray:
    """The standard deviation in which errors at each probe are told, shape (p,)."""
    scale: FloatArray = np.maximum(truth.returns.std(axis=1), _LEAST_SHARE * truth.pooled_std)
    return scale


def errors_of(prediction: Prediction, truth: Known) -> Errors:
    """Return how far a prediction is from the truth at each probe."""
    scale, right = unit(truth), Prediction.of_samples(truth.returns)
    distances = [
        wasserstein_to_samples(atoms, masses, samples)
        for atoms, masses, samples in zip(
            prediction.atoms, prediction.masses, truth.returns, strict=True
        )
    ]
    return Errors(
        np.abs(prediction.std - right.std) / scale,
        np.abs(prediction.quantile - right.quantile) / scale,
        np.abs(prediction.cvar - right.cvar) / scale,
        np.array(distances) / scale,
    )


def wasserstein_to_samples(atoms: FloatArray, masses: FloatArray, samples: FloatArray) -> float:
    """Return ∫ |F − F'| dx, the exact distance of weighted atoms to sorted samples.

    Parameters
    ----------
    atoms, masses : arrays of shape (k,)
        Increasing, and not projected onto anything.
    samples : array of shape (n,)
        Increasing.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.truth.scores import wasserstein_to_samples
    >>> wasserstein_to_samples(np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.array([0.25, 0.25]))
    0.5
    """
    points = np.sort(np.concatenate([atoms, samples]))
    cumulative = np.concatenate([[0.0], np.cumsum(masses)])
    ours = cumulative[np.searchsorted(atoms, points[:-1], side="right")]
    theirs = np.searchsorted(samples, points[:-1], side="right") / len(samples)
    return float(np.abs(ours - theirs) @ np.diff(points))


def independent_returns(truth: Known, n_rows: int) -> FloatArray:
    """Return how many returns from each probe tell as much of its mean as so many rows, shape (p,).

    At least 2.
    """
    return np.maximum(2.0, n_rows / truth.rows_a_return)


def sampling_errors(truth: Known, n_rows: int, *, seed: int = 0) -> Errors:
    """Return the root mean square errors of an estimate that can be achieved with so many rows.

    The estimate: from each probe, as many independent returns as tell as much of the mean as the
    rows do (``independent_returns``), taken as they are. That is the error of an efficient estimate
    of the mean; of spread and shape a good estimate knows more, since every row speaks of them.
    So the bars are also shown without this allowance.
    """
    rng = np.random.default_rng(seed)
    wanted = independent_returns(truth, n_rows)
    drawn = np.minimum(wanted, _MOST_RETURNS).round().astype(np.int64)
    thinner = replace(truth, returns=truth.returns[:, :: -(-truth.returns.shape[1] // _MOST_ATOMS)])
    probes, atoms = thinner.returns.shape
    squares = np.zeros((len(BARS.names), probes))
    for _ in range(_DRAWS):
        masses = [np.bincount(rng.integers(0, atoms, n), minlength=atoms) / n for n in drawn]
        found = errors_of(Prediction.of_samples(thinner.returns, masses), thinner)
        squares += np.stack([getattr(found, name) for name in BARS.names]) ** 2
    roots = np.sqrt(squares / _DRAWS * drawn / wanted)
    return Errors(*roots)


def is_right(found: Errors, allowance: Errors | None = None) -> bool:
    """Return whether each error at each probe is within its bar.

    Bars are raised by twice the allowance, the sampling errors.
    """
    return all(bool((getattr(found, name) <= _bar(name, allowance)).all()) for name in BARS.names)


def _bar(name: str, allowance: Errors | None) -> Any:
    bar = getattr(BARS, name)
    return bar if allowance is None else bar + 2.0 * getattr(allowance, name)


def _std(values: FloatArray, masses: FloatArray) -> float:
    centred = values - masses @ values
    return math.sqrt(max(0.0, float(masses @ centred**2)))  # masses may be negative


def _quantile(values: FloatArray, masses: FloatArray) -> float:
    """The smallest value with at least LEVEL of the mass at or below it (to 1e-12)."""
    at = int(np.searchsorted(np.cumsum(masses), LEVEL - 1e-12))
    return float(values[at])


def _cvar(values: FloatArray, masses: FloatArray) -> float:
    """The mean of the lowest LEVEL of the mass; the atom at the quantile is split."""
    below = np.minimum(np.cumsum(masses), LEVEL)
    return float(np.diff(below, prepend=0.0) @ values / LEVEL)
