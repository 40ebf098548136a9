"""The state of a learner that goes step by step, from which it continues bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lincat._typing import FloatArray
from lincat.learners.averaging import IterateAverage
from lincat.learners.first_rows import FirstRows
from lincat.learners.schedules import Seen

if TYPE_CHECKING:
    from lincat.learners._base import Learner


def state_of(learner: Learner[Any]) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Return arrays and numbers from which learning continues bit for bit."""
    average = learner._average_
    theta, iterates = learner._theta_and_sums()
    if learner.n_updates_ == 0 and learner._begun_with_ is not None:  # nothing to copy
        theta = np.broadcast_to(np.asarray(learner._begun_with_, theta.dtype), theta.shape)
        iterates = np.broadcast_to(0.0, iterates.shape)
    else:
        theta, iterates = np.ascontiguousarray(theta), np.ascontiguousarray(iterates)
    arrays: dict[str, FloatArray] = {"Theta": theta}
    if average.needs_sums:
        arrays["U"] = iterates
    for name in ("begin_sum", "next_sum", "folded_sum"):
        if getattr(average, name) is not None:
            arrays[name] = getattr(average, name)
    for name in learner._matrices:
        arrays[name] = getattr(learner, f"_{name}_")
    if learner._first_ is not None:
        arrays["first_rows"] = learner._first_.rows
    numbers: dict[str, Any] = {
        "n_seen": learner.n_seen_,
        "n_updates": learner.n_updates_,
        "largest_norm": learner._seen_.largest,
        "ended": learner._seen_.ended,
        "near": learner._seen_.near,
        "slowest": learner._seen_.slowest,
        "average": {
            "kind": average.kind,
            "horizon": average.horizon,
            "fold_every": average.fold_every,
            "growth": average.growth,
            "least": average.least,
        },
        "windows": [average.begin, average.next_begin, average.folded],
        "extra": learner._extra_state(),
    }
    return arrays, numbers


def restore(learner: Learner[Any], arrays: dict[str, FloatArray], numbers: dict[str, Any]) -> None:
    """Restore what :func:`state_of` gave."""
    learner.n_seen_, learner.n_updates_ = numbers["n_seen"], numbers["n_updates"]
    # Files of 0.1.0 end with R: as if all features were as long, and no episode had ended.
    largest, learner._waiting_ = numbers["largest_norm"], []
    ended = numbers.get("ended", (1.0 - learner.gamma) * largest * learner.n_updates_)
    learner._seen_ = Seen(largest, ended, numbers.get("near", False), numbers.get("slowest", 0.0))
    if "first_rows" in arrays:
        learner._first_ = FirstRows(arrays["first_rows"])
    average = learner._average_ = IterateAverage(**numbers["average"])
    average.begin, average.next_begin, average.folded = numbers["windows"]
    learner._restore_extra(numbers["extra"])
    for name in ("begin_sum", "next_sum", "folded_sum"):
        setattr(average, name, arrays.get(name))
    for name in learner._matrices:
        setattr(learner, f"_{name}_", arrays.get(name))
    # Laid out for kernels when there is more to learn: only then is the kind of features known.
    learner._Theta_, learner._U_ = arrays["Theta"], arrays.get("U", np.zeros((0, 0)))
