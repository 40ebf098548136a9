"""Masses of factor G + amount, row by row, on one grid for all rows."""

import math

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_numbers, guard_states, refuse
from lincat.kernels.layout import CALLED, KERNEL


@njit(**KERNEL)
def move_rows(out, masses, begin, above):
    """out[i, begin[i] + k] += (1 - above[i]) masses[i, k], and the rest one atom further."""
    n, K = masses.shape
    guard_numbers(n, begin, above, above)
    guard_states(begin, max(out.shape[1] - K, 1), n)
    refuse(out.shape[0] < n or out.shape[1] < K)
    for i in range(n):
        at, share = begin[i], above[i]
        for k in range(K):
            out[i, at + k] += (1.0 - share) * masses[i, k]
        if share > 0.0:
            refuse(at + K >= out.shape[1])
            for k in range(K):
                out[i, at + k + 1] += share * masses[i, k]


@njit(**KERNEL)
def spread_rows(out, masses, atoms, first, cell):
    """out[i] = the Cramér projection of masses[i] on atoms, spread over the cells of row i.

    Cell k is [first[i] + k cell[i], first[i] + (k + 1) cell[i]]. A value of the projected CDF is
    the average of the CDF between its atom and the next.
    """
    (n, K), last = masses.shape, atoms.shape[0] - 1
    guard_numbers(n, first, cell, cell)
    refuse(out.shape[0] < n or out.shape[1] != last + 1 or K < 1 or last < 1)
    knots, area = np.zeros(K + 1), np.zeros(K + 1)  # the CDF where cells meet; its integral
    for i in range(n):
        refuse(not (0.0 < cell[i] < math.inf and abs(first[i]) < math.inf))  # a NaN is no place
        for k in range(K):
            knots[k + 1] = knots[k] + masses[i, k]
            area[k + 1] = area[k] + 0.5 * (knots[k + 1] + knots[k])
        place = (atoms[0] - first[i]) / cell[i]
        below, before = _integral(knots, area, place), 0.0
        for j in range(last):
            next_place = (atoms[j + 1] - first[i]) / cell[i]
            next_below = _integral(knots, area, next_place)
            average = (next_below - below) / (next_place - place)
            out[i, j] = average - before
            place, below, before = next_place, next_below, average
        out[i, last] = knots[K] - before


@njit(**CALLED)
def _integral(knots, area, place):
    """The integral up to a place of a CDF that is 0 before the knots and constant after them."""
    K = len(knots) - 1
    inside = min(max(place, 0.0), float(K))
    k = min(int(inside), K - 1)
    share = inside - k
    below = area[k] + share * (knots[k] + 0.5 * share * (knots[k + 1] - knots[k]))
    return below + max(place - K, 0.0) * knots[K]
