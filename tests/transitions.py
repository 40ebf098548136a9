"""Small data sets for the batch solvers, and the sums over them by the obvious loop."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

import lincat
from lincat.statistics.totals import Totals


@dataclass(frozen=True)
class Rows:
    """Weighted transitions; ``power`` as in Totals, ``given`` the discounts where it is -1."""

    phi: np.ndarray
    reward: np.ndarray
    phi_next: np.ndarray
    power: np.ndarray
    given: np.ndarray
    weight: np.ndarray

    def discount(self, gamma):
        powers = np.where(self.power > 0, gamma ** np.maximum(self.power, 1), 0.0)
        return np.where(self.power == -1, self.given, powers)


def random_rows(seed, *, n=40, d=3, kind="plain"):
    """Rows along a walk that comes back to its start, so that next features are features too.

    ``kind``: plain, terminal, steps (n-step), given (discounts with the data), weights, signed
    (features and splits of either sign), deficient (features that others explain) or all.
    """
    rng = np.random.default_rng(seed)
    base = max(d - 1, 1) if kind in ("deficient", "all") else d
    phi = rng.normal(size=(n, base)) if kind in ("signed", "all") else rng.random((n, base))
    phi[:, 0] = 1.0
    if base < d:
        phi = phi @ rng.normal(size=(base, d))
    power = np.ones(n, int)
    if kind in ("steps", "all"):
        power = rng.integers(1, 4, n)
    if kind in ("terminal", "all"):
        power[rng.random(n) < 0.3] = 0
    given = np.full(n, np.nan)
    if kind in ("given", "all"):
        chosen = rng.random(n) < 0.5
        power[chosen], given[chosen] = -1, rng.choice([0.3, 0.7, 0.9], chosen.sum())
    weight = rng.random(n) + 0.5 if kind in ("weights", "all") else np.ones(n)
    reward = rng.choice([-1.0, 0.0, 0.25, 2.0], n)
    rows = Rows(phi, reward, np.roll(phi, -1, axis=0), power, given, weight)
    return split(rows) if kind in ("signed", "all") else rows


def split(rows):
    """Split each row among three rewards with weights of either sign, as reward nodes do."""
    shares, shifts = np.array([-0.1, 1.2, -0.1]), np.array([-0.5, 0.0, 0.5])
    repeat = {name: np.repeat(getattr(rows, name), 3, axis=0) for name in vars(rows)}
    n = len(rows.reward)
    repeat["weight"] = repeat["weight"] * np.tile(shares, n)
    repeat["reward"] = repeat["reward"] + np.tile(shifts, n)
    return Rows(**repeat)


def totals_of(rows, *, sparse=False):
    """Sums by groups of equal reward, power and given discount."""
    given = np.nan_to_num(rows.given, nan=-1.0)
    keys = np.stack([rows.reward, rows.power, given], axis=1)
    values, group = np.unique(keys, axis=0, return_inverse=True)
    G, d = len(values), rows.phi.shape[1]
    cross, phi_sum, Sigma = np.zeros((G, d, d)), np.zeros((G, d)), np.zeros((d, d))
    for i, g in enumerate(group.ravel()):
        w, phi = rows.weight[i], rows.phi[i]
        if rows.power[i] != 0:
            cross[g] += w * np.outer(phi, rows.phi_next[i])
        phi_sum[g] += w * phi
        Sigma += w * np.outer(phi, phi)
    return Totals(
        reward=values[:, 0],
        power=values[:, 1].astype(int),
        given_discount=np.where(values[:, 1] == -1, values[:, 2], np.nan),
        cross=scipy.sparse.csr_array(cross.reshape(G * d, d)) if sparse else cross,
        phi_sum=phi_sum,
        Sigma=scipy.sparse.csr_array(Sigma) if sparse else Sigma,
        count=len(rows.reward),
        weight=float(rows.weight.sum()),
    )


def process_rows(process, *, Phi=None):
    """Every outcome of a process as a row, weighted by its probability: expectations as sums."""
    features = np.eye(process.n_states) if Phi is None else np.asarray(Phi)
    return Rows(
        phi=features[process.state],
        reward=process.reward,
        phi_next=features[process.next_state],
        power=np.where(process.terminated, 0, 1),
        given=np.full(len(process.state), np.nan),
        weight=process.stationary[process.state] * process.probability,
    )


def process_transitions(process, Phi=None):
    """Every outcome of a process as a transition, weighted by its probability; a table by default.

    Means over them are expectations, so a batch solution of them is the process's fixed point.
    """
    states = np.arange(process.n_states) if Phi is None else Phi
    return lincat.Transitions(
        states[process.state],
        process.reward,
        states[process.next_state],
        terminated=process.terminated,
        weight=process.stationary[process.state] * process.probability,
    )
