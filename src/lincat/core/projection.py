"""The Cramér projection of any atoms onto a grid (Eq. (categorical_prob))."""

from __future__ import annotations

import numpy as np

from lincat._arguments import check_array, fail
from lincat._typing import ArrayLike, FloatArray
from lincat.core.grid import Grid


def project(atoms: ArrayLike, masses: ArrayLike, grid: Grid) -> FloatArray:
    """Project signed masses at any points onto the grid's atoms.

    Each mass is shared between the two atoms around it::

        p_k = sum_i masses_i * max(0, 1 - |atoms_i - x_k| / spacing)

    This is the nearest distribution on the grid in Cramér distance; it keeps the total mass, and
    the mean too (Lemma cramer_proj_preserve_mean) unless an atom lies outside: it then moves to the
    end.

    Parameters
    ----------
    atoms : array of shape (m,) or (..., m)
        Where the mass is.
    masses : array of shape (..., m)
        How much of it; may be negative.
    grid : Grid
        The K + 1 atoms to project onto.

    Returns
    -------
    array of shape (..., K + 1)

    Examples
    --------
    >>> from lincat import Grid, project
    >>> project([1.0], [1.0], Grid(0.25, 3.25, intervals=3))
    array([0.25, 0.75, 0.  , 0.  ])
    """
    points = check_array(atoms, "atoms")
    weights = check_array(masses, "masses")
    if weights.ndim == 0 or points.ndim == 0 or points.shape[-1] != weights.shape[-1]:
        raise fail("masses", f"one mass for each of atoms {points.shape}", f"shape {weights.shape}")
    try:
        points, weights = np.broadcast_arrays(points, weights)
    except ValueError:
        raise fail(
            "masses", f"a shape that matches atoms {points.shape}", f"shape {weights.shape}"
        ) from None

    K = grid.intervals
    position = np.clip(grid.position(points), 0.0, K)
    # The last atom belongs to the last interval: an index of K would lie one past it.
    left = np.minimum(position.astype(np.int64), K - 1)
    share_right = position - left

    rows = int(np.prod(weights.shape[:-1], dtype=np.int64))
    cell = (np.arange(rows)[:, None] * (K + 1) + left.reshape(rows, -1)).ravel()
    size = rows * (K + 1)
    to_left = np.bincount(cell, (weights * (1.0 - share_right)).ravel(), size)
    to_right = np.bincount(cell + 1, (weights * share_right).ravel(), size)
    return np.add(to_left, to_right, dtype=np.float64).reshape(*weights.shape[:-1], K + 1)
