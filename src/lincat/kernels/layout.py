"""Where numbers live: padded parameter matrices and the work rows of a loop.

A parameter matrix has `columns` used columns (K, or K+1 for rules without the
normalisation constraint), padded with zeros to a multiple of 64 bytes and aligned
to 64, so that a row is a whole number of cache lines and no sweep has a scalar
tail. Kernels keep the padding at zero; users see `Theta[:, :columns]`, a view.

The numbers of a row are next to each other, but rows may have others between them: for
features that touch few rows, the averaging sums of a row lie behind its parameters
(`paired_zeros`), where the processor finds them without another search.
"""

from collections import namedtuple

import numpy as np

from lincat.kernels.compiled import njit

# Elements beyond each end of the row of the next state: zeros below, the total mass
# above. A projection that reaches over the end of the grid needs no branch then.
PAD = 32

# Outer products that are added to a matrix in one pass over it, at most.
GROUP = 64

# A loop owns its arrays (KERNEL); what it calls for each transition only borrows them.
# Without _nrt=False Numba counts references at every such call, which takes longer
# than an update of 3 x 30 parameters. Division by zero gives inf, as in NumPy.
KERNEL = {"cache": True, "nogil": True, "error_model": "numpy"}
OWNING = {"nogil": True, "error_model": "numpy"}
CALLED = {"nogil": True, "error_model": "numpy", "_nrt": False}
INLINED = {**CALLED, "forceinline": True}

Work = namedtuple(
    "Work",
    [
        "offset",  # (width,) what F(s) adds to phi·Theta
        "row",  # (width,) F(s)
        "ahead",  # (PAD + width + PAD,) F(s')
        "error",  # (rows, width) the increments, each the factor of phi in an update
        "edges",  # one a block of outputs: see blocks.py
        "sources",  # int32, likewise
        "squares",  # sums of squares of the error row, one a lane: their total is ‖error‖²
    ],
)


def parameters_and_sums(rows, columns, dtype, *, averaging, paired):
    """Zeros for Theta and U; without averaging U is empty. Paired, their rows lie side by side."""
    if averaging and paired:
        return paired_zeros(rows, columns, dtype)
    sums = padded_zeros(rows, columns) if averaging else np.zeros((0, 0))
    return padded_zeros(rows, columns, dtype), sums


def padded_zeros(rows, columns, dtype=np.float64):
    """Zeros of shape (rows, columns rounded up to whole cache lines), aligned to 64 bytes."""
    return _lines(rows, _row_bytes(columns, dtype)).view(dtype)


def paired_zeros(rows, columns, dtype=np.float64):
    """Parameters of this dtype and their sums in float64, row beside row: two `padded_zeros`."""
    size = _row_bytes(columns, dtype)
    memory = _lines(rows, size + _row_bytes(columns, np.float64))
    return memory[:, :size].view(dtype), memory[:, size:].view(np.float64)


def _row_bytes(columns, dtype):
    return -(-columns * np.dtype(dtype).itemsize // 64) * 64


def _lines(rows, size):
    """Zero bytes of shape (rows, size), aligned to 64."""
    memory = np.zeros(rows * size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + rows * size].reshape(rows, size)


@njit(**CALLED)
def group_size(U):
    """How many outer products to add to U in one pass, so that their rows stay near the processor.

    A multiple of eight: the passes are unrolled.
    """
    return max(8, min(GROUP, 4096 // U.shape[1] // 8 * 8))


@njit(**OWNING)
def aligned_zeros(size, dtype):
    """Zeros of shape (size,) aligned to 64 bytes; Numba's own blocks may straddle two lines."""
    memory = np.zeros(size + 64, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize
    return memory[start : start + size]


@njit(**OWNING)
def work_rows(Theta, K, normalised, rows):
    """The work arrays of a loop over Theta that holds `rows` increments at a time.

    With normalised, F_k = phi·Theta[:, k] + (k+1)/(K+1) for k < K and 1 above; else no offset.
    """
    width, dtype = Theta.shape[1], Theta.dtype
    offset = aligned_zeros(width, dtype)
    if normalised:
        for k in range(width):
            offset[k] = min((k + 1.0) / (K + 1.0), 1.0)
    ahead = aligned_zeros(width + 2 * PAD, dtype)
    ahead[PAD + width :] = 1.0
    error = aligned_zeros(rows * width, dtype).reshape(rows, width)
    edges = aligned_zeros(width, dtype)
    return Work(
        offset,
        aligned_zeros(width, dtype),
        ahead,
        error,
        edges,
        np.zeros(width, np.int32),
        aligned_zeros(16, dtype),
    )
