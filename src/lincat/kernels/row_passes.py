"""Passes over the few rows of a parameter matrix that a sparse state touches.

The same chains of fused multiply-adds as in matrix_passes.py, hence the same bits as with
the features written out densely (in the order of `indices`).
"""

from lincat.kernels.compiled import njit
from lincat.kernels.layout import INLINED, PAD
from lincat.kernels.simd import (
    add,
    broadcast,
    element,
    fma,
    lanes,
    line,
    load,
    mul,
    pair,
    prefetch,
    store,
    stride,
)


@njit(**INLINED)
def dot_rows(out, at, Theta, offset, indices, values, first, last):
    """out[at : at+width] = offset + sum over first <= j < last of values[j] Theta[indices[j]]."""
    width = Theta.shape[1]
    block = lanes(pair(Theta))
    wide = width // block * block
    for k in range(0, wide, block):
        _dot_rows_block(out, at, Theta, offset, indices, values, first, last, k, pair(Theta))
    if wide < width:
        _dot_rows_block(out, at, Theta, offset, indices, values, first, last, wide, line(Theta))


@njit(**INLINED)
def _dot_rows_block(out, at, Theta, offset, indices, values, first, last, k, like):
    f = load(offset, k, like)
    for j in range(first, last):
        theta = load(Theta, element(indices, j) * stride(Theta) + k, like)
        f = fma(broadcast(element(values, j), like), theta, f)
    store(out, at + k, f)


@njit(**INLINED)
def expect_rows(U, indices, first, last):
    """Ask for the rows U[indices[j]], first <= j < last, which are needed soon."""
    for j in range(first, last):
        start = element(indices, j) * stride(U)
        for k in range(0, U.shape[1], lanes(line(U))):
            prefetch(U, start + k)


@njit(**INLINED)
def add_rows(Theta, errors, at, indices, values, first, last):
    """Theta[indices[j]] += values[j] errors[at], first <= j < last."""
    for j in range(first, last):
        _add_to_row(Theta, element(indices, j), errors, at, element(values, j))


@njit(**INLINED)
def add_rows_twice(Theta, U, errors, at, lags, indices, values, first, last):
    """The same, and U[indices[j]] += values[j] lags[0] with it: those rows lie side by side."""
    for j in range(first, last):
        i, value = element(indices, j), element(values, j)
        _add_to_row(Theta, i, errors, at, value)
        _add_to_row(U, i, lags, 0, value)


@njit(**INLINED)
def _add_to_row(Theta, i, errors, at, value):
    like = line(Theta)
    factor = broadcast(value, like)
    start = i * stride(Theta)
    for k in range(0, Theta.shape[1], lanes(like)):
        e = load(errors, at * errors.shape[1] + k, like)
        store(Theta, start + k, fma(factor, e, load(Theta, start + k, like)))


@njit(**INLINED)
def copy_rows(work, Theta, i, i_next):
    """Set row = offset + Theta[i] and ahead[PAD:] = offset + Theta[i_next].

    In one loop, so that the two rows come from memory at the same time.
    """
    width = Theta.shape[1]
    like = line(Theta)
    for k in range(0, width, lanes(like)):
        offset = load(work.offset, k, like)
        store(work.row, k, add(offset, load(Theta, i * stride(Theta) + k, like)))
        store(work.ahead, PAD + k, add(offset, load(Theta, i_next * stride(Theta) + k, like)))


@njit(**INLINED)
def add_row(Theta, errors, at, scale, i):
    """Theta[i] += scale errors[at]."""
    like = line(Theta)
    factor, start = broadcast(scale, like), i * stride(Theta)
    for k in range(0, Theta.shape[1], lanes(like)):
        e = mul(factor, load(errors, at * errors.shape[1] + k, like))
        store(Theta, start + k, add(load(Theta, start + k, like), e))
