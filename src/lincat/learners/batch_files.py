"""Learners from sums as files: their statistics, the sample of states, and what was solved."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_choice, check_number, fail
from lincat._typing import FeatureMatrix
from lincat.core.grid import Grid
from lincat.learners._batch import BatchLearner
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.state_sample import StateSample
from lincat.solvers.influence import CAUTIONS, Ensemble
from lincat.solvers.moments import Moments
from lincat.statistics import files as statistics_files

__all__ = ["restore_batch", "state_of_batch"]

_SUMS = "sums."
_SAMPLE = ("sample", "sample_indices", "sample_indptr")


def state_of_batch(learner: BatchLearner) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays and numbers from which a learner continues, its answer among them if solved."""
    params, state, sums = statistics_files.packed(learner.statistics_)
    arrays = {_SUMS + name: array for name, array in sums.items()}
    numbers: dict[str, Any] = {"statistics": {"params": params, "state": state}}
    arrays |= _sample_arrays(learner._sample_.rows())
    numbers["sample"] = [learner._sample_.seen, learner._sample_.stride]
    if learner._is_solved:
        moments = learner._moments_  # type: ignore[attr-defined]
        arrays |= {"value": moments.value, "second": moments.second}
        if isinstance(learner, CategoricalLSTD):
            grid = learner._grid_
            arrays["Theta"] = learner._Theta_
            numbers["grid"] = [grid.low, grid.high, grid.intervals]
            numbers["wanted"] = None if learner._choice_ is None else learner._choice_.wanted
            numbers["residual"] = learner._residual_
            if learner._ensemble_ is not None:
                arrays["Psi"] = learner._ensemble_.Psi
                numbers["correlation"] = learner._ensemble_.correlation
                numbers["cautions"] = list(learner._ensemble_.cautions)
    return arrays, numbers


def restore_batch(
    learner: BatchLearner, version: str, arrays: dict[str, Any], numbers: dict[str, Any]
) -> None:
    """Restore what :func:`state_of_batch` gave."""
    kept = numbers["statistics"]
    sums = {name[len(_SUMS) :]: a for name, a in arrays.items() if name.startswith(_SUMS)}
    learner.statistics_ = statistics_files.unpacked(version, kept["params"], kept["state"], sums)
    d = learner.statistics_.n_features
    sample = learner._sample_ = StateSample()
    sample.seen, sample.stride = numbers["sample"]
    sample.parts = [_sample_rows(arrays, d)]
    if "value" not in arrays:
        return
    weights = (check_array(arrays[name], name, shape=(d,)) for name in ("value", "second"))
    learner._moments_ = Moments(*weights)  # type: ignore[attr-defined]
    if isinstance(learner, CategoricalLSTD):
        learner._grid_ = Grid(*numbers["grid"])
        shape = (d, learner._grid_.intervals)
        learner._Theta_ = check_array(arrays["Theta"], "Theta", shape=shape)
        ensemble = _ensemble(arrays["Psi"], shape, numbers) if "Psi" in arrays else None
        learner._restore_answer(numbers["wanted"], numbers["residual"], ensemble)
    learner._is_solved = True


def _ensemble(Psi: Any, shape: tuple[int | None, int], numbers: dict[str, Any]) -> Ensemble:
    return Ensemble(
        check_array(Psi, "Psi", shape=(None, *shape)),
        check_number(numbers["correlation"], "correlation"),
        tuple(check_choice(word, "cautions", tuple(CAUTIONS)) for word in numbers["cautions"]),
    )


def _sample_arrays(rows: FeatureMatrix) -> dict[str, Any]:
    if scipy.sparse.issparse(rows):
        return dict(zip(_SAMPLE, (rows.data, rows.indices, rows.indptr), strict=True))
    return {"sample": rows}


def _sample_rows(arrays: dict[str, Any], d: int | None) -> FeatureMatrix:
    data = arrays["sample"]
    if "sample_indptr" not in arrays:
        if not np.isfinite(data).all():
            raise fail("sample", "finite numbers", "others")
        return data
    indices, indptr = arrays["sample_indices"], arrays["sample_indptr"]
    rows = scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, d))
    rows.check_format()
    return rows
