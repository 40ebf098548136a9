"""From what a user passes to what a kernel takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from lincat._arguments import check_flags, fail
from lincat._typing import ArrayLike, FeatureMatrix, IntArray
from lincat.data.transitions import Transitions
from lincat.processes.finite import MarkovRewardProcess, StateTransitions

Rows = slice | IntArray  # of the parameters


def kernel_features(transitions: Transitions, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return phi and phi' as the kernels take them: arrays, CSR triples, or state numbers."""
    if transitions.kind == "states":
        return transitions.phi, transitions.phi_next
    if transitions.kind == "sparse":
        return _triple(transitions.phi), _triple(transitions.phi_next)
    phi, phi_next = (
        np.ascontiguousarray(x, dtype=dtype) for x in (transitions.phi, transitions.phi_next)
    )
    return phi, phi_next


def used_rows(Phi: FeatureMatrix) -> tuple[Rows, FeatureMatrix]:
    """Return which rows of the parameters these features touch, and the features of those alone.

    A prediction for a few states of many must not cost a pass over all parameters.
    """
    if scipy.sparse.issparse(Phi):
        rows, index = np.unique(Phi.indices, return_inverse=True)
        shape = (Phi.shape[0], len(rows))
        return rows, scipy.sparse.csr_array((Phi.data, index, Phi.indptr), shape=shape)
    if Phi.ndim == 1:
        return np.unique(Phi, return_inverse=True)
    return slice(None), Phi


def _triple(matrix: FeatureMatrix) -> tuple[Any, Any, Any]:
    # One width of index for all, or each kernel would be compiled for each; SciPy's own as a rule,
    # so that nothing is copied.
    width = np.int32 if matrix.nnz < 2**31 else np.int64
    indptr, indices = (x.astype(width, copy=False) for x in (matrix.indptr, matrix.indices))
    return indptr, indices, matrix.data


def as_transitions(
    phi: Any,
    reward: ArrayLike | None,
    phi_next: Any,
    terminated: ArrayLike | None,
    discount: ArrayLike | None,
    weight: ArrayLike | None,
    truncated: ArrayLike | None,
) -> Transitions:
    """Return Transitions, given as such (``truncated`` may be said beside them) or as arrays.

    What a finite process samples are transitions between state numbers.
    """
    if isinstance(phi, StateTransitions) and reward is None:
        phi = Transitions(phi.state, phi.reward, phi.next_state, phi.terminated)
    if isinstance(phi, Transitions):
        rest = (reward, phi_next, terminated, discount, weight)
        if any(x is not None for x in rest):
            raise fail("phi", "Transitions alone, or arrays", "Transitions and arrays")
        given: Transitions = phi
        if truncated is not None:
            given = phi[:]
            given.truncated = check_flags(truncated, "truncated", len(phi))
        return given
    if reward is None or phi_next is None:
        missing = "reward" if reward is None else "phi_next"
        if isinstance(phi, MarkovRewardProcess):
            remedy = "sample some: fit(process.sample(10_000))"
            raise fail("phi", "transitions", "a process", remedy)
        raise fail(missing, "an array beside phi", None, "or pass a lincat.Transitions")
    return Transitions(phi, reward, phi_next, terminated, discount, weight, truncated)


def single_row(features: Any, argument: str) -> FeatureMatrix:
    """Return the features of one state as a batch of one: shape (1, d), or (1,) for its number."""
    if scipy.sparse.issparse(features):
        row = features if features.ndim == 2 else features.reshape(1, -1)
    else:
        row = np.asarray(features)
        numbered = isinstance(features, np.ndarray) and row.dtype.kind in "iu" and row.shape == (1,)
        row = row if row.ndim == 2 or numbered else row[None]
    if row.shape[0] != 1:
        raise fail(argument, "the features of a single state", f"shape {row.shape}")
    return row
