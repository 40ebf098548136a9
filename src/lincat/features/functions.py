"""Functions that are linear in features, row by row."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix, FloatArray


def dots(rows: FeatureMatrix, weights: FloatArray) -> FloatArray:
    """Return rows·weights, shape (n,): of a row the same, whatever others it comes with.

    Products of dense matrices depend, in their last digits, on how many rows there are.
    """
    if scipy.sparse.issparse(rows):
        return np.asarray(rows @ weights)
    return np.asarray(np.einsum("ij,j->i", rows, weights))
