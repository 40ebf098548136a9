"""What a step size needs: squared lengths of features, and the automatic schedule."""

import numba
import numpy as np

from lincat.kernels.guards import refuse

__all__ = ["auto_steps", "squared_norms"]


# Sums may be taken in any order, which lets them run through vector registers.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_norms(out, rows):
    """out[i] = ‖rows[i]‖², in float64."""
    n, d = rows.shape
    refuse(out.shape[0] < n)
    for i in range(n):
        total = 0.0
        for j in range(d):
            x = np.float64(rows[i, j])
            total += x * x
        out[i] = total


@numba.njit(cache=True, nogil=True)
def auto_steps(out, largest, curvature, done, tau):
    """out[i] = (1 + (done + i)/tau)**(-0.6) / (4 largest[i] curvature); 0 where largest is."""
    refuse(largest.shape[0] < out.shape[0])
    for i in range(out.shape[0]):
        out[i] = 0.0
        if largest[i] > 0.0:
            out[i] = 0.25 * (1.0 + (done + i) / tau) ** -0.6 / (largest[i] * curvature)
