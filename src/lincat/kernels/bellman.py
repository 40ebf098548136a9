"""The projected Bellman target in O(K) per transition, without any K x K matrix.

Everything happens in *grid units*: position u stands for the return low + u * spacing, so that
output cell k is the interval [k, k + 1]. The pushed law ``r + discount * X`` has the CDF

    0 left of rho,   F'_m on [rho + discount * m, rho + discount * (m + 1)),   top right of that,

and its Cramér projection has at atom k the CDF value *average of the pushed CDF over cell k*
(DESIGN section 3; Eq. (categorical_prob) integrated by parts). As discount <= 1, a source cell
meets at most two output cells: the two non-zeros per column of B(r) (Lemma spectra_CGC_).
"""

import math

import numba

__all__ = ["add_expected_targets", "add_target", "clipped_masses", "reward_shift", "target_rows"]


@numba.njit(cache=True)
def _product_error(a, b, product):
    """The rounding error a * b - product of a floating-point product (Dekker, 1971)."""
    a_split = 134217729.0 * a  # 2**27 + 1
    a_high = a_split - (a_split - a)
    a_low = a - a_high
    b_split = 134217729.0 * b
    b_high = b_split - (b_split - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@numba.njit(cache=True)
def reward_shift(reward, discount, low, spacing, K):
    """Where the pushed lowest atom lands: rho = (reward - (1 - discount) * low) / spacing.

    Far from the origin (|low| much larger than the spacing) the subtraction cancels, so it is
    done with the rounding errors carried along. Beyond [-K - 1, K + 1] nothing of the law is
    left on the grid, and the shift is cut off there.
    """
    remaining = 1.0 - discount
    remaining_error = (1.0 - remaining) - discount
    product = remaining * low
    difference = reward - product
    virtual = difference - reward
    difference_error = (reward - (difference - virtual)) - (product + virtual)
    error = difference_error - _product_error(remaining, low, product) - remaining_error * low
    return min(max((difference + error) / spacing, -K - 1.0), K + 1.0)


@numba.njit(cache=True)
def add_target(out, cdf_next, rho, discount, top, weight):
    """out += weight * target, the target of one transition.

    ``top`` is the total mass of the next law: 1 gives the affine map (the Bellman target),
    0 its linear part, multiplication by B(r).
    """
    K = out.shape[0]
    left = rho
    for m in range(K):
        right = rho + discount * (m + 1)
        if right > 0.0:
            start = max(left, 0.0)
            if start >= K:
                return
            cell = int(start)
            value = weight * cdf_next[m]
            if right <= cell + 1:
                out[cell] += value * (right - start)
            else:
                out[cell] += value * (cell + 1 - start)
                if cell + 1 < K:
                    out[cell + 1] += value * (right - (cell + 1))
        left = right
    if top != 0.0 and left < K:
        start = max(left, 0.0)
        cell = int(start)
        out[cell] += weight * top * (cell + 1 - start)
        for k in range(cell + 1, K):
            out[k] += weight * top


@numba.njit(cache=True)
def target_rows(out, cdf_next, reward, discount, low, spacing):
    """out[i] = target of transition i; out, cdf_next (n, K), reward and discount (n,)."""
    n, K = out.shape
    for i in range(n):
        rho = reward_shift(reward[i], discount[i], low, spacing, K)
        out[i, :] = 0.0
        add_target(out[i], cdf_next[i], rho, discount[i], 1.0, 1.0)


@numba.njit(cache=True)
def add_expected_targets(out, cdf, offsets, next_state, rho, discount, probability, top):
    """out[s] += E[target of the next state's law | s] over a table of outcomes sorted by state.

    Outcomes of state s are rows offsets[s]:offsets[s + 1]; out and cdf are (S, K).
    """
    for s in range(out.shape[0]):
        for j in range(offsets[s], offsets[s + 1]):
            add_target(out[s], cdf[next_state[j]], rho[j], discount[j], top, probability[j])


@numba.njit(cache=True)
def clipped_masses(out, cdf, row, reward, discount, low, spacing):
    """out[i] = (mass below the grid, mass above it) of the pushed law of transition i.

    The next state's law of transition i is cdf[row[i]].
    """
    K = cdf.shape[1]
    slack = 1e-9  # an atom that lands on an end of the grid to rounding is not outside it
    for i in range(out.shape[0]):
        rho = reward_shift(reward[i], discount[i], low, spacing, K)
        out[i, 0] = _pushed_cdf(cdf[row[i]], rho, discount[i], -slack)
        out[i, 1] = 1.0 - _pushed_cdf(cdf[row[i]], rho, discount[i], K + slack)


@numba.njit(cache=True)
def _pushed_cdf(cdf_next, rho, discount, position):
    """The CDF of the pushed law at a position in grid units."""
    K = cdf_next.shape[0]
    if position < rho:
        return 0.0
    if position >= rho + discount * K:
        return 1.0
    return cdf_next[math.floor((position - rho) / discount)]
