"""The learning rules: from the rows of two states to the increment of the parameters.

Every rule changes the parameters by phi ⊗ increment, and every increment is the
Linear-CTD one, -step (F(s) - target), with something done before or after:

    CTD            Linear-CTD, Eq. (linear_CTD): K columns, F = phi·Theta + (k+1)/(K+1)
    PMF            SSGD-PMF, Eq. (linear_CTD_PMF_THETA): the increment times C C^T
    UNNORMALISED   K+1 columns, F = phi·Theta, total mass F_K free (Lyle et al. 2019)
    SOFTMAX        K+1 columns of logits, cross-entropy: pmf - projected target pmf
                   (Bellemare, Dabney and Rowland 2023, section 9.5)

A rule is a number given to the loops, not a function: one compiled loop serves all rules, and
Numba's cache works. The numbers are names and nothing else: their order means nothing, and files do
not hold them.
"""

import math

import numpy as np

from lincat.kernels.bellman import count_clipped
from lincat.kernels.blocks import cdf_error
from lincat.kernels.compiled import njit
from lincat.kernels.layout import CALLED, INLINED, PAD
from lincat.kernels.simd import half, lanes

CTD, PMF, UNNORMALISED, SOFTMAX = range(4)


@njit(**INLINED)
def is_normalised(rule):
    """Whether F adds the fixed offset (k+1)/(K+1), with F_K = 1, so that K columns are enough."""
    return rule == CTD or rule == PMF


def columns(K, rule):
    """Used columns of the parameter matrix; in compiled code K + 1 - is_normalised(rule)."""
    return K if is_normalised.py_func(rule) else K + 1


@njit(**INLINED)
def increment(work, clipped, at, rho, delta, step, limit, K, rule):
    """work.error[at] = the factor of phi in the change of the parameters.

    work.row and work.ahead hold phi·Theta plus the offset for the state and the next state; they
    may be overwritten. clipped counts the mass that leaves the grid. Returns whether all is well:
    ‖F(s) - target‖² is a number, and at most ``limit``.
    """
    if not is_normalised(rule):
        _before(work.row, work.ahead, K, rule)
    cdf_error(work, at, rho, delta, -step, K)
    squares = 0.0
    for lane in range(lanes(half(work.row))):
        squares += work.squares[lane]
    if not squares <= limit * step * step:
        return False
    count_clipped(clipped, work.ahead, rho, delta, K)
    if rule != CTD:
        _after(work, at, delta, step, K, rule)
    return True


@njit(**CALLED)
def _before(row, ahead, K, rule):
    """Turn the rows into CDFs, with the total mass above the grid."""
    if rule == SOFTMAX:
        _softmax_cdf(row, np.int64(0), K)
        _softmax_cdf(ahead, np.int64(PAD), K)
    for k in range(PAD + K + 1, ahead.shape[0]):
        ahead[k] = ahead[PAD + K]


@njit(**CALLED)
def _softmax_cdf(row, at, K):
    """row[at : at+K+1] = cumulative sums of softmax(row[at : at+K+1])."""
    largest = row[at]
    for k in range(1, K + 1):
        largest = max(largest, row[at + k])
    total = 0.0
    for k in range(K + 1):
        total += math.exp(row[at + k] - largest)
        row[at + k] = total
    for k in range(K + 1):
        row[at + k] /= total


@njit(**CALLED)
def _after(work, at, delta, step, K, rule):
    """What the other rules do to the scaled CDF error."""
    error = work.error
    if rule == PMF:
        multiply_by_CCt(error, at, K)
    elif rule == UNNORMALISED:
        total = work.ahead[PAD + K] if delta > 0.0 else 1.0
        error[at, K] = -step * (work.row[K] - total)
    else:
        # A pmf is the difference of its CDF, and both CDFs end at one.
        error[at, K] = 0.0
        for k in range(K, 0, -1):
            error[at, k] -= error[at, k - 1]


@njit(**CALLED)
def multiply_by_CCt(matrix, row, K):
    """matrix[row, :K] = matrix[row, :K] C C^T, C the lower triangle of ones (Lemma spectra_of_CTC).

    (x C)_k are the suffix sums of x, (y C^T)_k the prefix sums of y.
    """
    for k in range(K - 2, -1, -1):
        matrix[row, k] += matrix[row, k + 1]
    for k in range(1, K):
        matrix[row, k] += matrix[row, k - 1]
