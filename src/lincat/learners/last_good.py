"""The last good state of a learner, to go back to from a divergence.

Parameters that run away are noticed when numbers are large, and have been wrong for some time by
then. So from time to time a copy is taken: seldom enough to cost next to nothing, and only while
what the parameters say of the transitions at hand is plausible. One is taken between two calls as
well: what the next one brings, another step or other data, may be what they do not bear. Those are
judged by rows of the calls before; rows that no parameters bear say nothing about these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lincat._threads import steady_blas
from lincat._typing import FeatureMatrix, FloatArray
from lincat.data.transitions import Transitions
from lincat.learners.state import restore, state_of

if TYPE_CHECKING:
    from lincat.learners._base import Learner

_LEAST = 4096  # transitions between two copies
_PASSES = 256  # over the parameters, that updates have made between two copies
_NUMBERS = 2**25  # that they have changed: some milliseconds
_MOST = 2**25  # numbers of a copy; larger tables keep what they stopped with
_LOOKED_AT = 128  # transitions that tell whether parameters are plausible
_BETWEEN = 1024  # transitions between two copies of which the later is taken between calls,
_PASSES_BETWEEN = 64  # and passes over the parameters: less than a tenth of what these cost


@dataclass(frozen=True)
class LastGood:
    """A learner that was well.

    Attributes
    ----------
    arrays, numbers
        Of :func:`lincat.learners.state.state_of`.
    due : int
        Transitions seen from which on another copy may be taken.
    doubts : tuple
        Features at which the learner was found unwell since: there it has to be well again.
    """

    arrays: dict[str, FloatArray]
    numbers: dict[str, Any]
    due: int
    doubts: tuple[FeatureMatrix | None, ...] = ()


def keep_good(learner: Learner[Any], chunk: Transitions) -> None:
    """Take a copy, if it is due and the learner is well, before it learns from these."""
    if not learner.recovers:
        return
    kept = _kept(learner)
    if kept is None or learner.n_seen_ >= kept.due:
        _keep_if_well(learner, kept, (_rows_of(chunk),), _next_due(learner, chunk))


def keep_between(learner: Learner[Any], coming: Transitions) -> None:
    """Take a copy before a call, of what earlier ones learned, unless that would cost too much.

    The first of these is taken whatever it costs: before it a learner has nothing to go back to.
    """
    kept = _kept(learner)
    if kept is None or learner.n_seen_ == kept.numbers["n_seen"]:
        return
    if kept.numbers["n_updates"] > 0:
        passed = learner.n_seen_ + len(coming) - kept.numbers["n_seen"]
        rows = learner._Theta_.shape[0]
        if passed < max(_BETWEEN, _PASSES_BETWEEN * rows / _touched(coming)):
            return
    _keep_if_well(learner, kept, learner._looked_at_, kept.due)


def look_at(learner: Learner[Any], learned: Transitions) -> None:
    """Put some rows of a call aside, which tell at the next one whether the learner was well."""
    kept = learner._last_good_
    if kept is None or len(learned) == 0:
        return
    since = learner.n_seen_ - kept.numbers["n_seen"]
    if len(learned) < since < _BETWEEN - _LOOKED_AT:  # it is not yet time for the next copy
        return
    rows = (*learner._looked_at_, _rows_of(learned, copied=True))
    while sum(_LOOKED_AT if phi is None else phi.shape[0] for phi in rows[1:]) >= _LOOKED_AT:
        rows = rows[1:]
    learner._looked_at_ = rows


def _kept(learner: Learner[Any]) -> LastGood | None:
    """Return the last copy, unless the learner has become another one since."""
    kept = learner._last_good_
    same = kept is not None and kept.arrays["Theta"].shape[0] == learner._Theta_.shape[0]
    return kept if same else None


def _keep_if_well(
    learner: Learner[Any],
    kept: LastGood | None,
    rows: tuple[FeatureMatrix | None, ...],
    due: int,
) -> None:
    """Take a copy, if what the learner says of these rows is plausible; the first one anyway."""
    if _size(learner) > _MOST:
        learner._last_good_ = None
        return
    if kept is not None:
        doubts = [x for x in (*kept.doubts, *rows) if not _is_plausible_at(learner, x)]
        if doubts:
            learner._last_good_ = replace(kept, due=due, doubts=(doubts[0],))
            return
    arrays, numbers = state_of(learner)
    live = (learner._Theta_, learner._U_, *(arrays[name] for name in learner._matrices))
    copies = {  # of what is changed in place; the rest is replaced, or a copy already
        name: x.copy() if any(np.may_share_memory(x, y) for y in live) else x
        for name, x in arrays.items()
    }
    learner._last_good_ = LastGood(copies, numbers, due)


def _size(learner: Learner[Any]) -> int:
    """Return how many numbers a copy has."""
    rows, columns = learner._Theta_.shape
    return int((1 + learner._average_.needs_sums + len(learner._matrices)) * rows * columns)


def _next_due(learner: Learner[Any], chunk: Transitions) -> int:
    (rows, columns), touched = learner._Theta_.shape, _touched(chunk)
    apart = max(_LEAST, _PASSES * rows / touched, _NUMBERS / (touched * columns))
    return int(learner.n_seen_ + round(apart))


def _touched(chunk: Transitions) -> float:
    """Return how many rows of the parameters a transition changes, on average."""
    return 1.0 if chunk.kind == "states" else max(chunk.phi.size / max(len(chunk), 1), 1.0)


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
    return _is_plausible_at(learner, _rows_of(transitions))


def _is_plausible_at(learner: Any, phi: FeatureMatrix | None) -> bool:
    """Return the same for these rows of features, or for every state of a table."""
    theta, _ = learner._iterate_and_sums()
    with steady_blas(), np.errstate(all="ignore"):  # numbers that run away overflow
        scores = theta if phi is None else phi @ theta
        return bool(learner._is_plausible(np.asarray(scores, np.float64)))


def _rows_of(transitions: Transitions, *, copied: bool = False) -> FeatureMatrix | None:
    """Return features of some of these; None for state numbers: a table speaks for itself."""
    if transitions.kind == "states":
        return None
    some = transitions.phi[:: -(-max(len(transitions), 1) // _LOOKED_AT)]
    return some.copy() if copied else some
