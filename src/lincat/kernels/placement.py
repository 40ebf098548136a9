"""What is asked of rows before they are summed: nodes, kinds of discounts, a fingerprint."""

import numpy as np

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_nodes, guard_states, refuse
from lincat.kernels.layout import KERNEL


@njit(**KERNEL)
def split_rewards(first, weight, nodes, reward):
    """The first of the three nodes about each reward's nearest, and the weights of all three.

    Those of quadratic interpolation, which keep Σ w = 1, Σ w x = r and Σ w x² = r².
    """
    guard_nodes(first, weight, nodes, reward)
    top = len(nodes) - 3
    middles = 0.5 * (nodes[:-1] + nodes[1:])
    scale = np.empty((top + 1, 3))
    for k in range(top + 1):
        a, b, c = nodes[k], nodes[k + 1], nodes[k + 2]
        scale[k, 0] = 1.0 / ((b - a) * (c - a))
        scale[k, 1] = -1.0 / ((b - a) * (c - b))
        scale[k, 2] = 1.0 / ((c - a) * (c - b))
    for t in range(len(reward)):
        r = reward[t]
        # Vector registers count all of them sooner than a search, step by step, finds the last.
        below = 0
        for k in range(len(middles)):
            below += np.int64(middles[k] < r)
        k = min(max(below - 1, 0), top)
        from_a, from_b, from_c = r - nodes[k], r - nodes[k + 1], r - nodes[k + 2]
        first[t] = k
        weight[t, 0] = from_b * from_c * scale[k, 0]
        weight[t, 1] = from_a * from_c * scale[k, 1]
        weight[t, 2] = from_a * from_b * scale[k, 2]


@njit(**KERNEL)
def discount_kinds(kind, discount):
    """kind[t] = 1 where nothing follows, else 0; whether any discount was given (NaN: not)."""
    refuse(kind.shape[0] < discount.shape[0])
    given = False
    for t in range(len(discount)):
        kind[t] = np.int64(discount[t] == 0.0)
        given |= discount[t] > 0.0
    return given


@njit(**KERNEL)
def number_pairs(number, node, kind, nodes, kinds):
    """number[t] = which of the pairs that occur (node, kind) is; those pairs, node kinds + kind."""
    n = number.shape[0]
    guard_states(node, nodes, n)
    guard_states(kind, kinds, n)
    numbers = np.full(nodes * kinds, -1)
    for t in range(n):
        numbers[node[t] * kinds + kind[t]] = 0
    present = np.flatnonzero(numbers == 0)
    for i in range(len(present)):
        numbers[present[i]] = i
    for t in range(n):
        number[t] = numbers[node[t] * kinds + kind[t]]
    return present


@njit(**KERNEL)
def fingerprint(words, end, x):
    """Σ_t v_t x^t mod 2⁶⁴, with v_t = splitmix64(words[t] + end[t])."""
    refuse(end.shape[0] < words.shape[0])
    value = np.uint64(0)
    for t in range(len(words) - 1, -1, -1):
        v = words[t] + np.uint64(end[t])
        v = (v ^ (v >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        v = (v ^ (v >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value = value * x + (v ^ (v >> np.uint64(31)))
    return value
