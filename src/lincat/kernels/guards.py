"""What a loop checks before it touches memory, once for each call.

Compiled code does not look at the bounds of arrays, and SciPy does not look at the columns of a
sparse matrix: one that is outside of its shape would be written to all the same. Callers check what
users give them and say what is wrong in their own words; here is the last look, for arrays that
changed after that and for callers with a bug. A guard raises IndexError. Its pass
over the addresses takes 1.4 % of Linear-CTD with states, 0.3 % with tiles, and 2.6 % of Linear-TD
with tiles (``lincat bench guards``); with states, where it would take 6 %, Linear-TD looks at each
as it comes.
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.layout import CALLED, KERNEL, OWNING


@njit(**OWNING)
def refuse(wrong):
    """Raise if something is wrong; the shapes, mostly."""
    if wrong:
        raise IndexError("arrays of a kernel do not fit each other")


@njit(**OWNING)
def guard_parameters(Theta, U, clipped, columns, batch):
    """Theta and U are as layout.py makes them, with room for so many columns."""
    width = Theta.shape[1]
    refuse(batch < 1 or clipped.shape[0] < 2 or width < columns or columns < 1)
    refuse(width * Theta.itemsize % 64 != 0 or Theta.strides[1] != Theta.itemsize)
    if U.shape[0] > 0:
        refuse(U.shape[0] != Theta.shape[0] or not columns <= U.shape[1] <= width)
        refuse(U.shape[1] * U.itemsize % 64 != 0 or U.strides[1] != U.itemsize)


@njit(**OWNING)
def guard_numbers(n, a, b, c):
    """Three arrays have a number for each of n transitions."""
    refuse(a.shape[0] < n or b.shape[0] < n or c.shape[0] < n)


@njit(**OWNING)
def guard_states(states, count, n):
    """The first n states are among 0 .. count - 1."""
    refuse(states.shape[0] < n)
    if not _all_inside(states[:n], count):
        raise IndexError("a state that has no row of parameters")


@njit(**OWNING)
def guard_groups(offsets, count, rows):
    """Group s of rows, offsets[s] : offsets[s + 1], lies within them, for s < count."""
    refuse(offsets.shape[0] <= count or offsets[0] < 0 or offsets[count] > rows)
    refuse(not _ordered(offsets[:count], offsets[1 : count + 1]))


@njit(**CALLED)
def _ordered(offsets, following):
    signs = following[:1].sum() * 0  # a zero of their type
    for s in range(offsets.shape[0]):
        signs |= following[s] - offsets[s]
    return signs >= 0


@njit(**OWNING)
def guard_buckets(
    cross, phi_sum, Sigma, phi, phi_next, order, last, slots, phi_slots, parts, weight, columns
):
    """Rows order[last[k-1]:last[k]] are in bucket k, which has slots among the sums."""
    n, d = phi.shape
    refuse(phi_next.shape != phi.shape or parts.shape[0] < n or weight.shape[0] < n)
    refuse(last.shape[0] < 1 or columns.shape[0] < 2 or columns[0] < 0 or columns[1] > d)
    refuse(cross.shape[1:] != (d, d) or phi_sum.shape[1] != d or Sigma.shape != (d, d))
    refuse(slots.shape != (last.shape[0], parts.shape[1]) or phi_slots.shape != slots.shape)
    refuse(last[0] < 0 or last[-1] > order.shape[0] or not _ordered(last[:-1], last[1:]))
    refuse(not _all_inside(order, n))
    first = 0
    for k in range(last.shape[0]):
        if last[k] > first:
            refuse(not _all_inside(phi_slots[k], phi_sum.shape[0]))
            refuse(slots[k, 0] >= 0 and not _all_inside(slots[k], cross.shape[0]))
        first = last[k]


@njit(**OWNING)
def guard_counts(cross, phi_sum, Sigma, state, state_next, bucket, slots, phi_slots, parts, weight):
    """States, buckets and the slots of those that occur lie within."""
    n, d = state.shape[0], Sigma.shape[0]
    guard_states(state, d, n)
    guard_states(state_next, d, n)
    _guard_slots(cross, phi_sum, Sigma, n, bucket, slots, phi_slots, parts, weight)


@njit(**OWNING)
def guard_rows(cross, phi_sum, Sigma, phi, phi_next, bucket, slots, phi_slots, parts, weight):
    """Features, fewer than eight, buckets and the slots of those that occur lie within."""
    n, d = phi.shape
    refuse(phi_next.shape != phi.shape or Sigma.shape[0] != d or d >= 8)
    _guard_slots(cross, phi_sum, Sigma, n, bucket, slots, phi_slots, parts, weight)


@njit(**OWNING)
def _guard_slots(cross, phi_sum, Sigma, n, bucket, slots, phi_slots, parts, weight):
    d = Sigma.shape[0]
    refuse(bucket.shape[0] < n or parts.shape[0] < n or weight.shape[0] < n)
    refuse(cross.shape[1:] != (d, d) or phi_sum.shape[1] != d or Sigma.shape[1] != d)
    refuse(slots.shape[1] != parts.shape[1] or phi_slots.shape != slots.shape)
    refuse(not _all_inside(bucket[:n], slots.shape[0]))
    occurs = np.zeros(slots.shape[0], dtype=np.bool_)
    for t in range(n):
        occurs[bucket[t]] = True
    for k in range(slots.shape[0]):
        if occurs[k]:
            refuse(not _all_inside(phi_slots[k], phi_sum.shape[0]))
            refuse(slots[k, 0] >= 0 and not _all_inside(slots[k], cross.shape[0]))


@njit(**OWNING)
def guard_nodes(first, weight, nodes, reward):
    """There are three nodes at least, and room for what is said of each reward."""
    n = reward.shape[0]
    refuse(nodes.shape[0] < 3 or first.shape[0] < n)
    refuse(weight.shape[0] < n or weight.shape[1] != 3)


@njit(**OWNING)
def guard_csr(matrix, columns, n):
    """The first n rows of (indptr, indices, values) lie within, and their columns are there."""
    indptr, indices, values = matrix
    guard_groups(indptr, n, min(indices.shape[0], values.shape[0]))
    if not _all_inside(indices[indptr[0] : indptr[n]], columns):
        raise IndexError("a column outside of the shape of a sparse matrix")


@njit(**CALLED)
def _all_inside(numbers, count):
    """Whether all are among 0 .. count - 1."""
    if numbers.shape[0] == 0:
        return True
    # By their signs: x | (count - 1 - x) is negative where x is outside. Vector registers have no
    # smaller and larger of 64-bit integers. (Not "for number in numbers": that would not use them.)
    signs = numbers[0] * 0
    for j in range(numbers.shape[0]):
        signs |= numbers[j] | (count - 1 - numbers[j])
    return signs >= 0


@njit(**KERNEL)
def bad_entry(indptr, indices, columns):
    """The first entry of a CSR matrix with a bad column; -1 for none, -2 for rows that do not fit.

    For callers who want to say where it is.
    """
    n = indptr.shape[0] - 1
    if n < 0 or indptr[0] != 0 or indptr[n] > indices.shape[0]:
        return np.int64(-2)
    if not _ordered(indptr[:n], indptr[1:]):
        return np.int64(-2)
    if not _all_inside(indices[: indptr[n]], columns):
        for j in range(indptr[n]):
            if not 0 <= indices[j] < columns:
                return np.int64(j)
    return np.int64(-1)
