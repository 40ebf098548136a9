"""The Bellman target of a transition: the target, what falls off the grid, where rewards land.

Everything happens in *grid units*: position u stands for the return low + u * spacing, so that
output cell k is the interval [k, k + 1]. The pushed distribution ``r + delta * X`` has source cell
m, of height F'_m, over [rho + delta m, rho + delta (m + 1)], zero to its left and the total mass to
its right. Its Cramér projection has at atom k the CDF value *average of the pushed CDF over cell k*
(Eq. (categorical_prob) integrated by parts):

    target_k = sum_m overlap([rho + delta m, rho + delta (m + 1)], [k, k + 1]) F'_m

With delta <= 1, a source cell meets at most two output cells: the two non-zeros per column of B(r)
(Lemma spectra_CGC_); returns in units that differ from state to state have larger ones. Overlaps,
not differences of prefix sums: those would lose a digit. A row costs O(K), and nothing here divides
by delta. blocks.py has the vector form, for delta <= 1.
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_groups, guard_numbers, guard_states, refuse
from lincat.kernels.layout import CALLED, INLINED, PAD

# An atom pushed less than this beyond an end (in grid cells) is rounding, not clipping.
TOLERANCE = 1e-9


# ------------------------------------------------------------------------- of one transition


@njit(**CALLED)
def add_target(out, row, source, start, rho, delta, total, weight, K):
    """out[row, :K] += weight * target, the target of one transition, for any delta >= 0.

    source[start : start + K] holds F'. ``total`` is the mass of the next distribution: 1 gives the
    affine map (the Bellman target), 0 its linear part, multiplication by B(r).
    """
    left = rho
    if delta > 0.0:
        for m in range(K):
            right = rho + delta * (m + 1)
            if right > 0.0:
                begin = max(left, 0.0)
                if begin >= K:
                    return
                k = int(begin)
                value = weight * source[start + m]
                while right > k + 1 and k + 1 < K:
                    out[row, k] += value * (k + 1 - begin)
                    begin = k + 1.0
                    k += 1
                out[row, k] += value * (min(right, k + 1.0) - begin)
            left = right
    if total != 0.0 and left < K:
        begin = max(left, 0.0)
        first = int(begin)
        out[row, first] += weight * total * (first + 1 - begin)
        for k in range(first + 1, K):
            out[row, k] += weight * total


@njit(**CALLED)
def error_by_sources(work, at, rho, delta, scale, K):
    """work.error[at, :K] = scale (F(s) - target), and its squares, for any delta in [0, 1].

    work.row holds F(s); work.ahead holds F(s') from element PAD on, zeros below and the total mass
    from PAD + K on.
    """
    error = work.error
    # A NaN could fall off the grid or vanish in a clamp; through the scale it reaches every column.
    scale += 0.0 * (rho + delta)
    for k in range(K):
        error[at, k] = 0.0
    # A terminal transition (delta = 0) pushes all of a total mass of one to rho.
    total = work.ahead[PAD + K] if delta > 0.0 else 1.0
    add_target(error, at, work.ahead, PAD, rho, delta, total, 1.0, K)
    for lane in range(work.squares.shape[0]):
        work.squares[lane] = 0.0
    for k in range(K):
        error[at, k] = scale * (work.row[k] - error[at, k])
        work.squares[0] += error[at, k] * error[at, k]


# --------------------------------------------------------------------------- what falls off


@njit(**INLINED)
def count_clipped(clipped, ahead, rho, delta, K):
    """Add the mass pushed below position 0 and above position K to clipped[0], clipped[1].

    A transition that stays on the grid costs two comparisons.
    """
    if rho < -TOLERANCE or rho + delta * K > K + TOLERANCE:
        below, above = mass_outside(ahead, PAD, ahead[PAD + K], rho, delta, K)
        clipped[0] += below
        clipped[1] += above


@njit(**CALLED)
def mass_outside(source, start, total, rho, delta, K):
    """The mass below position 0 and above position K of what is pushed, with CDF values F'_m.

    Atom m of the next state moves to rho + delta m, so the mass below is F'_m at the last m with
    rho + delta m < 0, and the mass above is F'_K - F'_m at the last m with rho + delta m <= K.
    source[start : start + K] holds F'_0 .. F'_{K-1}, and F'_K is the total.
    """
    below = above = 0.0
    if not delta > 0.0:  # the whole mass, one, sits at rho
        if rho < -TOLERANCE:
            below = 1.0
        elif rho > K + TOLERANCE:
            above = 1.0
        return below, above
    if rho < -TOLERANCE:
        m = int(min(np.ceil((-TOLERANCE - rho) / delta) - 1.0, K))
        below = source[start + m] if m < K else total
    if rho + delta * K > K + TOLERANCE:
        m = int(max(np.floor((K + TOLERANCE - rho) / delta), -1.0))
        above = total - (source[start + m] if m >= 0 else 0.0)
    return below, above


# ------------------------------------------------------------------------ of many transitions


@njit(cache=True, nogil=True)
def _product_error(a, b, product):
    """The rounding error a * b - product of a floating-point product (Dekker, 1971)."""
    a_split = 134217729.0 * a  # 2**27 + 1
    a_high = a_split - (a_split - a)
    a_low = a - a_high
    b_split = 134217729.0 * b
    b_high = b_split - (b_split - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(cache=True, nogil=True)
def reward_shift(reward, discount, low, spacing, K):
    """Where the pushed lowest atom lands: rho = (reward - (1 - discount) * low) / spacing.

    Far from the origin (|low| much larger than the spacing) the subtraction cancels, so it is
    done with the rounding errors carried along. Beyond [-K - 1, K + 1] nothing of the distribution
    is left on the grid (with a discount above 1, as much further down), and the shift is cut off
    there.
    """
    remaining = 1.0 - discount
    remaining_error = (1.0 - remaining) - discount
    product = remaining * low
    difference = reward - product
    virtual = difference - reward
    difference_error = (reward - (difference - virtual)) - (product + virtual)
    error = difference_error - _product_error(remaining, low, product) - remaining_error * low
    return min(max((difference + error) / spacing, -K * max(discount, 1.0) - 1.0), K + 1.0)


@njit(cache=True, nogil=True)
def reward_shifts(out, reward, discount, low, spacing, K):
    """out[i] = reward_shift of transition i."""
    guard_numbers(out.shape[0], reward, discount, out)
    for i in range(out.shape[0]):
        out[i] = reward_shift(reward[i], discount[i], low, spacing, K)


@njit(cache=True, nogil=True)
def target_rows(out, cdf_next, rho, discount):
    """out[i] = target of transition i; out, cdf_next (n, K), rho and discount (n,)."""
    n, K = out.shape
    refuse(cdf_next.shape != out.shape)
    guard_numbers(n, rho, discount, rho)
    source = cdf_next.ravel()
    for i in range(n):
        out[i, :] = 0.0
        add_target(out, i, source, i * K, rho[i], discount[i], 1.0, 1.0, K)


@njit(cache=True, nogil=True)
def add_expected_targets(out, cdf, offsets, next_state, rho, discount, probability, total):
    """out[s] += E[target of the next state's CDF | s] over a table of outcomes sorted by state.

    Outcomes of state s are rows offsets[s]:offsets[s + 1]; out and cdf are (S, K); with a total of
    0 only the linear part.
    """
    S, K = out.shape
    outcomes = next_state.shape[0]
    refuse(cdf.shape[1] != K)
    guard_groups(offsets, S, outcomes)
    guard_numbers(outcomes, rho, discount, probability)
    guard_states(next_state, cdf.shape[0], outcomes)
    source = cdf.ravel()
    for s in range(S):
        for j in range(offsets[s], offsets[s + 1]):
            start = next_state[j] * K
            add_target(out, s, source, start, rho[j], discount[j], total, probability[j], K)


@njit(cache=True, nogil=True)
def clipped_masses(out, cdf, row, rho, discount):
    """out[i] = (mass below the grid, mass above it) of the pushed distribution of transition i.

    The next state's distribution of transition i is cdf[row[i]].
    """
    n, K = out.shape[0], cdf.shape[1]
    refuse(out.shape[1] < 2)
    guard_numbers(n, rho, discount, row)
    guard_states(row, cdf.shape[0], n)
    source = cdf.ravel()
    for i in range(n):
        below, above = mass_outside(source, row[i] * K, 1.0, rho[i], discount[i], K)
        out[i, 0] = below
        out[i, 1] = above
