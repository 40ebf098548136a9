"""Linear-TD: psi -= step phi ((phi - delta phi')·psi - r), for the three kinds of features.

    psi      (d,)  parameters, float32 or float64
    u        (d,)  float64 averaging sums, or (0,) for none; as U in dense.py
    phi, phi_next  (n, d) features; (indptr, indices, values); or (n,) states
    reward, delta, step  (n,)
    limit          bound for the TD error: beyond it the parameters have diverged
    seen, batch    as in dense.py; batch 1 is streaming

psi and u change in place; the loop returns the number of transitions worked off, as in dense.py.
A state without a parameter is refused when its turn comes, after what was learned before it.
What depends on the kind of features is chosen by the type of phi, when the loop is compiled.
"""

import numpy as np
from numba import types, uint64
from numba.extending import overload

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_csr, guard_numbers, refuse
from lincat.kernels.layout import CALLED, KERNEL, OWNING

# The order of a sum may follow the vector registers, since no dot product is taken in two
# ways. Nothing here lets the compiler assume that there is no NaN or infinity.
REORDERED = {**CALLED, "fastmath": {"reassoc", "contract", "nsz"}}


@njit(**KERNEL)
def linear_td(psi, u, phi, phi_next, reward, delta, step, limit, seen, batch):
    """psi += sum over each batch of -step_t error_t phi_t, all at the same psi."""
    n = reward.shape[0]
    refuse(batch < 1 or (u.shape[0] > 0 and u.shape[0] != psi.shape[0]))
    guard_numbers(n, reward, delta, step)
    _guard(phi, psi.shape[0], n)
    _guard(phi_next, psi.shape[0], n)
    change = np.zeros(batch)
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            error = _difference(psi, phi, phi_next, delta[t], t) - reward[t]
            if not abs(error) <= limit:
                return first
            change[t - first] = -step[t] * error
        for t in range(first, last):
            _add(psi, phi, t, change[t - first])
            if u.shape[0] > 0 and seen + number > 0:
                _add(u, phi, t, -1.0 * (seen + number) * change[t - first])
    return n


def _chosen(phi, dense, csr, states):
    """The version for this type of features."""
    if isinstance(phi, types.BaseTuple):
        return csr
    return dense if phi.ndim == 2 else states


# ------------------------------------------------------------------------------------ guards


def _guard(phi, d, n):
    """Refuse features that lead out of d parameters."""


@overload(_guard, jit_options=OWNING)
def _choose_guard(phi, d, n):
    def dense(phi, d, n):
        refuse(phi.shape[0] < n or phi.shape[1] != d)

    def csr(phi, d, n):
        guard_csr(phi, d, n)

    def states(phi, d, n):
        refuse(phi.shape[0] < n)  # the rest with each transition: see _difference

    return _chosen(phi, dense, csr, states)


# -------------------------------------------------------------------------------- differences


def _difference(psi, phi, phi_next, delta, t):
    """(phi - delta phi')·psi; a terminal transition does not look at phi'."""


@overload(_difference, jit_options=CALLED)
def _choose_difference(psi, phi, phi_next, delta, t):
    def dense(psi, phi, phi_next, delta, t):
        return _dense_difference(psi, phi, phi_next, delta, t)

    def csr(psi, phi, phi_next, delta, t):
        value = _csr_dot(psi, phi, t)
        if delta > 0.0:
            value -= delta * _csr_dot(psi, phi_next, t)
        return value

    def states(psi, phi, phi_next, delta, t):
        # A pass of guards over the states takes 6 % of this loop. Here they cost nothing: Numba
        # looks whether a signed index is negative, and spares that where it is unsigned.
        s, s_next, d = uint64(phi[t]), uint64(phi_next[t]), uint64(psi.shape[0])
        if s >= d or s_next >= d:
            raise IndexError("a state that has no row of parameters")
        value = psi[s]
        if delta > 0.0:
            value -= delta * psi[s_next]
        return value

    return _chosen(phi, dense, csr, states)


@njit(**REORDERED)
def _dense_difference(psi, phi, phi_next, delta, t):
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
def _csr_dot(psi, phi, t):
    indptr, indices, values = phi
    value = 0.0
    for j in range(indptr[t], indptr[t + 1]):
        value += values[j] * psi[indices[j]]
    return value


# ------------------------------------------------------------------------------------ changes


def _add(psi, phi, t, change):
    """psi += change phi."""


@overload(_add, jit_options=CALLED)
def _choose_add(psi, phi, t, change):
    def dense(psi, phi, t, change):
        for i in range(psi.shape[0]):
            psi[i] += phi[t, i] * change

    def csr(psi, phi, t, change):
        indptr, indices, values = phi
        for j in range(indptr[t], indptr[t + 1]):
            psi[indices[j]] += values[j] * change

    def states(psi, phi, t, change):
        psi[uint64(phi[t])] += change

    return _chosen(phi, dense, csr, states)
