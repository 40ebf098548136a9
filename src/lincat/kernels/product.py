"""Products of random update matrices, for the rate at which errors grow or shrink."""

import math

import numpy as np

from lincat.kernels.bellman import add_target
from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_states, refuse
from lincat.kernels.rules import multiply_by_CCt


@njit(cache=True, nogil=True)
def log_growth(out, Theta, Phi, outcome, state, next_state, rho, delta, step, batch, pmf):
    """out[n] = log ‖(I − step A_n) Theta‖/‖Theta‖ of batch n, Theta continuing with norm 1.

    A_n is the mean over the batch of phi ⊗ (phi·Theta − B(r) phi'·Theta), with C Cᵀ behind for
    SSGD-PMF: the linear part of an update, without the offset. ``outcome`` numbers the rows of a
    table (state, next_state, rho, delta) of outcomes, ``batch`` of them an update; each row, and
    each state, is worked on once in a batch however often it occurs. Phi is (S, d).
    """
    d, K = Theta.shape
    S = Phi.shape[0]
    outcomes = state.shape[0]
    refuse(Phi.shape[1] != d or rho.shape[0] < outcomes or delta.shape[0] < outcomes)
    guard_states(outcome, outcomes, batch * out.shape[0])
    guard_states(state, S, outcomes)
    guard_states(next_state, S, outcomes)
    change = np.empty((d, K))
    rows, error = np.empty((S, K)), np.zeros((S, K))
    source = rows.ravel()
    known = np.full(S, -1)  # the last batch for which rows[s] was computed
    counts = np.zeros(outcomes, np.int64)
    for n in range(out.shape[0]):
        drawn = outcome[n * batch : (n + 1) * batch]
        for j in drawn:
            counts[j] += 1
        change[:] = 0.0
        for j in drawn:
            if counts[j] == 0:
                continue  # worked on already
            s, weight = state[j], float(counts[j])
            counts[j] = 0
            for needed in (s, next_state[j]):
                if known[needed] != n:
                    known[needed] = n
                    rows[needed, :] = 0.0
                    for i in range(d):
                        for k in range(K):
                            rows[needed, k] += Phi[needed, i] * Theta[i, k]
            for k in range(K):
                error[s, k] += weight * rows[s, k]
            add_target(error, s, source, next_state[j] * K, rho[j], delta[j], 0.0, -weight, K)
        for j in drawn:
            s = state[j]
            if known[s] == n:
                known[s] = -1
                for i in range(d):
                    for k in range(K):
                        change[i, k] += Phi[s, i] * error[s, k]
                error[s, :] = 0.0
        if pmf:
            for i in range(d):
                multiply_by_CCt(change, i, K)
        squares = 0.0
        for i in range(d):
            for k in range(K):
                Theta[i, k] -= step / batch * change[i, k]
                squares += Theta[i, k] * Theta[i, k]
        norm = math.sqrt(squares)
        out[n] = math.log(norm)
        Theta /= norm
