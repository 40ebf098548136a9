"""The stationary distribution of a finite chain, and a clear word when there is none.

Assumption of Section background: the chain of states has a unique stationary distribution.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from lincat._arguments import fail
from lincat._typing import FloatArray, IntArray

_ELIMINATION_ALWAYS = 1000  # states, up to which even a dense elimination takes no time
_LAZY_STEPS = 2000


def stationary_distribution(
    chain: scipy.sparse.csr_array, *, allow_periodic: bool = False
) -> FloatArray:
    """Return mu with mu P = mu, shape (S,).

    Raises unless exactly one class of states is closed and, by default, aperiodic.
    """
    classes = _closed_classes(chain)
    if len(classes) > 1:
        raise fail(
            "process",
            "one closed class of states, so that the stationary distribution is unique",
            f"{len(classes)} closed classes: {'; '.join(_name(c) for c in classes[:5])}"
            + ("; ..." if len(classes) > 5 else ""),
            "evaluate each class by itself, or pass weights= to the solver",
        )
    members = classes[0]
    block = scipy.sparse.csr_array(chain[members][:, members])
    period = _period(block)
    if period > 1 and not allow_periodic:
        raise fail(
            "process",
            "an aperiodic chain, which settles in its stationary distribution",
            f"period {period} in the closed class {_name(members)}",
            "for long-run shares of time call stationary_distribution(allow_periodic=True) "
            "and pass them as weights= to the solver",
        )
    mu = np.zeros(chain.shape[0])
    mu[members] = _solve_irreducible(block)
    return mu


def _solve_irreducible(block: scipy.sparse.csr_array) -> FloatArray:
    """Choose a method: elimination costs too much only where large chains mix well."""
    n = block.shape[0]
    if n == 1:
        return np.ones(1)
    mixed = _iterate(block) if n > _ELIMINATION_ALWAYS else None
    return _eliminate(block) if mixed is None else mixed


def _iterate(block: scipy.sparse.csr_array) -> FloatArray | None:
    """Follow the lazy chain, which has no period, until it has settled; None if it is slow."""
    transposed = scipy.sparse.csr_array(block.T)
    mu: FloatArray = np.full(block.shape[0], 1.0 / block.shape[0])
    change = 0.0
    for _ in range(_LAZY_STEPS):
        after = (mu + transposed @ mu) / 2.0
        after /= after.sum()
        before, change = change, float(np.abs(after - mu).sum())
        mu = after
        # Steps that shrink by change/before each have change**2/(before - change) to go in all.
        if change <= 1e-16 or (change < before and change**2 <= 1e-15 * (before - change)):
            return mu
    return None


def _eliminate(block: scipy.sparse.csr_array) -> FloatArray:
    """Solve mu (I − P) = 0 with the first entry fixed, then normalise.

    Without its first row and column, I − P is a non-singular M-matrix, for which elimination on
    the diagonal is stable and keeps every entry of mu positive.
    """
    n = block.shape[0]
    matrix = scipy.sparse.csc_array(scipy.sparse.eye_array(n) - block.T)
    factor = splu(matrix[1:, 1:], diag_pivot_thresh=0.0)
    inflow = -matrix[1:, [0]].toarray().ravel()
    rest = factor.solve(inflow)
    rest += factor.solve(inflow - matrix[1:, 1:] @ rest)  # one step of refinement
    mu = np.concatenate([[1.0], np.maximum(rest, 0.0)])
    return np.asarray(mu / mu.sum())


def _closed_classes(chain: scipy.sparse.csr_array) -> list[IntArray]:
    """The strongly connected components that no transition leaves."""
    count, label = connected_components(chain, directed=True, connection="strong")
    entries = scipy.sparse.coo_array(chain)
    origin, target = entries.coords
    leaving = (entries.data > 0.0) & (label[origin] != label[target])
    is_open = np.zeros(count, bool)
    is_open[label[origin[leaving]]] = True
    return [np.flatnonzero(label == c) for c in np.flatnonzero(~is_open)]


def _period(block: scipy.sparse.csr_array) -> int:
    """The gcd of the lengths of all cycles, from the levels of a breadth-first search."""
    order, parent = breadth_first_order(block, 0, directed=True)
    level = np.zeros(block.shape[0], np.int64)
    for node in order[1:]:
        level[node] = level[parent[node]] + 1
    origin, target = scipy.sparse.coo_array(block).coords
    return int(np.gcd.reduce(level[origin] + 1 - level[target]))


def _name(members: IntArray) -> str:
    """States as {0, 1, 2, ...}, at most eight of them."""
    shown = ", ".join(str(int(s)) for s in members[:8])
    return "{" + shown + (f", ... ({len(members)} states)" if len(members) > 8 else "") + "}"
