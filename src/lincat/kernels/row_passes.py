"""Passes over the few rows of a parameter matrix that a sparse state touches.

The same chains of fused multiply-adds as in matrix_passes.py, hence the same bits as with
the features written out densely (in the order of `indices`).
"""

from numba import njit

from lincat.kernels.layout import INLINED, PAD
from lincat.kernels.simd import add, broadcast, element, fma, lanes, line, load, mul, pair, store


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
    width = Theta.shape[1]
    f = load(offset, k, like)
    for j in range(first, last):
        theta = load(Theta, element(indices, j) * width + k, like)
        f = fma(broadcast(element(values, j), like), theta, f)
    store(out, at + k, f)


@njit(**INLINED)
def add_rows(Theta, errors, at, scale, indices, values, first, last):
    """Theta[indices[j]] += values[j] (scale errors[at]), first <= j < last."""
    for j in range(first, last):
        _add_to_row(Theta, element(indices, j), errors, at, scale, element(values, j))


@njit(**INLINED)
def _add_to_row(Theta, i, errors, at, scale, value):
    width = Theta.shape[1]
    like = line(Theta)
    factor, multiple = broadcast(value, like), broadcast(scale, like)
    for k in range(0, width, lanes(like)):
        e = mul(multiple, load(errors, at * errors.shape[1] + k, like))
        store(Theta, i * width + k, fma(factor, e, load(Theta, i * width + k, like)))


@njit(**INLINED)
def copy_rows(work, Theta, i, i_next):
    """Set row = offset + Theta[i] and ahead[PAD:] = offset + Theta[i_next].

    In one loop, so that the two rows come from memory at the same time.
    """
    width = Theta.shape[1]
    like = line(Theta)
    for k in range(0, width, lanes(like)):
        offset = load(work.offset, k, like)
        store(work.row, k, add(offset, load(Theta, i * width + k, like)))
        store(work.ahead, PAD + k, add(offset, load(Theta, i_next * width + k, like)))


@njit(**INLINED)
def add_row(Theta, errors, at, scale, i):
    """Theta[i] += scale errors[at]."""
    _add_to_row(Theta, i, errors, at, scale, 1.0)
