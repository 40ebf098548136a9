"""Updates with dense features: one transition at a time, or in mini-batches.

Arguments of both loops (and, but for phi, of those in csr.py and states.py):

    Theta    (d, width)   parameters, float32 or float64, and
    U        (d, width64) float64 averaging sums, or (0, 0) for none: the mean of the n iterates
                          since the window began is Theta + U / n; both from layout.py
    clipped  (2,)         float64 sums of the mass pushed below and above the grid
    phi, phi_next         (n, d) features
    rho, delta, step      (n,) shift in grid cells, discount, step size times weight
    limit                 bound for ‖F(s) - target‖²: beyond it the parameters have diverged
    K, rule               intervals of the grid, and one of the constants of rules.py
    seen                  iterates in the window so far; -m begins it after m more updates

Averaging keeps no iterates, but the increments that earlier ones lack. Count the iterates
of a window 1, 2, ..., n, and let increment j turn iterate j into iterate j + 1. The j
iterates up to then lack it, and the last one, Theta, has them all:

    sum of iterates = n Theta + U,    U = - sum_j j phi_j ⊗ increment_j

So U costs what the updates cost, and only touched rows change. Windows can be joined, since
each gives its n and its sum. U is float64 whatever Theta is: its terms grow and cancel.

Theta, U and clipped change in place. The loops return the number of transitions that they worked
off: less than n if one would have taken the parameters out of bounds, which then keep the values
that they had before it (with mini-batches: before its batch). Any split of a stream into calls
gives the same bits (with mini-batches: any split between batches).
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_numbers, guard_parameters, refuse
from lincat.kernels.layout import GROUP, KERNEL, OWNING, PAD, aligned_zeros, group_size, work_rows
from lincat.kernels.matrix_passes import add_outers, dots, lagged, update, update_and_dots
from lincat.kernels.rules import increment, is_normalised


@njit(**KERNEL)
def dense_updates(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen):
    """One update a transition: Theta += phi_t ⊗ increment_t, t = 0 .. n-1."""
    n = phi.shape[0]
    guard_parameters(Theta, U, clipped, K + 1 - is_normalised(rule), 1)
    guard_numbers(n, rho, delta, step)
    refuse(phi.shape[1] != Theta.shape[0] or phi.shape != phi_next.shape)
    return _dense_updates(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen)


@njit(**OWNING)
def _dense_updates(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen):
    # Apart from the guards: in one function with them, 3 x 30 parameters take 5 % longer.
    n = phi.shape[0]
    if n == 0:
        return n
    work = work_rows(Theta, K, is_normalised(rule), np.int64(1))
    # Increments wait until they are added to U together: U is then read and written once for
    # all of them, and averaging costs its multiplications and little else.
    group = group_size(Theta)
    pending = aligned_zeros(group * U.shape[1], np.float64).reshape(group, U.shape[1])
    few = np.empty(6 * GROUP)
    waiting = first = np.int64(0)  # not a literal 0, for which Numba would compile everything again
    dots(work, Theta, phi, phi_next, first)
    done = n
    for t in range(n):
        if not increment(work, clipped, first, rho[t], delta[t], step[t], limit, K, rule):
            done = t
            break
        if t + 1 < n:
            update_and_dots(Theta, work, phi, phi_next, t)
        else:
            update(Theta, work, phi, t)
        if U.shape[0] > 0 and seen + t > 0:
            lagged(pending, waiting, work.error, first, seen + t)
            waiting += 1
            if waiting == group:
                add_outers(U, phi, t + 1 - waiting, pending, waiting, few)
                waiting = first
    if waiting > 0:
        add_outers(U, phi, done - waiting, pending, waiting, few)
    return done


@njit(**KERNEL)
def dense_batches(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen, batch):
    """Theta += sum over each batch of phi_t ⊗ increment_t, all at the same Theta.

    For the mean, step holds the step size divided by the size of the batch. `seen` counts batches.
    """
    n = phi.shape[0]
    guard_parameters(Theta, U, clipped, K + 1 - is_normalised(rule), batch)
    guard_numbers(n, rho, delta, step)
    refuse(phi.shape[1] != Theta.shape[0] or phi.shape != phi_next.shape)
    work = work_rows(Theta, K, is_normalised(rule), batch)
    lags = aligned_zeros(batch * U.shape[1], np.float64).reshape(batch, U.shape[1])
    few = np.empty(6 * GROUP, Theta.dtype)
    few64 = np.empty(6 * GROUP)
    for number, first in enumerate(range(0, n, batch)):
        count = min(batch, n - first)
        for j in range(count):
            t = first + j
            dots(work, Theta, phi, phi_next, t)
            if not increment(work, clipped, j, rho[t], delta[t], step[t], limit, K, rule):
                return first
        add_outers(Theta, phi, first, work.error, count, few)
        if U.shape[0] > 0 and seen + number > 0:
            for j in range(count):
                lagged(lags, j, work.error, j, seen + number)
            add_outers(U, phi, first, lags, count, few64)
    return n


@njit(**KERNEL)
def batch_increments(errors, clipped, rows, ahead, rho, delta, step, limit, K, rule):
    """errors[j] = increment_j of one batch whose dot products phi·Theta, phi'·Theta are taken.

    For large batches, where matrix products make rows and ahead, and then phiᵀ errors. All three
    have Theta's width. Returns whether all is well; see ``increment``.
    """
    count, width = rows.shape
    guard_parameters(rows, np.zeros((0, 0)), clipped, K + 1 - is_normalised(rule), 1)
    guard_numbers(count, rho, delta, step)
    refuse(rows.shape != ahead.shape or rows.shape != errors.shape)
    first = np.int64(0)
    work = work_rows(rows, K, is_normalised(rule), np.int64(1))
    for j in range(count):
        for k in range(width):
            work.row[k] = rows[j, k] + work.offset[k]
            work.ahead[PAD + k] = ahead[j, k] + work.offset[k]
        if not increment(work, clipped, first, rho[j], delta[j], step[j], limit, K, rule):
            return False
        for k in range(width):
            errors[j, k] = work.error[0, k]
    return True
