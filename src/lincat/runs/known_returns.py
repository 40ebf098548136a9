"""Which returns of a record are known, and how much each counts beside the others."""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._arguments import fail
from lincat._typing import BoolArray, FloatArray
from lincat.data.steps import Steps

_FAIR = 0.5  # share of the returns of complete records that must be known


def known_returns(
    steps: Steps, gamma: float, tolerance: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return what came back from each step on, what is missing of it, and whether it is known.

    Parameters
    ----------
    steps : Steps
    gamma : float
    tolerance : float
        Of a known return, what lies behind a break of the record has at most this weight.

    Returns
    -------
    returns : array of shape (n,)
        Of the rewards that there are.
    missing : array of shape (n,)
        The weight of what is not there.
    known : array of bool, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.steps import Steps
    >>> from lincat.runs.known_returns import known_returns
    >>> state, no = np.arange(4), np.zeros(4, dtype=bool)
    >>> returns, missing, known = known_returns(
    ...     Steps(state, np.ones(4), state + 1, no, no), gamma=0.5, tolerance=0.2)
    >>> known  # behind the last one the record breaks off
    array([ True,  True, False, False])
    """
    n = len(steps)
    returns, missing = np.empty(n), np.empty(n)
    kernels.returns.returns_to_go(
        returns, missing, steps.reward, steps.discounts(gamma), steps.terminated, steps.truncated
    )
    known = missing <= tolerance
    # Where records break off early, mostly what ended soon is known: no fair sample, if anything
    # ends. The last record breaks off wherever the steps end, and says nothing of that.
    ends = np.flatnonzero(steps.terminated | steps.truncated)
    complete = known[: ends[-1] + 1] if len(ends) else known[:0]
    if len(complete) and steps.terminated.any() and complete.mean() < _FAIR:
        known = np.zeros(n, dtype=bool)
    return returns, missing, known


def return_weights(steps: Steps) -> FloatArray | None:
    """Return how much the return from each step counts, (n,); None where all count alike.

    A record whose steps weigh alike stands for as many such records: its returns count as much as
    its steps do, since what is learned is what so many records would teach. Where weights change
    within a record it cannot be told what they are: a ratio of chances says how often the *next*
    choice is taken, so that a return would count by the product of all that follow; a row that
    was seen several times counts once for each. That is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.steps import Steps
    >>> from lincat.runs.known_returns import return_weights
    >>> state, ends = np.arange(4), np.array([False, True, False, True])
    >>> weight = np.array([2.0, 2.0, 1.0, 1.0])
    >>> return_weights(Steps(state, np.ones(4), state + 1, ends, ends, weight=weight))
    array([2., 2., 1., 1.])
    """
    if not steps.weighted or steps.weight is None or not len(steps):
        return None
    begins = steps.begins()
    least, most = (f.reduceat(steps.weight, begins) for f in (np.minimum, np.maximum))
    if (least < most).any():
        raise fail(
            "weight",
            "one for each record, by which its returns count",
            "weights that change within records",
            "figures are learned with them; leave the weights out to have the log itself checked",
        )
    return steps.weight


def said_of_weights(weights: FloatArray | None) -> str:
    """Return how many returns that count alike weighted ones are worth; nothing without weights.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.runs.known_returns import said_of_weights
    >>> said_of_weights(np.array([1.0, 1.0, 1.0, 3.0]))
    ', weighted (worth 3 alike)'
    """
    if weights is None:
        return ""
    share = weights / weights.sum()
    return f", weighted (worth {1.0 / float((share**2).sum()):,.0f} alike)"
