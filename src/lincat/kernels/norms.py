"""Squared lengths of rows."""

import numba
import numpy as np

__all__ = ["squared_norms"]


# Sums may be taken in any order, which lets them run through vector registers.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_norms(out, rows):
    """out[i] = ‖rows[i]‖², in float64."""
    n, d = rows.shape
    for i in range(n):
        total = 0.0
        for j in range(d):
            x = np.float64(rows[i, j])
            total += x * x
        out[i] = total
