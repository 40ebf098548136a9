"""From observations to features, one row after the other.

points are (n, m), out is (n, d) or for tiles (n, tilings). Each loop checks its own input as it
reads it, and returns the first row that holds NaN or infinity, or gives one; -1 if none does. The
features of a row depend on that row alone, to the last bit, however a stream is cut into calls.
"""

import math

import numpy as np
from numba import uint64

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_states, refuse
from lincat.kernels.layout import INLINED, KERNEL

# Sums over the numbers of a row may be taken in any order; NaN is still NaN.
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # 33 bits, and the rest
_ROUND = 1.5 * 2.0**52
_C2, _C3, _C4, _C5, _C6, _C7 = (1.0 / math.factorial(i) for i in range(2, 8))
_C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(8, 14))
_SUMS = {**KERNEL, "fastmath": {"contract", "nsz", "reassoc"}}


@njit(**INLINED)
def mix(h):
    """The finaliser of splitmix64 (Steele, Lea & Flood 2014): all bits depend on all bits."""
    h = (h ^ (h >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> uint64(27))) * uint64(0x94D049BB133111EB)
    return h ^ (h >> uint64(31))


@njit(**KERNEL)
def tile_rows(out, points, low, scale, top, offset, stride, block, hashed):
    """out[i, t] = the feature that observation i switches on in tiling t.

    A tile is as many cells wide as there are tilings, T: cell = floor((x - low) scale), 0 .. top.
    Tiling t is displaced by offset[j, t] < T cells along axis j, so the tile along it is
    (cell + offset) // T. A tile's number is the sum of these times stride, modulo 2^64, or with
    `hashed` a number below `block` that is drawn from it. Tiling t has features t block and up.
    """
    n, m = points.shape
    tilings = offset.shape[1]
    refuse(out.shape[0] < n or out.shape[1] < tilings or offset.shape[0] < m)
    refuse(min(low.shape[0], scale.shape[0], top.shape[0], stride.shape[0]) < m)
    number = np.empty(tilings, np.uint64)
    zero = uint64(0)
    for i in range(n):
        number[:] = zero
        base = zero
        for j in range(m):
            x = points[i, j]
            if not x - x == 0.0:
                return i
            cell = np.int64(min(max((x - low[j]) * scale[j], 0.0), top[j]))
            tile = cell // tilings
            need = tilings - (cell - tile * tilings)  # a displacement this large leads to the next
            step = stride[j]
            base += uint64(tile) * step
            for t in range(tilings):
                number[t] += step if offset[j, t] >= need else zero
        if hashed:
            for t in range(tilings):
                h = mix(number[t] + base + uint64(t + 1) * uint64(0x9E3779B97F4A7C15))
                row = ((h >> uint64(32)) * block) >> uint64(32)
                out[i, t] = row + uint64(t) * block
        else:
            for t in range(tilings):
                out[i, t] = number[t] + base + uint64(t) * block
    return -1


@njit(**_SUMS)
def scaled_rows(out, points, shift, factor, last, longest):
    """out[i] = (points[i] - shift) factor, then `last` if out has a column more.

    Rows whose squared norm is above `longest` are shrunk to length 1.
    """
    n, m = points.shape
    more = out.shape[1] > m
    refuse(out.shape[0] < n or out.shape[1] < m or min(shift.shape[0], factor.shape[0]) < m)
    for i in range(n):
        total = last * last
        for j in range(m):
            z = (points[i, j] - shift[j]) * factor[j]
            out[i, j] = z
            total += z * z
        if not total < math.inf:
            return i
        if more:
            out[i, m] = last
        if total > longest:
            shrink = 1.0 / math.sqrt(total)
            for j in range(out.shape[1]):
                out[i, j] *= shrink
    return -1


