"""Random transitions in grid units, and a way to feed them to each loop."""

import itertools

import numpy as np
import scipy.sparse

from lincat.kernels import rules
from lincat.kernels.csr import csr_updates
from lincat.kernels.dense import dense_batches, dense_updates
from lincat.kernels.layout import parameters_and_sums
from lincat.kernels.states import state_updates

RULES = {
    "ctd": rules.CTD,
    "pmf": rules.PMF,
    "unnormalised": rules.UNNORMALISED,
    "softmax": rules.SOFTMAX,
}
KINDS = ("dense", "csr", "states")
LIMIT = 1e12
DELTAS = (0.0, 1e-3, 0.1, 0.3, 0.45, 0.5, 0.6, 0.7, 0.8, 0.81, 0.9, 0.95, 0.99, 1.0)


def step(name, K):
    """A step size at which the rule stays bounded on these data; ‖C Cᵀ‖ is of order K²."""
    return 6e-3 / K if name == "pmf" else 0.3


def transitions(n, d, K, *, one_hot=False, seed=0, mixed=True):
    """phi, phi_next, rho, delta; mixed has terminals, many discounts, rewards off the grid."""
    rng = np.random.default_rng(seed)
    if one_hot:
        phi, phi_next = (np.eye(d)[rng.integers(d, size=n)] for _ in range(2))
    else:
        phi, phi_next = (rng.normal(size=(n, d)) for _ in range(2))
        phi, phi_next = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (phi, phi_next))
    if not mixed:
        return phi, phi_next, 0.1 * K * rng.random(n), np.full(n, 0.9)
    delta = rng.choice(DELTAS, size=n)
    off = rng.choice([0.0, 0.0, 0.0, 1.0, -1.0], size=n) * K * rng.random(n)
    rho = (1 - delta) * K * rng.random(n) + off
    rho[::7] = np.round(rho[::7])
    return phi, phi_next, np.clip(rho, -K - 1, K + 1), delta


def loop(kind, Theta, U, clipped, phi, phi_next, rho, delta, steps, limit, K, rule, seen, batch):
    """Call the loop for a kind of features, given dense; returns what it returns."""
    x, y = (np.ascontiguousarray(z, Theta.dtype) for z in (phi, phi_next))
    rest = (rho, delta, steps, limit, K, rule, seen)
    if kind == "dense" and batch == 1:
        return dense_updates(Theta, U, clipped, x, y, *rest)
    if kind == "dense":
        return dense_batches(Theta, U, clipped, x, y, *rest, batch)
    if kind == "csr":
        x, y = (triple(scipy.sparse.csr_array(z, dtype=float)) for z in (x, y))
        return csr_updates(Theta, U, clipped, x, y, *rest, batch)
    return state_updates(Theta, U, clipped, x.argmax(1), y.argmax(1), *rest, batch)


def triple(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def run(kind, data, steps, K, name, *, batch=1, dtype=np.float64, start=0, splits=(), paired=False):
    """Feed a stream in pieces; Theta, mean of the iterates after ``start``, clipped mass."""
    phi, phi_next, rho, delta = data
    rule = RULES[name]
    d, columns = phi.shape[1], rules.columns(K, rule)
    Theta, U = parameters_and_sums(d, columns, dtype, averaging=True, paired=paired)
    clipped = np.zeros(2)
    edges = [0, *splits, len(rho)]
    for a, b in itertools.pairwise(edges):
        piece = (phi[a:b], phi_next[a:b], rho[a:b], delta[a:b], steps[a:b])
        seen = a // batch - start
        done = loop(kind, Theta, U, clipped, *piece, LIMIT, K, rule, seen, batch)
        assert done == b - a
    assert not Theta[:, columns:].any()  # padding stays zero
    assert not U[:, columns:].any()
    n = max(-(-len(rho) // batch) - start, 1)
    return Theta[:, :columns], Theta[:, :columns] + U[:, :columns] / n, clipped
