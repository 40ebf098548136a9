"""Which returns of a record are known: where its steps go on for long enough, or end."""

from __future__ import annotations

import numpy as np

from lincat import kernels
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
