"""Bellman targets of many transitions at once, and where rewards land on the grid.

The target itself is in target.py; here are the loops over rows, outcomes and rewards.
"""

import numba

from lincat.kernels.clipped import mass_outside
from lincat.kernels.target import add_target

__all__ = [
    "add_expected_targets",
    "clipped_masses",
    "reward_shift",
    "reward_shifts",
    "target_rows",
]


@numba.njit(cache=True, nogil=True)
def _product_error(a, b, product):
    """The rounding error a * b - product of a floating-point product (Dekker, 1971)."""
    a_split = 134217729.0 * a  # 2**27 + 1
    a_high = a_split - (a_split - a)
    a_low = a - a_high
    b_split = 134217729.0 * b
    b_high = b_split - (b_split - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@numba.njit(cache=True, nogil=True)
def reward_shift(reward, discount, low, spacing, K):
    """Where the pushed lowest atom lands: rho = (reward - (1 - discount) * low) / spacing.

    Far from the origin (|low| much larger than the spacing) the subtraction cancels, so it is
    done with the rounding errors carried along. Beyond [-K - 1, K + 1] nothing of the distribution
    is left on the grid, and the shift is cut off there.
    """
    remaining = 1.0 - discount
    remaining_error = (1.0 - remaining) - discount
    product = remaining * low
    difference = reward - product
    virtual = difference - reward
    difference_error = (reward - (difference - virtual)) - (product + virtual)
    error = difference_error - _product_error(remaining, low, product) - remaining_error * low
    return min(max((difference + error) / spacing, -K - 1.0), K + 1.0)


@numba.njit(cache=True, nogil=True)
def reward_shifts(out, reward, discount, low, spacing, K):
    """out[i] = reward_shift of transition i."""
    for i in range(out.shape[0]):
        out[i] = reward_shift(reward[i], discount[i], low, spacing, K)


@numba.njit(cache=True, nogil=True)
def target_rows(out, cdf_next, rho, discount):
    """out[i] = target of transition i; out, cdf_next (n, K), rho and discount (n,)."""
    n, K = out.shape
    source = cdf_next.ravel()
    for i in range(n):
        out[i, :] = 0.0
        add_target(out, i, source, i * K, rho[i], discount[i], 1.0, 1.0, K)


@numba.njit(cache=True, nogil=True)
def add_expected_targets(out, cdf, offsets, next_state, rho, discount, probability, total):
    """out[s] += E[target of the next state's CDF | s] over a table of outcomes sorted by state.

    Outcomes of state s are rows offsets[s]:offsets[s + 1]; out and cdf are (S, K); with a total of
    0 only the linear part.
    """
    S, K = out.shape
    source = cdf.ravel()
    for s in range(S):
        for j in range(offsets[s], offsets[s + 1]):
            start = next_state[j] * K
            add_target(out, s, source, start, rho[j], discount[j], total, probability[j], K)


@numba.njit(cache=True, nogil=True)
def clipped_masses(out, cdf, row, rho, discount):
    """out[i] = (mass below the grid, mass above it) of the pushed distribution of transition i.

    The next state's distribution of transition i is cdf[row[i]].
    """
    K = cdf.shape[1]
    source = cdf.ravel()
    for i in range(out.shape[0]):
        below, above = mass_outside(source, row[i] * K, 1.0, rho[i], discount[i], K)
        out[i, 0] = below
        out[i, 1] = above
