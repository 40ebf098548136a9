"""The passes of matrix_passes.py and row_passes.py as plain loops.

For machines or Numba versions where simd.py does not work. Equal up to rounding (no fused
multiply-adds), and with the same property: one order of summation, so the same bits for any split
of a stream.
"""

from numba import njit

from lincat.kernels.layout import CALLED, PAD


@njit(**CALLED)
def dots(work, Theta, phi, phi_next, t):
    """Set row = phi[t]·Theta + offset and ahead[PAD:] = phi_next[t]·Theta + offset."""
    d, width = Theta.shape
    for k in range(width):
        work.row[k] = work.offset[k]
        work.ahead[PAD + k] = work.offset[k]
    for i in range(d):
        for k in range(width):
            work.row[k] += phi[t, i] * Theta[i, k]
            work.ahead[PAD + k] += phi_next[t, i] * Theta[i, k]


@njit(**CALLED)
def update(Theta, work, phi, t):
    """Theta += phi[t] ⊗ error[0]."""
    d, width = Theta.shape
    for i in range(d):
        for k in range(width):
            Theta[i, k] += phi[t, i] * work.error[0, k]


@njit(**CALLED)
def update_and_dots(Theta, work, phi, phi_next, t):
    """update() for transition t, then dots() for t + 1."""
    update(Theta, work, phi, t)
    dots(work, Theta, phi, phi_next, t + 1)


@njit(**CALLED)
def add_outers(U, phi, first, errors, count, few):
    """U += sum over j < count of phi[first + j] ⊗ errors[j]; few is not used."""
    d, width = U.shape
    for j in range(count):
        for i in range(d):
            for k in range(width):
                U[i, k] += phi[first + j, i] * errors[j, k]


@njit(**CALLED)
def lagged(out, at, errors, row, lag):
    """out[at] = -lag errors[row], over the columns of out."""
    for k in range(out.shape[1]):
        out[at, k] = -lag * errors[row, k]


@njit(**CALLED)
def dot_rows(out, at, Theta, offset, indices, values, first, last):
    """out[at : at+width] = offset + sum over first <= j < last of values[j] Theta[indices[j]]."""
    width = Theta.shape[1]
    for k in range(width):
        out[at + k] = offset[k]
    for j in range(first, last):
        for k in range(width):
            out[at + k] += values[j] * Theta[indices[j], k]


@njit(**CALLED)
def expect_rows(U, indices, first, last):
    """Nothing: a plain loop cannot ask for what it will need."""


@njit(**CALLED)
def add_rows(Theta, errors, at, indices, values, first, last):
    """Theta[indices[j]] += values[j] errors[at], first <= j < last."""
    for j in range(first, last):
        for k in range(Theta.shape[1]):
            Theta[indices[j], k] += values[j] * errors[at, k]


@njit(**CALLED)
def add_rows_twice(Theta, U, errors, at, lags, indices, values, first, last):
    """The same, and U[indices[j]] += values[j] lags[0]."""
    add_rows(Theta, errors, at, indices, values, first, last)
    add_rows(U, lags, 0, indices, values, first, last)


@njit(**CALLED)
def copy_rows(work, Theta, i, i_next):
    """Set row = offset + Theta[i] and ahead[PAD:] = offset + Theta[i_next]."""
    for k in range(Theta.shape[1]):
        work.row[k] = work.offset[k] + Theta[i, k]
        work.ahead[PAD + k] = work.offset[k] + Theta[i_next, k]


@njit(**CALLED)
def add_row(Theta, errors, at, scale, i):
    """Theta[i] += scale errors[at]."""
    for k in range(Theta.shape[1]):
        Theta[i, k] += scale * errors[at, k]
