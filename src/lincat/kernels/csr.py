"""Updates with sparse features in compressed rows, O((nnz + nnz') K) a transition.

phi and phi_next are tuples (indptr, indices, values) as in scipy.sparse.csr_array,
the other arguments those of dense.py. The result has the same bits as with dense
features if the indices of each row ascend.
"""

from numba import njit

from lincat.kernels.layout import KERNEL, PAD, work_rows
from lincat.kernels.passes import add_rows, dot_rows
from lincat.kernels.rules import increment, is_normalised


@njit(**KERNEL)
def csr_updates(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen, batch):
    """Theta += sum over each batch of phi_t ⊗ increment_t, all at the same Theta."""
    indptr, indices, values = phi
    next_indptr, next_indices, next_values = phi_next
    n = rho.shape[0]
    work = work_rows(Theta, K, is_normalised(rule), batch)
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        for t in range(first, last):
            dot_rows(work.row, 0, Theta, work.offset, indices, values, indptr[t], indptr[t + 1])
            dot_rows(
                work.ahead,
                PAD,
                Theta,
                work.offset,
                next_indices,
                next_values,
                next_indptr[t],
                next_indptr[t + 1],
            )
            if not increment(work, clipped, t - first, rho[t], delta[t], step[t], limit, K, rule):
                return first
        for t in range(first, last):
            add_rows(Theta, work.error, t - first, 1.0, indices, values, indptr[t], indptr[t + 1])
            if U.shape[0] > 0 and seen + number > 0:
                add_rows(
                    U,
                    work.error,
                    t - first,
                    -1.0 * (seen + number),
                    indices,
                    values,
                    indptr[t],
                    indptr[t + 1],
                )
    return n
