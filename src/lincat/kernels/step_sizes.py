"""What a step size needs: squared lengths of features, and the automatic schedule."""

import math

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import refuse


# Sums may be taken in any order, which lets them run through vector registers.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
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


@njit(cache=True, nogil=True)
def auto_steps(out, largest, ended, curvature, done, before, start, floor, span, hold):
    """out[i] = start y**(-3/4) / (R c), where y = 1 + (before + t)/tau.

    tau = max(floor + span R (t + 1)/E, hold R); 0 where R is. R = largest[i], E = ended[i] up to
    update i, c the curvature, and t = done + i.
    """
    refuse(largest.shape[0] < out.shape[0] or ended.shape[0] < out.shape[0])
    for i in range(out.shape[0]):
        out[i] = 0.0
        R, E, t = largest[i], ended[i], float(done + i)
        if R > 0.0:
            y = 1.0
            if E > 0.0:
                y += (before + t) * E / max(floor * E + span * R * (t + 1.0), hold * R * E)
            root = math.sqrt(y)
            out[i] = start / (root * math.sqrt(root) * R * curvature)
