"""What really happened after each step of a record: the realised returns."""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_discounts, check_flags, check_gamma, check_number
from lincat._typing import ArrayLike, BoolArray, FloatArray


def returns_to_go(
    reward: ArrayLike,
    terminated: ArrayLike,
    truncated: ArrayLike,
    gamma: float,
    *,
    discount: ArrayLike | None = None,
    tolerance: float = 1e-3,
) -> tuple[FloatArray, BoolArray]:
    """Return the discounted sum of the rewards from each step on, and whether it can be used.

    G_t = r_t + gamma G_{t+1}, backwards from each end. Where the record breaks off before the
    episode ends, what would follow is left out of G_t. It has the weight gamma^h after h steps, so
    the return can be used as soon as gamma^h <= tolerance.

    Parameters
    ----------
    reward : array of shape (n,)
        In the order of the steps. Each step begins in the state in which the last one ended, unless
        that one terminated or was truncated.
    terminated, truncated : arrays of bool, shape (n,)
        Where an episode ended, and where the record breaks off although it continues; a step that
        is both has ended. After the last step the record breaks off.
    gamma : float
        In [0, 1]; at 1 only returns of episodes that ended can be used.
    discount : array of shape (n,), optional
        What the next state's return is multiplied by, instead of gamma.
    tolerance : float
        The largest weight of a missing rest.

    Returns
    -------
    returns : array of shape (n,)
    usable : array of bool, shape (n,)

    Examples
    --------
    >>> from lincat import returns_to_go
    >>> returns, usable = returns_to_go(
    ...     [1.0, 1.0, 4.0, 1.0, 1.0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0], 0.5, tolerance=0.3)
    >>> returns
    array([2.5, 3. , 4. , 1.5, 1. ])
    >>> usable  # the last episode breaks off: a rest of weight 1/4, then of 1/2, is missing
    array([ True,  True,  True,  True, False])
    """
    gains = check_array(reward, "reward", shape=(None,))
    n = len(gains)
    ends = check_flags(terminated, "terminated", n)
    breaks = check_flags(truncated, "truncated", n)
    factor = check_discounts(
        check_gamma(gamma, one=True) if discount is None else discount, "discount", n
    )
    tolerance = check_number(tolerance, "tolerance", low=0.0, high=1.0)
    returns, missing = np.empty(n), np.empty(n)
    kernels.returns.returns_to_go(
        returns, missing, gains, np.where(ends, 0.0, factor), ends, breaks
    )
    return returns, missing <= tolerance
