"""Linear-TD: psi -= step phi ((phi - delta phi')·psi - r), for the three kinds of features.

    psi      (d,)  parameters, float32 or float64
    u        (d,)  float64 averaging sums, or (0,) for none; as U in dense.py
    phi, phi_next  (n, d) features; (indptr, indices, values); or (n,) states
    reward, delta, step  (n,)
    limit          bound for the TD error: beyond it the parameters have diverged
    seen, batch    as in dense.py; batch 1 is streaming

psi and u change in place; the loops return the number of transitions worked off, as in dense.py.
"""

import numpy as np
from numba import njit

from lincat.kernels.layout import CALLED, KERNEL

# The order of a sum may follow the vector registers, since no dot product is taken in two
# ways. Nothing here lets the compiler assume that there is no NaN or infinity.
REORDERED = {**CALLED, "fastmath": {"reassoc", "contract", "nsz"}}


@njit(**KERNEL)
def linear_td_dense(psi, u, phi, phi_next, reward, delta, step, limit, seen, batch):
    """Linear-TD with dense features."""
    n = phi.shape[0]
    change = np.zeros(batch)
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            error = _dense_error(psi, phi, phi_next, delta[t], t) - reward[t]
            if not abs(error) <= limit:
                return first
            change[t - first] = -step[t] * error
        for t in range(first, last):
            _add_dense(psi, phi, t, change[t - first])
            if u.shape[0] > 0 and seen + number > 0:
                _add_dense(u, phi, t, -1.0 * (seen + number) * change[t - first])
    return n


@njit(**KERNEL)
def linear_td_csr(psi, u, phi, phi_next, reward, delta, step, limit, seen, batch):
    """Linear-TD with sparse features."""
    n = reward.shape[0]
    change = np.zeros(batch)
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            value = _csr_dot(psi, phi, t)
            if delta[t] > 0.0:
                value -= delta[t] * _csr_dot(psi, phi_next, t)
            error = value - reward[t]
            if not abs(error) <= limit:
                return first
            change[t - first] = -step[t] * error
        for t in range(first, last):
            _add_csr(psi, phi, t, change[t - first])
            if u.shape[0] > 0 and seen + number > 0:
                _add_csr(u, phi, t, -1.0 * (seen + number) * change[t - first])
    return n


@njit(**KERNEL)
def linear_td_states(psi, u, phi, phi_next, reward, delta, step, limit, seen, batch):
    """Linear-TD with one parameter a state."""
    n = reward.shape[0]
    change = np.zeros(batch)
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            value = psi[phi[t]]
            if delta[t] > 0.0:
                value -= delta[t] * psi[phi_next[t]]
            error = value - reward[t]
            if not abs(error) <= limit:
                return first
            change[t - first] = -step[t] * error
        for t in range(first, last):
            psi[phi[t]] += change[t - first]
            if u.shape[0] > 0 and seen + number > 0:
                u[phi[t]] -= 1.0 * (seen + number) * change[t - first]
    return n


@njit(**REORDERED)
def _dense_error(psi, phi, phi_next, delta, t):
    """(phi - delta phi')·psi; a terminal transition does not look at phi'."""
    value = 0.0
    for i in range(psi.shape[0]):
        value += phi[t, i] * psi[i]
    if delta > 0.0:
        ahead = 0.0
        for i in range(psi.shape[0]):
            ahead += phi_next[t, i] * psi[i]
        value -= delta * ahead
    return value


@njit(**CALLED)
def _add_dense(psi, phi, t, change):
    for i in range(psi.shape[0]):
        psi[i] += phi[t, i] * change


@njit(**CALLED)
def _csr_dot(psi, phi, t):
    indptr, indices, values = phi
    value = 0.0
    for j in range(indptr[t], indptr[t + 1]):
        value += values[j] * psi[indices[j]]
    return value


@njit(**CALLED)
def _add_csr(psi, phi, t, change):
    indptr, indices, values = phi
    for j in range(indptr[t], indptr[t + 1]):
        psi[indices[j]] += values[j] * change
