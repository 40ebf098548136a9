"""Functions that are linear in features, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix, FloatArray
from lincat.features._base import Features

_CHUNK = 2048  # rows whose features are made at a time, which stay in the cache


def function_values(features: Features, weights: FloatArray, observations: Any) -> FloatArray:
    """Return features(s)·weights of n observations, shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> from lincat.features.functions import function_values
    >>> line = lincat.Identity().fit(np.zeros((1, 2)))
    >>> function_values(line, np.array([2.0, 3.0]), np.eye(2))
    array([2., 3.])
    """
    parts = chunks(observations, _CHUNK)
    return np.concatenate([dots(features.lookup(part), weights) for part in parts])


def chunks(observations: Any, size: int) -> list[Any]:
    """Return observations so many at a time; lists and frames as they are."""
    if not isinstance(observations, np.ndarray) or len(observations) <= size:
        return [observations]
    return [observations[i : i + size] for i in range(0, len(observations), size)]


def dots(rows: FeatureMatrix, weights: FloatArray) -> FloatArray:
    """Return rows·weights, shape (n,): of a row the same, whatever others it comes with.

    Products of dense matrices depend, in their last digits, on how many rows there are.
    """
    if scipy.sparse.issparse(rows):
        return np.asarray(rows @ weights)
    return np.asarray(np.einsum("ij,j->i", rows, weights))
