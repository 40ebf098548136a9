"""Learners from sums as files: their statistics, the sample of states, and what was solved."""

from __future__ import annotations

from typing import Any

from lincat.learners._batch import BatchLearner
from lincat.learners.state_sample import StateSample
from lincat.statistics.files import packed, unpacked

__all__ = ["restore_batch", "state_of_batch"]

_SUMS = "sums."


def state_of_batch(learner: BatchLearner) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays and numbers from which a learner continues, its answer among them if solved."""
    params, state, sums = packed(learner.statistics_)
    sample = learner._sample_
    arrays = {_SUMS + name: array for name, array in sums.items()} | sample.arrays()
    numbers: dict[str, Any] = {
        "statistics": {"params": params, "state": state},
        "sample": [sample.seen, sample.stride],
        "answer": None,
    }
    if learner._is_solved:
        solved, numbers["answer"] = learner._answer()
        arrays |= solved
    return arrays, numbers


def restore_batch(learner: BatchLearner, arrays: dict[str, Any], numbers: dict[str, Any]) -> None:
    """Restore what :func:`state_of_batch` gave."""
    kept = numbers["statistics"]
    sums = {name[len(_SUMS) :]: a for name, a in arrays.items() if name.startswith(_SUMS)}
    statistics = unpacked(kept["params"], kept["state"], sums)
    learner.statistics_ = statistics
    seen, stride = numbers["sample"]
    learner._sample_ = StateSample.from_arrays(arrays, seen, stride, statistics.n_features or 0)
    if numbers["answer"] is not None:
        learner._restore_answer(arrays, numbers["answer"])
        learner._is_solved = True
