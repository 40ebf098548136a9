"""A quadratic of standardised numbers z: 1, z_i and z_i z_j."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from lincat._typing import FloatArray, IntArray

#: Standard deviations from which on nothing changes.
FAR = 5.0
_MOST = 8  # numbers up to which products are taken

#: The first and the second number of each product.
Pairs: TypeAlias = tuple[IntArray, IntArray]


def product_pairs(m: int) -> Pairs:
    """Return which of m numbers are multiplied: all pairs, or none where there would be many."""
    first, second = np.triu_indices(m if m <= _MOST else 0)
    return first, second


def quadratic(z: FloatArray, pairs: Pairs) -> FloatArray:
    """Return 1, z_i and the products of points z (n, m), side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.features.quadratic import product_pairs, quadratic
    >>> quadratic(np.array([[2.0, 3.0]]), product_pairs(2))
    array([[1., 2., 3., 4., 6., 9.]])
    """
    first, second = pairs
    return np.concatenate([np.ones((len(z), 1)), z, z[:, first] * z[:, second]], axis=1)


def quadratic_names(names: Sequence[str], pairs: Pairs) -> list[str]:
    """Return the names of these columns, from those of the numbers."""
    return ["1", *names, *(f"{names[i]}*{names[j]}" for i, j in zip(*pairs, strict=True))]
