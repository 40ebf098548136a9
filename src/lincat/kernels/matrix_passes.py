"""Passes over a parameter matrix, in blocks of columns held in registers.

Each element of a result is one chain of fused multiply-adds in the order of the
features, whatever pass makes it. So the dot products that `update_and_dots` takes
ahead have the same bits as those of `dots` at the start of a chunk, and a feature
that is zero changes no bits: dense one-hot, sparse and integer states agree.
"""

from lincat.kernels.compiled import njit
from lincat.kernels.layout import CALLED, INLINED, PAD, group_size
from lincat.kernels.simd import (
    broadcast,
    element,
    fma,
    lanes,
    line,
    load,
    mul,
    pair,
    quad,
    store,
    stride,
)


@njit(**INLINED)
def dots(work, Theta, phi, phi_next, t):
    """Set row = phi[t]·Theta + offset and ahead[PAD:] = phi_next[t]·Theta + offset."""
    width = Theta.shape[1]
    block = lanes(pair(Theta))
    wide = width // block * block
    for k in range(0, wide, block):
        _dots_block(work, Theta, phi, phi_next, t, k, pair(Theta))
    if wide < width:
        _dots_block(work, Theta, phi, phi_next, t, wide, line(Theta))


@njit(**INLINED)
def _dots_block(work, Theta, phi, phi_next, t, k, like):
    f = load(work.offset, k, like)
    g = f
    for i in range(Theta.shape[0]):
        theta = load(Theta, i * stride(Theta) + k, like)
        f = fma(broadcast(phi[t, i], like), theta, f)
        g = fma(broadcast(phi_next[t, i], like), theta, g)
    store(work.row, k, f)
    store(work.ahead, PAD + k, g)


@njit(**CALLED)
def update(Theta, work, phi, t):
    """Theta += phi[t] ⊗ error[0]."""
    d, width = Theta.shape
    like = line(Theta)
    for k in range(0, width, lanes(like)):
        e = load(work.error, k, like)
        for i in range(d):
            theta = load(Theta, i * stride(Theta) + k, like)
            store(Theta, i * stride(Theta) + k, fma(broadcast(phi[t, i], like), e, theta))


@njit(**INLINED)
def update_and_dots(Theta, work, phi, phi_next, t):
    """update() for transition t and dots() for t + 1, reading and writing Theta once."""
    # One cache line a block: with the stores in the loop, wider blocks are slower on Zen 3.
    d, width = Theta.shape
    like = line(Theta)
    for k in range(0, width, lanes(like)):
        e = load(work.error, k, like)
        f = load(work.offset, k, like)
        g = f
        for i in range(d):
            theta = load(Theta, i * stride(Theta) + k, like)
            theta = fma(broadcast(phi[t, i], like), e, theta)
            store(Theta, i * stride(Theta) + k, theta)
            f = fma(broadcast(phi[t + 1, i], like), theta, f)
            g = fma(broadcast(phi_next[t + 1, i], like), theta, g)
        store(work.row, k, f)
        store(work.ahead, PAD + k, g)


@njit(**CALLED)
def add_outers(U, phi, first, errors, count, few):
    """U += sum over j < count of phi[first + j] ⊗ errors[j], added in the order of j.

    few is work space for 6 GROUP numbers of U's dtype.
    """
    group, d = group_size(U), U.shape[0]
    for start in range(0, count, group):
        stop = min(start + group, count)
        # Six rows keep enough sums going at once; four do with what six leave. Both are written
        # out: Numba has no arrays of vectors, so each sum needs a name of its own.
        i = 0
        while i + 6 <= d:
            _copy_features(few, phi, first + start, first + stop, i, 6)
            _add_group_to_six_rows(U, errors, start, stop, few, i)
            i += 6
        if i + 4 <= d:
            _copy_features(few, phi, first + start, first + stop, i, 4)
            _add_group_to_four_rows(U, errors, start, stop, few, i)
            i += 4
        while i < d:
            _add_group_to_row(U, phi, first, errors, start, stop, i)
            i += 1


