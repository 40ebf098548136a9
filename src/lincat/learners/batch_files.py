"""Learners from sums as files: their statistics, the sample of states, and what was solved."""

from __future__ import annotations

from typing import Any

from lincat.learners._batch import BatchLearner
from lincat.learners.state_sample import StateSample
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.files import packed, unpacked

#: What the names of arrays of sums begin with.
SUMS = "sums."


def state_of_sums(statistics: Statistics) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays and numbers from which :func:`restored_sums` makes the statistics again."""
    params, state, sums = packed(statistics)
    arrays = {SUMS + name: array for name, array in sums.items()}
    return arrays, {"params": params, "state": state}


def restored_sums(arrays: dict[str, Any], kept: dict[str, Any]) -> Statistics:
    """Return the statistics among the arrays of a file."""
    sums = {name[len(SUMS) :]: a for name, a in arrays.items() if name.startswith(SUMS)}
    return unpacked(kept["params"], kept["state"], sums)


def state_of_batch(learner: BatchLearner) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays and numbers from which a learner continues, its answer among them if solved."""
    learner._begin()  # it may have seen nothing yet
    sums, kept = state_of_sums(learner.statistics_)
    sample = learner._sample_
    arrays = sums | sample.arrays()
    numbers: dict[str, Any] = {
        "statistics": kept,
        "sample": [sample.seen, sample.stride],
        "answer": None,
    }
    if learner._is_solved_:
        solved, numbers["answer"] = learner._answer()
        arrays |= solved
    return arrays, numbers


def restore_batch(learner: BatchLearner, arrays: dict[str, Any], numbers: dict[str, Any]) -> None:
    """Restore what :func:`state_of_batch` gave."""
    statistics = learner.statistics_ = restored_sums(arrays, numbers["statistics"])
    seen, stride = numbers["sample"]
    learner._sample_ = StateSample.from_arrays(arrays, seen, stride, statistics.n_features or 0)
    if numbers["answer"] is not None:
        learner._restore_answer(arrays, numbers["answer"])
        learner._is_solved_ = True
