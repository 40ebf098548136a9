"""Intervals of means without d² sums: ``python -m tests.learners.adjoint_scores``.

An error of phi_p·w is y·(mean score), where Aᵀy = phi_p. Beside the stream for w runs another, of
the same cost, for y; then block sums of the scalars y·xi_t give an interval, and their mean a
correction, whose bias is the product of both errors. Tables along walks, the three states of which
one is seen most, one often and one in the middle; prints the share of 95 % intervals that hold,
corrected and not. Takes a minute. What came of it is in docs/decisions.md.
"""

import numpy as np
from numba import njit
from scipy.stats import t as student

import lincat
from lincat.solvers.influence import cosines
from lincat.tuning.cases import _PROCESSES

GAMMA, BLOCKS, NU, LOGS = 0.9, 64, 16, 40
CASES = (("jumps", 300), ("line", 60))


@njit
def learned(state, reward, ahead, probe, n_states, tau):
    """Tail average of w with the steps of "auto", at the probe, and block sums of y·xi there."""
    n = len(state)
    w, y, w_mean, y_mean = np.zeros((4, n_states))
    for t in range(n):
        step = 0.75 * (1.0 + t / tau) ** -0.75
        s, after, own = state[t], ahead[t], y[state[t]]
        w[s] += step * (reward[t] + GAMMA * w[after] - w[s])
        y[s] -= step * own
        y[after] += step * GAMMA * own
        y[probe] += step
        if t >= n // 2:
            w_mean += w
            y_mean += y
    w_mean /= n - n // 2
    y_mean /= n - n // 2
    sums = np.zeros(BLOCKS)
    for t in range(n):
        error = reward[t] + GAMMA * w_mean[ahead[t]] - w_mean[state[t]]
        sums[t * BLOCKS // n] += y_mean[state[t]] * error
    return w_mean[probe], sums / n


def held(process, truth, probe, rows):
    """The share of logs whose interval holds, corrected and not."""
    n_states, found = process.n_states, []
    tau = 100.0 + 3.0 * n_states / (1.0 - GAMMA)
    for seed in range(LOGS):
        x = process.sample(rows, seed=seed)
        mean, sums = learned(x.state, x.reward, x.next_state, probe, n_states, tau)
        slow = cosines(np.ones(BLOCKS), NU) @ sums
        reach = student.ppf(0.975, NU) * np.sqrt(np.mean(slow**2))
        found.append([abs(c - truth[probe]) <= reach for c in (mean + sums.sum(), mean)])
    return np.mean(found, axis=0)


if __name__ == "__main__":
    rng = np.random.default_rng(5)
    for name, n_states in CASES:
        process = _PROCESSES[name](rng, n_states)
        truth = lincat.solve_value(process, np.eye(n_states), GAMMA)
        probes = np.argsort(-process.stationary)[[0, n_states // 4, n_states // 2]]
        for rows in (20_000, 100_000):
            shares = [held(process, truth, int(probe), rows) for probe in probes]
            text = ", ".join(f"{a:.0%} (uncorrected {b:.0%})" for a, b in shares)
            print(f"{name}, {n_states} places, {rows:,} steps: {text}", flush=True)
