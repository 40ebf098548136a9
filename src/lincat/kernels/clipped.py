"""Probability mass that a Bellman push moves off the grid."""

import numpy as np
from numba import njit

from lincat.kernels.layout import CALLED, INLINED, PAD

__all__ = ["count_clipped", "mass_outside"]

# An atom pushed less than this beyond an end (in grid cells) is rounding, not clipping.
TOLERANCE = 1e-9


@njit(**INLINED)
def count_clipped(clipped, ahead, rho, delta, K):
    """Add the mass pushed below position 0 and above position K to clipped[0], clipped[1].

    A transition that stays on the grid costs two comparisons.
    """
    if rho < -TOLERANCE or rho + delta * K > K + TOLERANCE:
        below, above = mass_outside(ahead, PAD, ahead[PAD + K], rho, delta, K)
        clipped[0] += below
        clipped[1] += above


@njit(**CALLED)
def mass_outside(source, start, total, rho, delta, K):
    """The mass below position 0 and above position K of what is pushed, with CDF values F'_m.

    Atom m of the next state moves to rho + delta m, so the mass below is F'_m at the last m with
    rho + delta m < 0, and the mass above is F'_K - F'_m at the last m with rho + delta m <= K.
    source[start : start + K] holds F'_0 .. F'_{K-1}, and F'_K is the total.
    """
    below = above = 0.0
    if not delta > 0.0:  # the whole mass, one, sits at rho
        if rho < -TOLERANCE:
            below = 1.0
        elif rho > K + TOLERANCE:
            above = 1.0
        return below, above
    if rho < -TOLERANCE:
        m = int(min(np.ceil((-TOLERANCE - rho) / delta) - 1.0, K))
        below = source[start + m] if m < K else total
    if rho + delta * K > K + TOLERANCE:
        m = int(max(np.floor((K + TOLERANCE - rho) / delta), -1.0))
        above = total - (source[start + m] if m >= 0 else 0.0)
    return below, above
