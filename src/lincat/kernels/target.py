"""The Bellman target of a transition, and the row F(s) - target: the plain form.

Everything happens in *grid units*: position u stands for the return low + u * spacing, so that
output cell k is the interval [k, k + 1]. The pushed distribution ``r + delta * X`` has source cell
m, of height F'_m, over [rho + delta m, rho + delta (m + 1)], zero to its left and the total mass to
its right. Its Cramér projection has at atom k the CDF value *average of the pushed CDF over cell k*
(Eq. (categorical_prob) integrated by parts):

    target_k = sum_m overlap([rho + delta m, rho + delta (m + 1)], [k, k + 1]) F'_m

As delta <= 1, a source cell meets at most two output cells: the two non-zeros per column of B(r)
(Lemma spectra_CGC_). Overlaps, not differences of prefix sums: those would lose a digit. A row
costs O(K), and nothing here divides by delta. blocks.py has the vector form.
"""

from numba import njit

from lincat.kernels.layout import CALLED, PAD

__all__ = ["add_target", "error_by_sources"]


@njit(**CALLED)
def add_target(out, row, source, start, rho, delta, total, weight, K):
    """out[row, :K] += weight * target, the target of one transition, for any delta in [0, 1].

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
                if right <= k + 1:
                    out[row, k] += value * (right - begin)
                else:
                    out[row, k] += value * (k + 1 - begin)
                    if k + 1 < K:
                        out[row, k + 1] += value * (right - (k + 1))
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
