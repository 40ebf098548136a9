"""A fingerprint of the rows that were seen: two data sets with the same one are the same rows.

    value = Σ_t v_t x^t  (mod 2⁶⁴),   v_t a hash of reward and end of row t, x odd

What follows is added with the power of how much came before, so that it does not matter how rows
are cut into calls, and data sets can be put one behind the other. Features, weights and discounts
are no part of it: they are how one looks at the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat import kernels
from lincat._typing import BoolArray, FloatArray

_X = np.uint64(0x9E3779B97F4A7C15)  # odd, with about as many ones as zeros
_WORD = 2**64


@dataclass(frozen=True)
class Trace:
    """The fingerprint of some rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.statistics.trace import Trace
    >>> reward, end = np.array([1.0, 0.0, 2.0]), np.array([False, True, False])
    >>> whole = Trace().then(reward, end)
    >>> whole == Trace().then(reward[:1], end[:1]).then(reward[1:], end[1:])
    True
    >>> whole == Trace().then(reward[::-1], end)
    False
    """

    count: int = 0
    value: int = 0

    def then(self, reward: FloatArray, end: BoolArray) -> Trace:
        """Return the fingerprint with n more rows, (n,) each."""
        words = (reward + 0.0).view(np.uint64)  # 0.0 and −0.0 are the same
        return self.joined(Trace(len(words), int(kernels.placement.fingerprint(words, end, _X))))

    def joined(self, other: Trace) -> Trace:
        """Return the fingerprint of these rows with the others behind them."""
        value = self.value + pow(int(_X), self.count, _WORD) * other.value
        return Trace(self.count + other.count, value % _WORD)
