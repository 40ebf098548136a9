"""The last good state of a learner, to go back to from a divergence.

Parameters that run away are noticed when numbers are large, and have been wrong for some time by
then. So from time to time a copy is taken: seldom enough to cost next to nothing, and only while
what the parameters say of the transitions at hand is plausible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lincat._typing import FloatArray
from lincat.data.transitions import Transitions
from lincat.learners.state import restore, state_of

if TYPE_CHECKING:
    from lincat.learners._base import Learner

_LEAST = 4096  # transitions between two copies
_PASSES = 256  # over the parameters, that updates have made between two copies
_NUMBERS = 2**25  # that they have changed: some milliseconds
_MOST = 2**25  # numbers of a copy; larger tables keep what they stopped with
_LOOKED_AT = 128  # transitions that tell whether parameters are plausible


@dataclass(frozen=True)
class LastGood:
    """A learner that was well.

    Attributes
    ----------
    arrays, numbers
        Of :func:`lincat.learners.state.state_of`.
    due : int
        Transitions seen from which on another copy may be taken.
    """

    arrays: dict[str, FloatArray]
    numbers: dict[str, Any]
    due: int


def keep_good(learner: Learner[Any], chunk: Transitions) -> None:
    """Take a copy, if it is due and the learner is well, before it learns from these."""
    if not learner.recovers:
        return
    kept, (rows, columns) = learner._last_good_, learner._Theta_.shape
    same = kept is not None and kept.arrays["Theta"].shape[0] == rows
    if kept is not None and same and learner.n_seen_ < kept.due:
        return
    if (1 + learner._average_.needs_sums + len(learner._matrices)) * rows * columns > _MOST:
        learner._last_good_ = None
        return
    touched = 1.0 if chunk.kind == "states" else chunk.phi.size / max(len(chunk), 1)
    touched = max(touched, 1.0)
    apart = max(_LEAST, _PASSES * rows / touched, _NUMBERS / (touched * columns))
    due = learner.n_seen_ + round(apart)
    if kept is not None and same and not is_plausible(learner, chunk):
        learner._last_good_ = LastGood(kept.arrays, kept.numbers, due)
        return
    arrays, numbers = state_of(learner)
    live = (learner._Theta_, learner._U_, *(arrays[name] for name in learner._matrices))
    copies = {  # of what is changed in place; the rest is replaced, or a copy already
        name: x.copy() if any(np.may_share_memory(x, y) for y in live) else x
        for name, x in arrays.items()
    }
    learner._last_good_ = LastGood(copies, numbers, due)


def go_back(learner: Learner[Any]) -> bool:
    """Let a learner be as it was when the last copy was taken, if there is one.

    Sums beside it stay: they are right whatever steps do.
    """
    kept, sums = learner._last_good_, vars(learner).get("statistics_")
    if kept is None:
        return False
    learner._forget()
    restore(learner, kept.arrays, kept.numbers)
    if sums is not None:
        learner.statistics_ = sums  # type: ignore[attr-defined]
    return True


def is_plausible(learner: Any, transitions: Transitions) -> bool:
    """Return whether what a learner says of some of these is near what can be; of sums it is."""
    if not hasattr(learner, "_is_plausible") or len(transitions) == 0:
        return True
    theta, _ = learner._iterate_and_sums()
    with np.errstate(all="ignore"):  # numbers that run away overflow
        if transitions.kind == "states":
            scores = theta
        else:
            some = transitions.phi[:: -(-len(transitions) // _LOOKED_AT)]
            scores = some @ theta
        return bool(learner._is_plausible(np.asarray(scores, np.float64)))
