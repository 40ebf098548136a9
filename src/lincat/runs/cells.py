"""Groups of like states: what a page shows of a source whose rows stay where they are.

Where features are no table, states are put together with those that have nearly the same features.
A group has means, of features (over all of its rows: its distribution is the mean of theirs) and of
the observations of the first rows, by which it is called.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.data.mixed import is_missing, is_mixed, is_text, mixed_of
from lincat.features._base import Features
from lincat.runs.shown import named_states, spread_out
from lincat.runs.source_statistics import Cells

_CELLS = 64
_FEWEST_ROWS = 20  # of the first rows, in each: what stands for a group is no single row
_MOST_CLUSTERED = 8192
_SEED = 0


def cells_of(features: Features, observations: Any) -> Cells:
    """Put the states of the first rows into groups by their features.

    Parameters
    ----------
    features : Features
        That are no table.
    observations : array of n observations
    """
    rng = np.random.default_rng(_SEED)
    take = np.sort(rng.permutation(len(observations))[:_MOST_CLUSTERED])
    some = observations[take]
    phi = dense(features.lookup(some))
    label = _clustered(phi, min(_CELLS, max(len(some) // (2 * _FEWEST_ROWS), 1)), rng)
    size = np.bincount(label)
    order = np.argsort(-size, kind="stable")
    kept = [c for c in order.tolist() if size[c] >= _FEWEST_ROWS] or order[:1].tolist()
    centres = np.array([phi[label == c].mean(axis=0) for c in kept])
    return Cells(centres, named_states([middle_of(some[label == c]) for c in kept]))


def nearest_cell(phi: FeatureMatrix, centres: FloatArray) -> IntArray:
    """Return the cell of each row of features, shape (n,)."""
    distance = (centres**2).sum(axis=1) - 2.0 * np.asarray(phi @ centres.T)
    return np.asarray(distance.argmin(axis=1), dtype=np.int64)


def summed_by(cell: IntArray, phi: FeatureMatrix, n: int) -> FloatArray:
    """Return the sum of the features of each cell, shape (n, d)."""
    rows = np.arange(len(cell))
    which = scipy.sparse.csr_array((np.ones(len(cell)), (cell, rows)), shape=(n, len(cell)))
    return dense(which @ phi)


def dense(phi: FeatureMatrix) -> FloatArray:
    """Return features as an array."""
    return np.asarray(phi.toarray() if scipy.sparse.issparse(phi) else phi, dtype=np.float64)


def middle_of(observations: Any) -> Any:
    """Return one observation that stands for several: means of numbers, the most frequent texts.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.runs.cells import middle_of
    >>> middle_of(np.array([[0.0, 1.0], [1.0, 2.0]]))
    array([[0.5, 1.5]])
    """
    if is_mixed(observations):
        columns = {}
        for name in observations.dtype.names:
            column = observations[name]
            there = column[~is_missing(column)]
            if is_text(observations, name):
                columns[name] = np.array([_most_frequent(column)], dtype=object)
            else:
                columns[name] = np.array([there.mean() if len(there) else np.nan])
        return mixed_of(columns)
    if observations.ndim == 1:
        return observations[:1] if len(observations) == 1 else _frequent_id(observations)
    return np.asarray(observations, dtype=np.float64).mean(axis=0)[None]


def _most_frequent(column: Any) -> Any:
    values = column.tolist()
    return max(dict.fromkeys(values), key=values.count)


def _frequent_id(ids: Any) -> Any:
    one = np.empty(1, dtype=ids.dtype)
    one[0] = _most_frequent(ids)
    return one


def _clustered(phi: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    from scipy.cluster.vq import kmeans2

    distinct, label = np.unique(phi, axis=0, return_inverse=True)
    if len(distinct) <= n:
        return np.asarray(label, dtype=np.int64).ravel()
    first = phi[spread_out(phi, n, rng)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty", UserWarning)
        _, label = kmeans2(phi, first, minit="matrix")
    return np.asarray(label, dtype=np.int64)
