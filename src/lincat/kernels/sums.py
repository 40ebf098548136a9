"""Sums of products phi phi'ᵀ by group, rows of a group eight at a time.

Eight products are added to an entry of a sum for each time that it is read and written, so that
rows that have to be looked up cost hardly more than those of one large matrix product.
"""

import numba
import numpy as np

__all__ = ["add_products"]

_EIGHT = 8

# Multiply-adds may be fused; the order of sums stays as written.
_OPTIONS = {"cache": True, "nogil": True, "fastmath": {"contract", "nsz"}}


@numba.njit(**_OPTIONS)
def add_products(cross, phi_sum, phi, phi_next, order, last, slots, phi_slots, parts):
    """cross[slot] += part phi phi'ᵀ and phi_sum[slot] += part phi.

    Rows order[last[k-1]:last[k]] are in bucket k; row t adds parts[t, m] of itself to
    cross[slots[k, m]] (not if that is -1) and to phi_sum[phi_slots[k, m]].
    """
    d = phi.shape[1]
    ahead = np.empty((_EIGHT, d))
    first = 0
    for k in range(len(last)):
        rows = order[first : last[k]]
        first = last[k]
        if not len(rows):
            continue
        for m in range(parts.shape[1]):
            total = phi_sum[phi_slots[k, m]]
            for row in rows:
                for i in range(d):
                    total[i] += parts[row, m] * phi[row, i]
        if slots[k, 0] < 0:
            continue
        for t in range(0, len(rows), _EIGHT):
            some = rows[t : t + _EIGHT]
            for q in range(len(some)):
                for j in range(d):
                    ahead[q, j] = phi_next[some[q], j]
            for m in range(parts.shape[1]):
                sums = cross[slots[k, m]]
                if len(some) == _EIGHT:
                    _add_eight(sums, parts, m, some, phi, ahead)
                else:
                    _add_few(sums, parts, m, some, phi, ahead)


@numba.njit(**_OPTIONS)
def _add_eight(sums, parts, m, rows, phi, ahead):
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    r4, r5, r6, r7 = rows[4], rows[5], rows[6], rows[7]
    p0, p1, p2, p3 = parts[r0, m], parts[r1, m], parts[r2, m], parts[r3, m]
    p4, p5, p6, p7 = parts[r4, m], parts[r5, m], parts[r6, m], parts[r7, m]
    for i in range(phi.shape[1]):
        a0, a1, a2, a3 = p0 * phi[r0, i], p1 * phi[r1, i], p2 * phi[r2, i], p3 * phi[r3, i]
        a4, a5, a6, a7 = p4 * phi[r4, i], p5 * phi[r5, i], p6 * phi[r6, i], p7 * phi[r7, i]
        for j in range(ahead.shape[1]):
            x = sums[i, j]
            x += a0 * ahead[0, j]
            x += a1 * ahead[1, j]
            x += a2 * ahead[2, j]
            x += a3 * ahead[3, j]
            x += a4 * ahead[4, j]
            x += a5 * ahead[5, j]
            x += a6 * ahead[6, j]
            x += a7 * ahead[7, j]
            sums[i, j] = x


@numba.njit(**_OPTIONS)
def _add_few(sums, parts, m, rows, phi, ahead):
    for q in range(len(rows)):
        for i in range(phi.shape[1]):
            a = parts[rows[q], m] * phi[rows[q], i]
            for j in range(ahead.shape[1]):
                sums[i, j] += a * ahead[q, j]
