"""Several steps as one: the rewards of n steps, and what follows them discounted by gamma**n."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from lincat._arguments import check_integer, check_number
from lincat.data.steps import Steps, joined


def n_step(batches: Iterable[Steps], n: int, gamma: float) -> Iterator[Steps]:
    """Yield for each step the n steps that begin with it, as one.

    With rewards r_i, discounts d_i (the steps' own, or gamma) and m <= n steps until the episode
    ends or the record breaks off::

        reward   = r_0 + d_0 r_1 + ... + d_0 ... d_(m-2) r_(m-1)
        discount = d_0 d_1 ... d_(m-1)      (gamma**n within an episode)

    The next observation and both flags are those of the last of the m steps. Weights are
    multiplied, as importance ratios are. There are as many steps as before, one for each; memory
    holds a batch and n steps.

    Parameters
    ----------
    batches : iterable of Steps
        In the order in which they were seen, as a source gives them.
    n : int
    gamma : float
        In [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.n_step import n_step
    >>> from lincat.data.steps import Steps, joined
    >>> state, no = np.arange(3), np.zeros(3, dtype=bool)
    >>> steps = Steps(state, np.ones(3), state + 1, np.array([False, False, True]), no)
    >>> two = joined(list(n_step([steps], 2, 0.5)))
    >>> two.reward, two.discount, two.next_observation
    (array([1.5, 1.5, 1. ]), array([0.25, 0.25, 0.5 ]), array([2, 3, 3]))
    """
    n = check_integer(n, "n", low=1)
    gamma = check_number(gamma, "gamma", low=0.0, high=1.0)
    return iter(batches) if n == 1 else _aggregated(batches, n, gamma)


def _aggregated(batches: Iterable[Steps], n: int, gamma: float) -> Iterator[Steps]:
    pending: list[Steps] = []
    waiting = 0
    for batch in batches:
        pending.append(batch)
        waiting += len(batch)
        if waiting >= n:
            steps = joined(pending)
            ready = waiting - (n - 1)  # the others may need steps still to come
            yield _sums(steps, ready, n, gamma)
            pending, waiting = [steps[ready:]], n - 1
    if waiting:
        yield _sums(joined(pending), waiting, n, gamma)


def _sums(steps: Steps, ready: int, n: int, gamma: float) -> Steps:
    """Aggregate the first ``ready`` steps."""
    ends: Any = steps.terminated | steps.truncated
    discounts = np.full(len(steps), gamma) if steps.discount is None else steps.discount
    reward, discount = steps.reward[:ready].copy(), discounts[:ready].copy()
    weight = None if steps.weight is None else steps.weight[:ready].copy()
    last = np.arange(ready)
    going = np.flatnonzero(~ends[:ready])  # steps whose sum is not complete
    for j in range(1, n):
        going = going[going + j < len(steps)]
        if not going.size:
            break
        reward[going] += discount[going] * steps.reward[going + j]
        discount[going] *= discounts[going + j]
        if weight is not None and steps.weight is not None:
            weight[going] *= steps.weight[going + j]
        last[going] += 1
        going = going[~ends[going + j]]
    return Steps(
        observation=steps.observation[:ready],
        reward=reward,
        next_observation=steps.next_observation[last],
        terminated=steps.terminated[last],
        truncated=steps.truncated[last],
        discount=discount,
        weight=weight,
        ahead=n,
    )
