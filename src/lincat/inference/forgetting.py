"""How long a learner that goes step by step needs to forget where it began.

What is left of the start, after steps that sum to s, is exp(−s M) Theta with M the mean of
phi (phi − δ phi')ᵀ: the differential equation of Eq. (linear_TD_equation).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg

from lincat._typing import FloatArray

_LONGEST = 1e12  # sum of steps beyond which a start is never forgotten


def mean_w1(difference: FloatArray, spacing: float, mu: FloatArray) -> float:
    """Return W1 of differences (n, K) of CDFs, root mean square over states of shares mu (n,)."""
    return float(np.sqrt(mu @ (spacing * np.abs(difference).sum(axis=1)) ** 2))


def steps_to_forget(
    moves: FloatArray,
    Phi: FloatArray,
    Theta: FloatArray,
    spacing: float,
    mu: FloatArray,
    target: float,
) -> float:
    """Return the smallest s at which W1 of what is left of the start, exp(−s M) Theta, is target.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.inference.forgetting import steps_to_forget
    >>> one = np.ones((1, 1))  # exp(−s) is 1/4 at log 4
    >>> round(steps_to_forget(one, one, one, 1.0, np.ones(1), 0.25), 3)
    1.386
    """

    def left(s: float) -> float:
        return mean_w1(Phi @ (scipy.linalg.expm(-s * moves) @ Theta), spacing, mu)

    high = 1.0
    if left(0.0) <= target:
        return 0.0
    while left(high) > target:
        high *= 2.0
        if high > _LONGEST:
            return math.inf
    low = high / 2.0 if high > 1.0 else 0.0
    for _ in range(12):
        middle = (low + high) / 2.0
        low, high = (low, middle) if left(middle) <= target else (middle, high)
    return high


def updates_with_sum(step: Callable[[int], float], forget: float) -> float:
    """Return the smallest T with Σ_{t<T} step(t) ≥ forget, the sum taken in powers of 1.1.

    Examples
    --------
    >>> from lincat.inference.forgetting import updates_with_sum
    >>> updates_with_sum(lambda t: 0.5, 10.0)
    20.0
    """
    total, t = 0.0, 0
    while total < forget:
        ahead = max(t + 1, math.ceil(1.1 * t))
        gained = 0.5 * (step(t) + step(ahead)) * (ahead - t)
        if total + gained >= forget:
            return t + (ahead - t) * (forget - total) / gained
        total, t = total + gained, ahead
        if t > 1e18:
            return math.inf
    return float(t)
