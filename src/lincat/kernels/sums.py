"""Sums of products phi phi'ᵀ by group, at about the speed of one large matrix product.

Rows of a bucket are looked up, 64 at a time, into work memory whose rows lie an odd number of cache
lines apart; there a tile of six by eight entries of a sum is held in registers while the rows pass
by. BLAS would have to be called for each bucket, with rows that were looked up before, and would
copy them once more.
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_buckets, guard_counts, guard_rows, refuse
from lincat.kernels.layout import CALLED, INLINED, KERNEL, OWNING, aligned_zeros
from lincat.kernels.simd import (
    add,
    broadcast,
    element,
    fma,
    half,
    lanes,
    line,
    load,
    mul,
    prefetch,
    store,
    stride,
)

_ROWS = 128  # that are looked up at a time
_TALL, _WIDE = 6, 8  # entries of a tile
_SOON = 8  # rows ahead that are asked for


@njit(**KERNEL)
def add_products(
    cross, phi_sum, Sigma, phi, phi_next, order, last, slots, phi_slots, parts, weight, columns
):
    """cross[slot] += part phi phi'ᵀ, phi_sum[slot] += part phi and Sigma += weight phi phiᵀ.

    Rows order[last[k-1]:last[k]] are in bucket k; row t adds parts[t, m] of itself to
    cross[slots[k, m]] (not if that is -1) and to phi_sum[phi_slots[k, m]]; its weight is the sum of
    its parts. Only columns[0] : columns[1] of cross and Sigma, so that threads can share the work,
    of which the first also makes phi_sum; columns[0] is a multiple of eight. Of Sigma, only what
    lies on or above the diagonal is whole.
    """
    guard_buckets(
        cross, phi_sum, Sigma, phi, phi_next, order, last, slots, phi_slots, parts, weight, columns
    )
    d, n_parts = phi.shape[1], parts.shape[1]
    # Tiles may reach over the end; an odd number of cache lines, so that rows share none of them.
    width = ((d + _TALL - 1) // _WIDE + 1 | 1) * _WIDE
    size = _ROWS * width
    plain = aligned_zeros(size, np.float64)
    weighted = aligned_zeros(size, np.float64)
    ahead = aligned_zeros(size, np.float64)
    edge = aligned_zeros(_TALL * _WIDE, np.float64)
    equal = (weight == 1.0).all()
    first = 0
    for k in range(len(last)):
        follows = slots[k, 0] >= 0
        for begin in range(first, last[k], _ROWS):
            rows = order[begin : min(begin + _ROWS, last[k])]
            n = len(rows)
            _look_up(plain, width, phi, rows)
            if follows:
                _look_up(ahead, width, phi_next, rows)
            left = plain
            if not equal:
                left = weighted
                _weigh(left, plain, width, weight, rows)
            _add_product(Sigma, 0, d, left, plain, width, n, columns, 1, edge)
            for m in range(n_parts):
                if n_parts > 1:
                    left = weighted
                    _weigh(left, plain, width, parts[:, m], rows)
                if columns[0] == 0:
                    _add_rows(phi_sum, phi_slots[k, m] * d, d, left, width, n, edge)
                if follows:
                    at = slots[k, m] * d * d
                    _add_product(cross, at, d, left, ahead, width, n, columns, 0, edge)
        first = last[k]


@njit(**KERNEL)
def add_rows(cross, phi_sum, Sigma, phi, phi_next, bucket, slots, phi_slots, parts, weight):
    """What add_products adds, by rows that are not sorted: sooner done where features are few.

    Row t is of bucket k = bucket[t]; there are fewer than eight features. Of Sigma, only what lies
    on or above the diagonal is whole.
    """
    guard_rows(cross, phi_sum, Sigma, phi, phi_next, bucket, slots, phi_slots, parts, weight)
    if phi.shape[1] < _WIDE // 2:
        like = half(weight)
        _gather(cross, phi_sum, Sigma, phi, phi_next, bucket, slots, phi_slots, parts, weight, like)
    else:
        wide = line(weight)
        _gather(cross, phi_sum, Sigma, phi, phi_next, bucket, slots, phi_slots, parts, weight, wide)


@njit(**OWNING)
def _gather(
    cross, phi_sum, Sigma, phi, phi_next, bucket, slots, phi_slots, parts, weight, like
):  # fmt: skip
    """Sum part phi (phi', 1)ᵀ by bucket first, of which each row is one register."""
    (n, d), (buckets, n_parts) = phi.shape, slots.shape
    width = lanes(like)
    sums = aligned_zeros(buckets * n_parts * d * width, np.float64)
    square = aligned_zeros(d * width, np.float64)
    plain = aligned_zeros(_ROWS * width, np.float64)
    ahead = aligned_zeros(_ROWS * width, np.float64)
    occurs = np.zeros(buckets, np.bool_)
    for first in range(0, n, _ROWS):
        rows = min(_ROWS, n - first)
        # Apart from the sums: a register that was written in pieces a moment ago loads slowly.
        for t in range(rows):
            k = bucket[first + t]
            occurs[k], follows = True, slots[k, 0] >= 0
            for j in range(d):
                plain[t * width + j] = phi[first + t, j]
                ahead[t * width + j] = phi_next[first + t, j] if follows else 0.0
            ahead[t * width + d] = 1.0
        _gather_rows(sums, square, plain, ahead, d, first, rows, bucket, parts, weight, like)
    for i in range(d):
        for j in range(i, d):
            Sigma[i, j] += square[i * width + j]
    for k in np.flatnonzero(occurs):
        at = k * n_parts * d * width
        for m in range(n_parts):
            g, h = slots[k, m], phi_slots[k, m]
            for i in range(d):
                phi_sum[h, i] += sums[at + d]
                if g >= 0:
                    for j in range(d):
                        cross[g, i, j] += sums[at + j]
                at += width


@njit(**CALLED)
def _gather_rows(sums, square, plain, ahead, d, first, rows, bucket, parts, weight, like):
    width, n_parts = lanes(like), parts.shape[1]
    for t in range(rows):
        here, following = load(plain, t * width, like), load(ahead, t * width, like)
        for i in range(d):
            x = broadcast(weight[first + t] * element(plain, t * width + i), like)
            store(square, i * width, fma(x, here, load(square, i * width, like)))
        at = bucket[first + t] * n_parts * d * width
        for m in range(n_parts):
            part = parts[first + t, m]
            for i in range(d):
                x = broadcast(part * element(plain, t * width + i), like)
                store(sums, at, fma(x, following, load(sums, at, like)))
                at += width


@njit(**KERNEL)
def count_states(cross, phi_sum, Sigma, state, state_next, bucket, slots, phi_slots, parts, weight):
    """The same sums where features are states: one entry of each for every row, in their order.

    Row t, of bucket k, adds parts[t, m] to cross[slots[k, m]] (not if that is -1) and to
    phi_sum[phi_slots[k, m]], and its weight to the diagonal of Sigma.
    """
    guard_counts(cross, phi_sum, Sigma, state, state_next, bucket, slots, phi_slots, parts, weight)
    for t in range(len(state)):
        s, k = state[t], bucket[t]
        Sigma[s, s] += weight[t]
        for m in range(parts.shape[1]):
            phi_sum[phi_slots[k, m], s] += parts[t, m]
            if slots[k, 0] >= 0:
                cross[slots[k, m], s, state_next[t]] += parts[t, m]


@njit(**KERNEL)
def mirror(square):
    """Below the diagonal, what is above it."""
    refuse(square.shape[0] != square.shape[1])
    for i in range(square.shape[0]):
        for j in range(i):
            square[i, j] = square[j, i]


@njit(**CALLED)
def _look_up(out, width, features, rows):
    """out[k, :d] = features[rows[k]]; beyond d, out stays as it is: zero."""
    d, apart = features.shape[1], stride(features)
    like = half(out)
    for k in range(len(rows)):
        at, to = rows[k] * apart, k * width
        # Rows of a bucket lie anywhere, where the processor does not expect them.
        soon = rows[min(k + _SOON, len(rows) - 1)] * apart
        for j in range(0, d, _WIDE):
            prefetch(features, soon + j)
        for j in range(0, d - 3, 4):
            store(out, to + j, load(features, at + j, like))
        for j in range(d // 4 * 4, d):
            out[to + j] = element(features, at + j)


@njit(**CALLED)
def _weigh(out, plain, width, weight, rows):
    """out[k] = weight[rows[k]] plain[k]."""
    like = half(out)
    for k in range(len(rows)):
        by = broadcast(weight[rows[k]], like)
        for j in range(k * width, (k + 1) * width, 4):
            store(out, j, mul(by, load(plain, j, like)))


@njit(**CALLED)
def _add_rows(sums, at, d, left, width, n, edge):
    """sums[at : at + d] += the sum of the rows of left."""
    like = line(left)
    for j in range(0, d, _WIDE):
        total = line(left)
        for k in range(n):
            total = add(total, load(left, k * width + j, like))
        _add_entries(sums, at + j, total, d - j, edge)


@njit(**CALLED)
def _add_product(sums, at, d, left, right, width, n, columns, upper, edge):
    """sums[at + i d + j] += Σ_k left[k, i] right[k, j]; upper: only where a tile has j >= i."""
    for j in range(columns[0], columns[1], _WIDE):
        rows = min(j + _WIDE, d) if upper else d
        for i in range(0, rows, _TALL):
            _add_tile(sums, at + i * d + j, d, left, i, right, j, width, n, d - i, d - j, edge)


@njit(**INLINED)
def _add_tile(sums, at, d, left, i, right, j, width, n, tall, wide, edge):
    """Six rows from i and eight columns from j, of which so many (tall, wide) are there."""
    like = line(left)
    t0 = t1 = t2 = t3 = t4 = t5 = line(left)
    for k in range(n):
        p = k * width + i
        y = load(right, k * width + j, like)
        t0 = fma(broadcast(element(left, p), like), y, t0)
        t1 = fma(broadcast(element(left, p + 1), like), y, t1)
        t2 = fma(broadcast(element(left, p + 2), like), y, t2)
        t3 = fma(broadcast(element(left, p + 3), like), y, t3)
        t4 = fma(broadcast(element(left, p + 4), like), y, t4)
        t5 = fma(broadcast(element(left, p + 5), like), y, t5)
    _add_entries(sums, at, t0, wide, edge)
    if tall > 1:
        _add_entries(sums, at + d, t1, wide, edge)
    if tall > 2:
        _add_entries(sums, at + 2 * d, t2, wide, edge)
    if tall > 3:
        _add_entries(sums, at + 3 * d, t3, wide, edge)
    if tall > 4:
        _add_entries(sums, at + 4 * d, t4, wide, edge)
    if tall > 5:
        _add_entries(sums, at + 5 * d, t5, wide, edge)


@njit(**INLINED)
def _add_entries(sums, at, block, count, edge):
    """Add a block of eight entries, of which so many are there."""
    if count >= _WIDE:
        store(sums, at, add(load(sums, at, block), block))
    else:
        store(edge, 0, block)
        flat = sums.reshape(-1)
        for j in range(count):
            flat[at + j] += edge[j]
