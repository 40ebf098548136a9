"""The row F(s) - target in vectors, without gathers; bellman.py states what it is."""

import numpy as np

from lincat.kernels.bellman import error_by_sources
from lincat.kernels.compiled import njit
from lincat.kernels.layout import CALLED, INLINED, PAD
from lincat.kernels.simd import (
    add,
    broadcast,
    clamp,
    element,
    floor,
    fma,
    half,
    keep,
    lanes,
    line,
    load,
    mul,
    ramp,
    store,
    sub,
)

# Source cells that an output of a block reads at most. A smaller delta needs more (below
# 2/9 in float64, 4/11 in float32), and there the scalar loop is as fast. The cells of a
# block, MAX_REACH + lanes - 1 of them, fit into PAD.
MAX_REACH = 16


@njit(**INLINED)
def cdf_error(work, at, rho, delta, scale, K):
    """work.error[at, :K] = scale (F(s) - target), and zeros to the end of the last block."""
    reach = MAX_REACH + 1
    if delta > 0.2:
        reach = int(np.ceil(lanes(half(work.row)) * (1.0 / delta - 1.0))) + 2
    # A NaN would vanish in the clamps below; through the scale it reaches every column.
    scale += 0.0 * (rho + delta)
    if reach <= 3:  # delta >= 0.8 in float64, 8/9 in float32: unrolled
        _error_by_blocks(work, at, rho, delta, scale, K, np.int64(3))
    elif reach <= MAX_REACH:
        _error_by_more_blocks(work, at, rho, delta, scale, K, reach)
    else:
        error_by_sources(work, at, rho, delta, scale, K)


@njit(**INLINED)
def _error_by_blocks(work, at, rho, delta, scale, K, reach):
    """Vector form, without gathers.

    The lanes of a block of outputs k, k+1, ... share m, the source cell under the left
    end of output k, and lane l reads cells m+l, ..., m+l+reach-1: contiguous loads.
    Let c_j be the left edge of source cell m+l+j within output cell k+l, clamped to
    [0, 1] (c_0 = 0, c_reach = 1). The weights are c_{j+1} - c_j and, summed by parts,

        target = F'_{m+l+reach-1} + sum_{0<j<reach} c_j (F'_{m+l+j-1} - F'_{m+l+j}).
    """
    _place_blocks(work, rho, delta, K)
    like = half(work.row)
    zero, one = half(work.row), broadcast(1.0, like)
    width = broadcast(delta, like)
    slope = fma(ramp(like), broadcast(delta - 1.0, like), broadcast((reach - 1) * delta, like))
    factor = broadcast(scale, like)
    squares = zero
    start = at * work.error.shape[1]
    last = (K - 1) // lanes(like)
    for block in range(last + 1):
        edge = add(broadcast(element(work.edges, block), like), slope)
        source = element(work.sources, block) + reach - 1
        upper = load(work.ahead, source, like)
        target = upper
        for j in range(1, reach):
            lower = load(work.ahead, source - j, like)
            target = fma(clamp(edge, zero, one), sub(lower, upper), target)
            edge = sub(edge, width)
            upper = lower
        error = mul(factor, sub(load(work.row, block * lanes(like), like), target))
        if block == last:
            error = keep(error, K - block * lanes(like))
        store(work.error, start + block * lanes(like), error)
        squares = fma(error, error, squares)
    store(work.squares, 0, squares)


@njit(**CALLED)
def _error_by_more_blocks(work, at, rho, delta, scale, K, reach):
    _error_by_blocks(work, at, rho, delta, scale, K, reach)


@njit(**INLINED)
def _place_blocks(work, rho, delta, K):
    """Find where each block reads.

    For the block that begins at output k, with m = floor((k - rho) / delta):

    sources = the element of work.ahead that holds cell m,
    edges   = rho + delta m - k, the left edge of cell m seen from output k.

    A pass of its own, because it waits for nothing and eight blocks are placed at once.
    Always in float64: relative to k the edges are small, and float32 can hold them.
    """
    like = line(rho)
    slope = broadcast(delta, like)
    outputs = lanes(half(work.row))  # in a block
    inverse = broadcast(1.0 / delta, like)
    # Beyond the padding all cells are alike, so that addresses (not edges) may be clamped.
    low, high, pad = broadcast(-PAD, like), broadcast(K, like), broadcast(PAD, like)
    k_less_rho = sub(mul(ramp(like), broadcast(outputs, like)), broadcast(rho, like))
    for block in range(0, (K + outputs - 1) // outputs, lanes(like)):
        m = floor(mul(k_less_rho, inverse))
        store(work.edges, block, sub(mul(slope, m), k_less_rho))
        store(work.sources, block, add(clamp(m, low, high), pad))
        k_less_rho = add(k_less_rho, broadcast(outputs * lanes(like), like))
