"""Steps that are all there already, as a source."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lincat._arguments import check_integer, fail
from lincat.data.steps import ObservationSpace, Steps
from lincat.data.transitions import Transitions

_BATCH = 65536
_MOST_DENSE = 1024  # features that sparse rows are written out in


class InMemorySource:
    """Steps, or transitions, from memory; each call of ``batches`` gives the same.

    The features of transitions are taken as observations.

    Examples
    --------
    >>> from lincat import Transitions
    >>> from lincat.data.in_memory import InMemorySource
    >>> source = InMemorySource(Transitions([0, 1, 2], [1.0, 0.0, 2.0], [1, 2, 0]))
    >>> source.length, [len(batch) for batch in source.batches(skip=1)]
    (3, [2])
    """

    skipped_rows = 0
    starts = None

    def __init__(self, given: Steps | Transitions) -> None:
        self._steps = given if isinstance(given, Steps) else _steps_of(given)
        self.length: int = len(self._steps)
        self.description = f"lincat.{type(given).__name__}"
        what = "observation" if isinstance(given, Steps) else "feature"
        shape = np.shape(self._steps.observation)
        names = (what,) if len(shape) == 1 else tuple(f"{what} {j}" for j in range(shape[1]))
        self.space = ObservationSpace(names)

    def batches(self, *, skip: int = 0) -> Iterator[Steps]:
        """Yield the steps after the first ``skip``."""
        for begin in range(check_integer(skip, "skip", low=0), self.length, _BATCH):
            yield self._steps[begin : begin + _BATCH]


def _steps_of(given: Transitions) -> Steps:
    phi, phi_next = given.phi, given.phi_next
    if given.kind == "sparse":
        d = given.n_features or 0
        if d > _MOST_DENSE:
            remedy = "learn from them: lincat.LinearCTD(gamma=0.99).fit(transitions)"
            raise fail("source", f"at most {_MOST_DENSE} features", f"{d} sparse ones", remedy)
        phi, phi_next = phi.toarray(), phi_next.toarray()
    no = np.zeros(len(given), dtype=bool)
    return Steps(
        phi,
        given.reward,
        phi_next,
        no if given.terminated is None else given.terminated,
        no if given.truncated is None else given.truncated,
        given.discount,
        given.weight,
    )
