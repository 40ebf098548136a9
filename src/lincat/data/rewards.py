"""Which rewards can be summed: squares of squares of returns have to be finite."""

from __future__ import annotations

import numpy as np

from lincat._typing import BoolArray, FloatArray

#: Errors of variances are squares of squares of returns. With room for discounts next to 1 and for
#: many rows, that is the fifth root of the largest number: 4e61.
LARGEST = float(np.finfo(np.float64).max ** 0.2)

#: What a reward has to be, in words.
EXPECTED = f"a number of at most {LARGEST:.0e}, in another unit if need be"


def can_be_summed(reward: FloatArray) -> BoolArray:
    """Return which rewards are finite, and not too large.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.data.rewards import can_be_summed
    >>> can_be_summed(np.array([-1.0, 1e160, np.nan]))
    array([ True, False, False])
    """
    return np.asarray(np.abs(reward) <= LARGEST)
