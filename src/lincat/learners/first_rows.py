"""What the first transitions tell automatic steps: do rows follow each other, and what is slow.

Along a walk a step leaves a bias of its own order, and must decay soon. Independent rows have none,
and where steps decay too soon, directions in which features are short are never learned.
"""

from __future__ import annotations

import numpy as np

from lincat._threads import one_blas_thread
from lincat._typing import FloatArray
from lincat.data.transitions import Transitions

ROWS = 1024
MOST_FEATURES = 64
_LAGS = 64  # walks that take turns are up to so many
_FAR = 0.5  # squared distance of a successor to a row that has nothing to do with it is 1
_NOTHING = 1e-9  # of the largest eigenvalue: features that depend on each other


class FirstRows:
    """The first transitions of a stream with dense features, until there are enough of them.

    Rows, of shape (n, 2 d + 2), have phi, phi', discount and weight of each.
    """

    def __init__(self, rows: FloatArray) -> None:
        self._parts, self._count = [rows], len(rows)

    @classmethod
    def none_yet(cls, d: int) -> FirstRows:
        """Return what a learner of d features begins with."""
        return cls(np.zeros((0, 2 * d + 2)))

    @property
    def rows(self) -> FloatArray:
        """Those so far, shape (n, 2 d + 2)."""
        self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    @property
    def left(self) -> int:
        """How many are missing."""
        return max(ROWS - self._count, 0)

    def see(self, transitions: Transitions, gamma: float) -> None:
        """Take more transitions."""
        numbers = np.ones((len(transitions), 2))
        numbers[:, 0] = transitions.discounts(gamma)
        if transitions.weight is not None:
            numbers[:, 1] = transitions.weight
        columns = [transitions.phi, transitions.phi_next, numbers]
        self._parts.append(np.concatenate(columns, axis=1))
        self._count += len(transitions)

    def slowest(self) -> float:
        """Return the smallest eigenvalue of the mean of w phi phiᵀ, times a mean of 1 − δ.

        An error in that direction shrinks by this share of a step, if it is the same wherever the
        process leads. 0 where rows follow each other, at any distance up to 64, forwards or
        backwards, or nothing can be said.

        Examples
        --------
        >>> import lincat
        >>> from lincat.learners.first_rows import FirstRows
        >>> problem = lincat.catalog.paper()
        >>> for kind in ("generative", "markov"):
        ...     drawn = problem.process.sample(1024, seed=0, kind=kind)
        ...     Phi = problem.Phi.toarray() if hasattr(problem.Phi, "toarray") else problem.Phi
        ...     first = FirstRows.none_yet(Phi.shape[1])
        ...     rows = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
        ...     first.see(rows, gamma=0.75)
        ...     print(first.slowest() > 0.0)
        True
        False
        """
        rows = self.rows
        d = (rows.shape[1] - 2) // 2
        phi, ahead = rows[:, :d], rows[:, d : 2 * d]
        discount, weight = rows[:, -2], rows[:, -1]
        if _linked(phi, ahead):
            return 0.0
        size = weight * (phi * phi).sum(axis=1)
        with one_blas_thread:
            values = np.linalg.eigvalsh((weight[:, None] * phi).T @ phi / len(phi))
        smallest = values[values > _NOTHING * values[-1]][0]
        return float(smallest * (size * (1.0 - discount)).sum() / size.sum())


def _linked(phi: FloatArray, ahead: FloatArray) -> bool:
    """Whether what follows a row is, or is near to, a row some places from it."""
    mean, n = phi.mean(axis=0), len(phi)
    apart = float(((phi - mean) ** 2).sum() + ((ahead - mean) ** 2).sum()) / n
    if apart <= _NOTHING * float((phi**2).sum()) / n:
        return True
    for lag in range(1, min(_LAGS, n // 2) + 1):
        for here, there in ((ahead[:-lag], phi[lag:]), (ahead[lag:], phi[:-lag])):
            if float(((here - there) ** 2).sum()) / (n - lag) < _FAR * apart:
                return True
    return False
