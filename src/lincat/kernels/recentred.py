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

from lincat.kernels.bellman import TOLERANCE, mass_outside
from lincat.kernels.compiled import njit
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
            pair = errors[j]
            for k in range(K):
                pair[0, k] = here[0, k]
                pair[1, k] = here[1, k]
            _subtract_targets(pair, ahead, rho[t], delta[t], K)
            if plain:
                for k in range(K):
                    pair[1, k] += pair[0, k]
            squares = 0.0 * (rho[t] + delta[t])
            for k in range(K):
                squares += pair[0, k] * pair[0, k] + pair[1, k] * pair[1, k]
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
        # One array at a time, or the compiler does not see that they do not overlap.
        for k in range(K):
            out[0, k] += x * centre[0, i, k]
        for k in range(K):
            out[1, k] += x * Theta[i, k]
        for k in range(K):
            out[1, k] -= x * centre[1, i, k]
        if drift != 0.0:
            for k in range(K):
                out[1, k] -= x * drift * centre[2, i, k]


@njit(**CALLED)
def _subtract_targets(out, ahead, rho, delta, K):
    """Subtract the target of ahead[0], and B(r) times ahead[1]: ``add_target`` for both at once."""
    left = rho
    if delta > 0.0:
        for m in range(K):
            right = rho + delta * (m + 1)
            if right > 0.0:
                begin = max(left, 0.0)
                if begin >= K:
                    return
                k = int(begin)
                while right > k + 1 and k + 1 < K:
                    out[0, k] -= ahead[0, m] * (k + 1 - begin)
                    out[1, k] -= ahead[1, m] * (k + 1 - begin)
                    begin = k + 1.0
                    k += 1
                share = min(right, k + 1.0) - begin
                out[0, k] -= ahead[0, m] * share
                out[1, k] -= ahead[1, m] * share
            left = right
    if left < K:
        begin = max(left, 0.0)
        first = int(begin)
        out[0, first] -= first + 1 - begin
        for k in range(first + 1, K):
            out[0, k] -= 1.0


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
