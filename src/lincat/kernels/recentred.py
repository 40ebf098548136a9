"""Recentred updates of Linear-CTD, for the learner that reduces variance.

Within an epoch three matrices (d, K) stay as they are: the anchor at which gradients are gathered,
the mean of all anchors before, and the mean gradient there. One transition moves the iterate by

    −step [A_t (iterate − mean_anchor) + mean_gradient],      A_t x = phi ⊗ (phi·x − B(r) phi'·x),

and adds weight (A_t anchor − b_t) to the gathered gradients. The mean gradient moves *all* rows in
every update; so that an update costs what its features touch, Theta leaves it out:

    iterate = Theta − clock[0] mean_gradient,      clock[0] the sum of the steps of this epoch.

clock[1] adds clock[0] up over the iterates, for their average, and clock[2] the weights gathered.
Features are compressed rows of any kind, (indptr, indices, values).
"""

import numpy as np
from numba import njit

from lincat.kernels.bellman import TOLERANCE, add_target, mass_outside
from lincat.kernels.guards import guard_csr, guard_numbers, guard_parameters, refuse
from lincat.kernels.layout import CALLED, KERNEL


@njit(**KERNEL)
def recentred_updates(
    Theta,
    U,
    gathered,
    centre,
    clock,
    clipped,
    phi,
    phi_next,
    rho,
    delta,
    step,
    weight,
    limit,
    K,
    plain,
    seen,
    batch,
):
    """Update Theta, U, gathered and clock, one batch after another; return how many were made.

    centre (3, d, K) holds anchor, mean_anchor and mean_gradient. With ``plain``, as long as there
    is no mean gradient, transitions move the iterate by their own; with plain = 2 nothing is
    gathered either.
    """
    n, d = rho.shape[0], Theta.shape[0]
    guard_parameters(Theta, U, clipped, K, batch)
    guard_numbers(n, rho, delta, step)
    guard_csr(phi, d, n)
    guard_csr(phi_next, d, n)
    refuse(weight.shape[0] < n or clock.shape[0] < 3)
    refuse(gathered.shape != (d, K) or centre.shape != (3, d, K))
    here, ahead = np.empty((2, K)), np.empty((2, K))
    errors = np.empty((batch, 2, K))
    sources = ahead.ravel()
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            j = t - first
            _rows(here, Theta, centre, clock[0], phi, t, K)
            _rows(ahead, Theta, centre, clock[0], phi_next, t, K)
            errors[j] = 0.0
            pair = errors[j]
            add_target(pair, 0, sources, 0, rho[t], delta[t], 1.0, -1.0, K)
            add_target(pair, 1, sources, K, rho[t], delta[t], 0.0, -1.0, K)
            squares = 0.0 * (rho[t] + delta[t])
            for k in range(K):
                pair[0, k] += here[0, k]
                pair[1, k] += here[1, k]
                if plain:
                    pair[1, k] += pair[0, k]
                squares += pair[0, k] ** 2 + pair[1, k] ** 2
            if not squares <= limit:
                return first
            if rho[t] < -TOLERANCE or rho[t] + delta[t] * K > K + TOLERANCE:
                below, above = mass_outside(sources, 0, 1.0, rho[t], delta[t], K)
                clipped[0] += below
                clipped[1] += above
        lag = seen + number
        for t in range(first, last):
            _add(Theta, U, gathered, errors[t - first], phi, t, step[t], weight[t], lag, plain, K)
            if not plain:
                clock[0] += step[t]
            if plain != 2:
                clock[2] += weight[t]
        clock[1] += clock[0]
    return n


@njit(**CALLED)
def _rows(out, Theta, centre, drift, phi, t, K):
    """out = phi·anchor + (k+1)/(K+1), and phi·(iterate − mean_anchor)."""
    indptr, indices, values = phi
    for k in range(K):
        out[0, k] = (k + 1.0) / (K + 1.0)
        out[1, k] = 0.0
    for p in range(indptr[t], indptr[t + 1]):
        i, x = indices[p], values[p]
        for k in range(K):
            out[0, k] += x * centre[0, i, k]
            out[1, k] += x * (Theta[i, k] - centre[1, i, k] - drift * centre[2, i, k])


@njit(**CALLED)
def _add(Theta, U, gathered, pair, phi, t, step, weight, lag, plain, K):
    """Theta −= step phi ⊗ error, with its part of U, and gathered += weight phi ⊗ gradient."""
    indptr, indices, values = phi
    averaging = U.shape[0] > 0 and lag > 0
    for p in range(indptr[t], indptr[t + 1]):
        i, x = indices[p], step * values[p]
        for k in range(K):
            Theta[i, k] -= x * pair[1, k]
        if averaging:
            for k in range(K):
                U[i, k] += lag * x * pair[1, k]
        if plain != 2:
            for k in range(K):
                gathered[i, k] += weight * values[p] * pair[0, k]