@njit(**KERNEL)
def fourier_rows(out, points, low, scale, parent, axis, factor):
    """out[i, k] = factor cos(π c_k·x), x = (points[i] - low) scale clipped to [0, 1].

    c_0 = 0 and c_k = c_parent + (one along axis): each e^(iπ c_k·x) is one product away.
    """
    n, m = points.shape
    terms = out.shape[1]
    refuse(out.shape[0] < n or terms < 1 or min(low.shape[0], scale.shape[0]) < m)
    guard_states(parent, terms, terms)
    guard_states(axis, m, terms)
    real, imag = np.empty(terms), np.empty(terms)
    cosine, sine = np.empty(m), np.empty(m)
    real[0], imag[0] = 1.0, 0.0
    for i in range(n):
        for j in range(m):
            x = points[i, j]
            if not x - x == 0.0:
                return i
            angle = math.pi * min(max((x - low[j]) * scale[j], 0.0), 1.0)
            cosine[j], sine[j] = math.cos(angle), math.sin(angle)
        out[i, 0] = factor
        for k in range(1, terms):
            p, j = parent[k], axis[k]
            real[k] = real[p] * cosine[j] - imag[p] * sine[j]
            imag[k] = real[p] * sine[j] + imag[p] * cosine[j]
            out[i, k] = real[k] * factor
    return -1


@njit(**INLINED, fastmath={"contract"})  # else the caller's: its sums may not be rounded as one
def exp_below(x):
    """e^x for x <= 0 to the last digit or the one before, in steps that vectorise; e^-700 below."""
    x = max(x, -700.0)
    shifted = x * _LOG2_E + _ROUND  # whose last bits are those of the nearest whole power of two
    power = shifted - _ROUND
    r = (x - power * _LN2_HIGH) - power * _LN2_LOW
    high = _C8 + r * (_C9 + r * (_C10 + r * (_C11 + r * (_C12 + r * _C13))))
    middle = _C4 + r * (_C5 + r * (_C6 + r * (_C7 + r * high)))
    series = 1.0 + r * (1.0 + r * (_C2 + r * (_C3 + r * middle)))
    bits = np.float64(shifted).view(np.int64) + np.int64(1023)
    return series * np.int64(bits << np.int64(52)).view(np.float64)


@njit(**_SUMS)
def least(row):
    """The least number of a row; inside the loop over rows, this one keeps others from vectors."""
    found = math.inf
    for k in range(row.shape[0]):
        found = min(found, row[k])
    return found


@njit(**_SUMS)
def radial_rows(out, points, shift, factor, centers, rate, last):
    """out[i, k] = exp(-rate ‖z - centers[k]‖²), z = (points[i] - shift) factor.

    With last = 0 divided by their sum; otherwise times `last`, which is then the last column, and
    rows longer than 1 are shrunk to length 1.
    """
    n, m = points.shape
    count = centers.shape[0]
    refuse(out.shape[0] < n or out.shape[1] < count + (last != 0.0) or centers.shape[1] != m)
    refuse(min(shift.shape[0], factor.shape[0]) < m)
    across = np.ascontiguousarray(centers.T)
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        for j in range(m):
            z = (points[i, j] - shift[j]) * factor[j]
            for k in range(count):
                row[k] += (z - across[j, k]) ** 2
        total = 0.0
        for k in range(count):
            total += row[k]
        if not total < math.inf:
            return i
        if last == 0.0:
            # Relative to the nearest one: far from all centres its feature is 1, not 0/0.
            nearest = least(row[:count])
            for k in range(count):
                row[k] = exp_below(rate * (nearest - row[k]))
            total = 0.0
            for k in range(count):
                total += row[k]
            shrink = 1.0 / total
        else:
            for k in range(count):
                row[k] = exp_below(-rate * row[k])
            total = 1.0
            for k in range(count):
                total += row[k] * row[k]
            row[count] = 1.0
            shrink = last / max(last * math.sqrt(total), 1.0)
        for k in range(out.shape[1]):
            row[k] *= shrink
    return -1
