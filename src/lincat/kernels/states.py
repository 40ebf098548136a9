"""Updates for a finite set of states without features: row s of Theta belongs to state s.

phi and phi_next are arrays (n,) of signed integers, the states, the other arguments those of
dense.py. The result has the same bits as with dense one-hot features.
"""

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_numbers, guard_parameters, guard_states
from lincat.kernels.layout import KERNEL, work_rows
from lincat.kernels.row_passes import add_row, copy_rows
from lincat.kernels.rules import increment, is_normalised


@njit(**KERNEL)
def state_updates(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen, batch):
    """Theta[s_t] += increment_t, those of a batch taken at the same Theta; batch 1 is streaming."""
    n = rho.shape[0]
    guard_parameters(Theta, U, clipped, K + 1 - is_normalised(rule), batch)
    guard_numbers(n, rho, delta, step)
    guard_states(phi, Theta.shape[0], n)
    guard_states(phi_next, Theta.shape[0], n)
    work = work_rows(Theta, K, is_normalised(rule), batch)
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            copy_rows(work, Theta, phi[t], phi_next[t])
            if not increment(work, clipped, t - first, rho[t], delta[t], step[t], limit, K, rule):
                return first
        for t in range(first, last):
            add_row(Theta, work.error, t - first, 1.0, phi[t])
            if U.shape[0] > 0 and seen + number > 0:
                add_row(U, work.error, t - first, -1.0 * (seen + number), phi[t])
    return n
