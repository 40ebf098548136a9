"""Figures of distributions, row by row: what somebody who asks about states wants to know."""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_numbers, refuse
from lincat.kernels.layout import CALLED, INLINED, KERNEL


@njit(**KERNEL)
def figures_of_rows(out, cdf, share, low, spacing, ends, quantiles, level, threshold):
    """Write mean, std, quantiles, CVaR, the chance to end below, and the negative mass of each row.

    Row i has its CDF values at low[i] + k spacing[i], and a share of each of its masses one atom
    further. Figures are of the nearest proper distribution between both ends: the nearest
    increasing values (pools of those that do not increase), cut off at 0 and 1.
    """
    n, K = cdf.shape
    last = 2 + quantiles.shape[0]
    guard_numbers(n, share, low, spacing)
    refuse(out.shape[0] < n or out.shape[1] != last + 3 or ends.shape[0] != 2)
    F, size = np.empty(K + 1), np.empty(K + 1, np.int64)
    for i in range(n):
        before = 0.0
        for k in range(K):
            F[k] = (1.0 - share[i]) * cdf[i, k] + share[i] * before
            before = cdf[i, k]
        F[K] = 1.0 - share[i] + share[i] * before
        m = K + 1 if share[i] > 0.0 else K
        _cut(F, m, (ends[0] - low[i]) / spacing[i], (ends[1] - low[i]) / spacing[i])
        out[i, last + 2] = _negative(F, m)
        if out[i, last + 2] > 0.0:
            _make_proper(F, size, m)
        out[i, 0] = low[i] + spacing[i] * _steps_up(F, m)
        out[i, 1] = spacing[i] * _spread(F, m)
        for j in range(quantiles.shape[0]):
            # To 1e-12, as risk.quantile: sums of masses that only differ in rounding agree.
            out[i, 2 + j] = low[i] + spacing[i] * _first(F, m, quantiles[j] - 1e-12)
        out[i, last] = low[i] + spacing[i] * _worst(F, m, level)
        at = np.ceil((threshold - low[i]) / spacing[i] - 1e-9) - 1.0
        if 0.0 <= at < m:  # a NaN, where nobody asks, is no index
            out[i, last + 1] = F[int(at)]
        else:
            out[i, last + 1] = 0.0 if at < 0.0 else 1.0 if at >= m else np.nan


@njit(**KERNEL)
def make_proper(cdf):
    """Put the nearest proper CDF values in the place of each row."""
    size = np.empty(cdf.shape[1], np.int64)
    for i in range(cdf.shape[0]):
        _make_proper(cdf[i], size, cdf.shape[1])


@njit(**KERNEL)
def turned_rows(out, errors, first, angle, per_error, plus):
    """out[i, 1:-1] = the increasing values in [0, 1] about sin²(angle + per_error error) + plus.

    Of the errors from column ``first`` on. Angles are kept within [0, π/2]; each row begins with a
    0 and ends with a 1.
    """
    n, K = errors.shape[0], out.shape[1] - 2
    refuse(out.shape[0] < n or first < 0 or K < 0 or first + K > errors.shape[1])
    guard_numbers(K, angle, per_error, plus)
    for i in range(n):
        for k in range(K):
            x = min(max(angle[k] + per_error[k] * errors[i, first + k], 0.0), 0.5 * np.pi)
            sine = _sine(x)
            out[i, k + 1] = min(max(sine * sine + plus[k], 0.0), 1.0)
        out[i, 0], out[i, K + 1] = 0.0, 1.0
        for k in range(1, K + 1):
            out[i, k] = max(out[i, k], out[i, k - 1])


@njit(**INLINED)
def _sine(x):
    """sin x in [0, π/2], to the last digits; unlike the library's, eight of them at once."""
    y = x * x
    total = -1.0 / 121645100408832000.0
    total = total * y + 1.0 / 355687428096000.0
    total = total * y - 1.0 / 1307674368000.0
    total = total * y + 1.0 / 6227020800.0
    total = total * y - 1.0 / 39916800.0
    total = total * y + 1.0 / 362880.0
    total = total * y - 1.0 / 5040.0
    total = total * y + 1.0 / 120.0
    total = total * y - 1.0 / 6.0
    return x + x * y * total


@njit(**CALLED)
def _cut(F, m, low, high):
    """Move what lies outside [low, high], in grid units, to the atoms nearest to these."""
    first, last = np.floor(low + 0.5), np.floor(high + 0.5)
    for k in range(m):
        if k >= last:
            F[k] = 1.0
        elif k < first:
            F[k] = 0.0


@njit(**CALLED)
def _steps_up(F, m):
    """The mean in grid units, Σ (1 − F_k) (proof of Prop. mean_preserve_property)."""
    total = 0.0
    for k in range(m):
        total += 1.0 - F[k]
    return total


@njit(**CALLED)
def _negative(F, m):
    """The total of negative masses."""
    total, before = max(F[m - 1] - 1.0, 0.0), 0.0
    for k in range(m):
        total += max(before - F[k], 0.0)
        before = F[k]
    return total


@njit(**CALLED)
def _make_proper(F, size, m):
    """The nearest increasing values within [0, 1], in place; ``size`` is room for the pools."""
    pools = 0
    for k in range(m):
        value, count = F[k], 1
        while pools > 0 and F[pools - 1] >= value:
            pools -= 1
            value = (size[pools] * F[pools] + count * value) / (size[pools] + count)
            count += size[pools]
        F[pools], size[pools] = value, count
        pools += 1
    end = m
    for pool in range(pools - 1, -1, -1):  # from the back, where the pools do not reach yet
        value = min(max(F[pool], 0.0), 1.0)
        for k in range(end - size[pool], end):
            F[k] = value
        end -= size[pool]


@njit(**CALLED)
def _spread(F, m):
    """The standard deviation in grid units."""
    mean, total, before = _steps_up(F, m), 0.0, 0.0
    for k in range(m):
        total += (F[k] - before) * (k - mean) ** 2
        before = F[k]
    return np.sqrt(max(total + (1.0 - before) * (m - mean) ** 2, 0.0))


@njit(**CALLED)
def _first(F, m, level):
    """The first atom whose CDF reaches a level."""
    for k in range(m):
        if F[k] >= level:
            return k
    return m


@njit(**CALLED)
def _worst(F, m, level):
    """The mean of the worst share of returns, in grid units; the atom at the quantile is split."""
    total, before = 0.0, 0.0
    for k in range(m):
        reached = min(F[k], level)
        total += k * (reached - before)
        before = reached
    return (total + m * (level - before)) / level