@njit(**INLINED)
def _copy_features(few, phi, start, stop, i, rows):
    # Read in place, the features would be converted for each block where they are float32,
    # and share a few sets of the cache where d is a power of two.
    for t in range(start, stop):
        for q in range(rows):
            few[(t - start) * rows + q] = phi[t, i + q]


@njit(**INLINED)
def _add_group_to_six_rows(U, errors, start, stop, few, i):
    width, step = U.shape[1], stride(U)
    like = line(U)
    for k in range(0, width, lanes(like)):
        at = i * step + k
        u0 = load(U, at, like)
        u1 = load(U, at + step, like)
        u2 = load(U, at + 2 * step, like)
        u3 = load(U, at + 3 * step, like)
        u4 = load(U, at + 4 * step, like)
        u5 = load(U, at + 5 * step, like)
        for j in range(stop - start):
            e = load(errors, (start + j) * width + k, like)
            u0 = fma(broadcast(element(few, 6 * j), like), e, u0)
            u1 = fma(broadcast(element(few, 6 * j + 1), like), e, u1)
            u2 = fma(broadcast(element(few, 6 * j + 2), like), e, u2)
            u3 = fma(broadcast(element(few, 6 * j + 3), like), e, u3)
            u4 = fma(broadcast(element(few, 6 * j + 4), like), e, u4)
            u5 = fma(broadcast(element(few, 6 * j + 5), like), e, u5)
        store(U, at, u0)
        store(U, at + step, u1)
        store(U, at + 2 * step, u2)
        store(U, at + 3 * step, u3)
        store(U, at + 4 * step, u4)
        store(U, at + 5 * step, u5)


@njit(**INLINED)
def _add_group_to_four_rows(U, errors, start, stop, few, i):
    width, step = U.shape[1], stride(U)
    like = line(U)
    for k in range(0, width, lanes(like)):
        at = i * step + k
        u0 = load(U, at, like)
        u1 = load(U, at + step, like)
        u2 = load(U, at + 2 * step, like)
        u3 = load(U, at + 3 * step, like)
        for j in range(stop - start):
            e = load(errors, (start + j) * width + k, like)
            u0 = fma(broadcast(element(few, 4 * j), like), e, u0)
            u1 = fma(broadcast(element(few, 4 * j + 1), like), e, u1)
            u2 = fma(broadcast(element(few, 4 * j + 2), like), e, u2)
            u3 = fma(broadcast(element(few, 4 * j + 3), like), e, u3)
        store(U, at, u0)
        store(U, at + step, u1)
        store(U, at + 2 * step, u2)
        store(U, at + 3 * step, u3)


@njit(**INLINED)
def _add_group_to_row(U, phi, first, errors, start, stop, i):
    # A single row needs wide blocks: a sum waits for the one before it.
    width = U.shape[1]
    block = lanes(quad(U))
    wide = width // block * block
    for k in range(0, wide, block):
        _add_group_to_block(U, phi, first, errors, start, stop, i, k, quad(U))
    for k in range(wide, width, lanes(line(U))):
        _add_group_to_block(U, phi, first, errors, start, stop, i, k, line(U))


@njit(**INLINED)
def _add_group_to_block(U, phi, first, errors, start, stop, i, k, like):
    u = load(U, i * stride(U) + k, like)
    for j in range(start, stop):
        u = fma(
            broadcast(element(phi, (first + j) * phi.shape[1] + i), like),
            load(errors, j * stride(errors) + k, like),
            u,
        )
    store(U, i * stride(U) + k, u)


@njit(**INLINED)
def lagged(out, at, errors, row, lag):
    """out[at] = -lag errors[row], over the columns of out."""
    like = line(out)
    factor = broadcast(-lag, like)
    for k in range(0, out.shape[1], lanes(like)):
        store(
            out, at * out.shape[1] + k, mul(factor, load(errors, row * errors.shape[1] + k, like))
        )
