"""Sums by place, where few of many places have some: places ascend, with a row of sums for each.

What is added to one place is added in the order in which it comes, whatever comes in between.
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import refuse
from lincat.kernels.layout import KERNEL, OWNING

_DIGIT = 8  # bits that are sorted by at a time: the 256 runs that are written to stay in the cache


@njit(**KERNEL)
def summed(place, values):
    """Sums of rows whose places come in any order, more than once."""
    n, width = values.shape
    refuse(place.shape[0] != n)
    order, here = _sorted(place)
    places, sums = np.empty(n, np.int64), np.empty((n, width))
    m, last = -1, np.int64(-1)
    for i in range(n):
        # Without a branch, which nobody could foresee.
        same = here[i] == last
        m += 1 - np.int64(same)
        places[m] = last = here[i]
        for c in range(width):
            sums[m, c] = values[order[i], c] + (sums[m, c] if same else 0.0)
    return places[: m + 1].copy(), sums[: m + 1].copy()


@njit(**OWNING)
def _sorted(numbers):
    """The order in which numbers ascend, equal ones as they come, and the numbers in this order.

    Digit by digit, the lowest first.
    """
    n, mask = len(numbers), 2**_DIGIT - 1
    bits = np.int64(0)
    for t in range(n):
        bits |= numbers[t]
    refuse(bits < 0)
    order, here = np.arange(n), numbers.copy()
    order_ahead, ahead = np.empty(n, np.int64), np.empty(n, np.int64)
    begin = np.empty(2**_DIGIT, np.int64)
    shift = 0
    while bits >> shift:
        begin[:] = 0
        for t in range(n):
            begin[here[t] >> shift & mask] += 1
        total = 0
        for k in range(len(begin)):
            begin[k], total = total, total + begin[k]
        for t in range(n):
            k = here[t] >> shift & mask
            ahead[begin[k]], order_ahead[begin[k]] = here[t], order[t]
            begin[k] += 1
        here, ahead, order, order_ahead = ahead, here, order_ahead, order
        shift += _DIGIT
    return order, here


@njit(**KERNEL)
def merged(place, sums, other_place, other_sums):
    """The sums of two, both with ascending places."""
    (n, width), n_other = sums.shape, len(other_place)
    refuse(place.shape[0] != n or other_sums.shape[0] != n_other or other_sums.shape[1] != width)
    places, both = np.empty(n + n_other, np.int64), np.empty((n + n_other, width))
    i = j = m = 0
    while i < n and j < n_other:
        p, q = place[i], other_place[j]
        left, right = p <= q, q <= p
        places[m] = p if left else q
        for c in range(width):
            both[m, c] = (sums[i, c] if left else 0.0) + (other_sums[j, c] if right else 0.0)
        i, j, m = i + left, j + right, m + 1
    for t in range(i, n):
        places[m], both[m] = place[t], sums[t]
        m += 1
    for t in range(j, n_other):
        places[m], both[m] = other_place[t], other_sums[t]
        m += 1
    return places[:m].copy(), both[:m].copy()
