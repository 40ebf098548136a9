"""Rows of a stream that wait to be summed: transitions, and where episodes end."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._arguments import check_flags, fail
from lincat._typing import ArrayLike, BoolArray, FeatureMatrix, FloatArray
from lincat.data.transitions import Transitions


@dataclass(frozen=True)
class Rows:
    """Columns of n transitions.

    ``discount`` is NaN where none was given, and 0 where the episode terminated or the one given
    is 0; ``end`` says where an episode ends or its record breaks off.
    """

    phi: FeatureMatrix
    phi_next: FeatureMatrix
    reward: FloatArray
    discount: FloatArray
    weight: FloatArray
    end: BoolArray

    def __len__(self) -> int:
        return len(self.reward)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(
            *(self.phi[part], self.phi_next[part], self.reward[part]),
            *(self.discount[part], self.weight[part], self.end[part]),
        )

    @property
    def kind(self) -> str:
        """How states are given: "dense", "sparse" or "states"."""
        if scipy.sparse.issparse(self.phi):
            return "sparse"
        return "states" if self.phi.ndim == 1 else "dense"

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(_nbytes(getattr(self, field.name)) for field in fields(self))

    def largest_norm(self) -> float:
        """Return the largest ‖phi‖²."""
        if self.kind == "states":
            return 1.0
        if self.kind == "sparse":
            return float(self.phi.multiply(self.phi).sum(axis=1).max())
        norms = np.empty(len(self))
        kernels.step_sizes.squared_norms(norms, self.phi)
        return float(norms.max())

    def copy(self) -> Rows:
        """Return rows that share no memory with what was passed in."""
        return Rows(*(getattr(self, field.name).copy() for field in fields(self)))


def rows_of(transitions: Transitions, truncated: ArrayLike | None) -> Rows:
    """Return the rows of a batch, whose features are not copied."""
    n = len(transitions)
    end = np.zeros(n, dtype=bool) if truncated is None else check_flags(truncated, "truncated", n)
    discount = np.full(n, np.nan) if transitions.discount is None else transitions.discount
    if transitions.terminated is not None:
        discount = np.where(transitions.terminated, 0.0, discount)
        end = end | transitions.terminated
    weight = np.ones(n) if transitions.weight is None else transitions.weight
    return Rows(transitions.phi, transitions.phi_next, transitions.reward, discount, weight, end)


def joined(parts: list[Rows]) -> Rows:
    """Return rows of one kind, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if len({part.kind for part in parts}) > 1:
        raise fail("parts", "features of one kind", [part.kind for part in parts])
    columns = []
    for field in fields(Rows):
        pieces: list[Any] = [getattr(part, field.name) for part in parts]
        sparse = scipy.sparse.issparse(pieces[0])
        columns.append(
            scipy.sparse.vstack(pieces, format="csr") if sparse else np.concatenate(pieces)
        )
    return Rows(*columns)


def _nbytes(column: Any) -> int:
    if scipy.sparse.issparse(column):
        return int(column.data.nbytes + column.indices.nbytes + column.indptr.nbytes)
    return int(column.nbytes)
