"""Updates with sparse features in compressed rows, O((nnz + nnz') K) a transition.

phi and phi_next are tuples (indptr, indices, values) as in scipy.sparse.csr_array,
the other arguments those of dense.py. The result has the same bits as with dense
features if the indices of each row ascend.
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_csr, guard_numbers, guard_parameters
from lincat.kernels.layout import KERNEL, PAD, aligned_zeros, work_rows
from lincat.kernels.matrix_passes import lagged
from lincat.kernels.row_passes import add_rows, add_rows_twice, dot_rows, expect_rows
from lincat.kernels.rules import increment, is_normalised


@njit(**KERNEL)
def csr_updates(Theta, U, clipped, phi, phi_next, rho, delta, step, limit, K, rule, seen, batch):
    """Theta += sum over each batch of phi_t ⊗ increment_t, all at the same Theta."""
    indptr, indices, values = phi
    next_indptr, next_indices, next_values = phi_next
    n = rho.shape[0]
    guard_parameters(Theta, U, clipped, K + 1 - is_normalised(rule), batch)
    guard_numbers(n, rho, delta, step)
    guard_csr(phi, Theta.shape[0], n)
    guard_csr(phi_next, Theta.shape[0], n)
    work = work_rows(Theta, K, is_normalised(rule), batch)
    lags = aligned_zeros(U.shape[1], np.float64).reshape(1, U.shape[1])
    for number, first in enumerate(range(0, n, batch)):
        last = min(first + batch, n)
        averaging = U.shape[0] > 0 and seen + number > 0
        for t in range(first, last):
            dot_rows(work.row, 0, Theta, work.offset, indices, values, indptr[t], indptr[t + 1])
            if averaging:
                expect_rows(U, indices, indptr[t], indptr[t + 1])
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
            j, begin, end = t - first, indptr[t], indptr[t + 1]
            if averaging:
                lagged(lags, 0, work.error, j, seen + number)
                add_rows_twice(Theta, U, work.error, j, lags, indices, values, begin, end)
            else:
                add_rows(Theta, work.error, j, indices, values, begin, end)
    return n
