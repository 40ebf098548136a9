"""Drawing transitions from a table of outcomes, by inverse transform.

The uniforms come from outside, one per draw, so a seed fixes the sample whatever the machine, and
two processes driven by the same uniforms are coupled (common random numbers).
"""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_states, refuse


@njit(cache=True, nogil=True)
def _search(cumulative, start, stop, uniform):
    """The first index in start..stop - 1 whose cumulative probability exceeds ``uniform``."""
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > uniform:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def draw_outcomes(out, state, offsets, cumulative, uniform):
    """out[i] = the outcome drawn for state[i]: independent (generative) transitions."""
    # The table of outcomes is the process's own, checked when it was made, and cannot be written.
    guard_states(state, offsets.shape[0] - 1, out.shape[0])
    refuse(uniform.shape[0] < out.shape[0])
    for i in range(out.shape[0]):
        s = state[i]
        out[i] = _search(cumulative, offsets[s], offsets[s + 1], uniform[i])


@njit(cache=True, nogil=True)
def walk(
    out, start, offsets, cumulative, next_state, terminated, initial_cumulative, uniform, restart
):
    """out[i] = the i-th outcome of one walk from ``start``; an ended episode starts again.

    Returns the state after the last transition, from which the walk can continue.
    """
    refuse(not 0 <= start < offsets.shape[0] - 1)
    refuse(uniform.shape[0] < out.shape[0])
    if restart.shape[0] < out.shape[0]:  # as where no episode ends
        refuse(terminated.any())
    s = np.int64(start)
    for i in range(out.shape[0]):
        j = _search(cumulative, offsets[s], offsets[s + 1], uniform[i])
        out[i] = j
        if terminated[j]:
            s = np.int64(_search(initial_cumulative, 0, initial_cumulative.shape[0], restart[i]))
        else:
            s = next_state[j]
    return s
