"""A bounded sample of the states that a learner has seen, spread evenly over the stream."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from lincat._typing import FeatureMatrix

__all__ = ["StateSample"]

_MOST = 2048


class StateSample:
    """Every 2^j-th row of features, with j as large as it takes to keep at most 2,048 of them.

    How the stream is cut into updates does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.learners.state_sample import StateSample
    >>> sample = StateSample()
    >>> for i in range(3):
    ...     sample.update(np.arange(1000 * i, 1000 * i + 1000))
    >>> len(sample.rows()), sample.stride
    (1500, 2)
    """

    def __init__(self) -> None:
        self.seen = 0
        self.stride = 1
        self.parts: list[FeatureMatrix] = []

    def update(self, features: FeatureMatrix) -> None:
        """Look at more rows, shape (n, d) or (n,)."""
        n = features.shape[0]
        first = -self.seen % self.stride
        self.seen += n
        if first < n:
            self.parts.append(features[first :: self.stride].copy())
        self._thin()

    def merge(self, other: StateSample) -> None:
        """Add the rows of another sample, at the coarser of the two strides."""
        stride = max(self.stride, other.stride)
        mine, theirs = ([x.rows()[:: stride // x.stride]] if x.parts else [] for x in (self, other))
        self.parts, self.stride = [*mine, *theirs], stride
        # Where the next row falls: as if these rows had come one after the other.
        self.seen = sum(part.shape[0] for part in self.parts) * stride
        self._thin()

    def rows(self) -> FeatureMatrix:
        """Return the features of the sampled rows."""
        if len(self.parts) > 1:
            stack = scipy.sparse.vstack if scipy.sparse.issparse(self.parts[0]) else np.concatenate
            joined = stack(self.parts)
            if scipy.sparse.issparse(joined):
                joined = scipy.sparse.csr_array(joined)
            self.parts = [joined]
        return self.parts[0]

    def _thin(self) -> None:
        while sum(part.shape[0] for part in self.parts) > _MOST:
            self.parts = [self.rows()[::2]]
            self.stride *= 2
