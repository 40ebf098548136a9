"""A bounded sample of the states that a learner has seen, spread evenly over the stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_integer, check_sparse, fail
from lincat._typing import FeatureMatrix

_MOST = 2048
_SPARSE = ("sample_indices", "sample_indptr")


class StateSample:
    """Every 2^j-th row of features, with j as large as it takes to keep at most 2,048 of them.

    How the stream is cut into updates does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.learners.state_sample import StateSample
    >>> sample = StateSample()
    >>> for i in range(3):
    ...     sample.update(np.full((1000, 2), i))
    >>> sample.rows().shape, sample.stride
    ((1500, 2), 2)
    """

    def __init__(self) -> None:
        self.seen = 0
        self.stride = 1
        self._parts: list[FeatureMatrix] = []

    def __len__(self) -> int:
        return -(-self.seen // self.stride)

    def update(self, features: FeatureMatrix) -> None:
        """Look at more rows, an array or CSR matrix of shape (n, d)."""
        n = features.shape[0]
        first = -self.seen % self.stride
        self.seen += n
        if first < n:
            self._parts.append(features[first :: self.stride].copy())
        self._thin()

    def merge(self, other: StateSample) -> None:
        """Add the rows of another sample, at the coarser of the two strides."""
        stride = max(self.stride, other.stride)
        self._parts = [x.rows()[:: stride // x.stride] for x in (self, other) if len(x)]
        # Where the next row falls: as if these rows had come one after the other.
        self.seen = sum(part.shape[0] for part in self._parts) * stride
        self.stride = stride
        self._thin()

    def copy(self) -> StateSample:
        """Return a sample that can be added to without changing this one."""
        other = StateSample()
        other.seen, other.stride, other._parts = self.seen, self.stride, list(self._parts)
        return other

    def rows(self) -> FeatureMatrix:
        """Return the features of the sampled rows, of which there must be some."""
        if len(self._parts) > 1:
            if any(scipy.sparse.issparse(part) for part in self._parts):
                parts = [scipy.sparse.csr_array(part) for part in self._parts]
                self._parts = [scipy.sparse.vstack(parts, format="csr")]
            else:
                self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    def _thin(self) -> None:
        while len(self) > _MOST:
            self._parts = [self.rows()[::2]]
            self.stride *= 2

    # For files

    def arrays(self) -> dict[str, Any]:
        """Return the rows as named arrays; none if there are none."""
        if not len(self):
            return {}
        rows = self.rows()
        if scipy.sparse.issparse(rows):
            return {"sample": rows.data} | dict(
                zip(_SPARSE, (rows.indices, rows.indptr), strict=True)
            )
        return {"sample": rows}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, Any], seen: int, stride: int, n_features: int
    ) -> StateSample:
        """Return the sample whose rows :meth:`arrays` gave."""
        sample = cls()
        sample.seen = check_integer(seen, "seen", low=0)
        sample.stride = check_integer(stride, "stride", low=1)
        if not len(sample):
            return sample
        shape = (len(sample), n_features)
        if _SPARSE[1] in arrays:
            parts = (arrays["sample"], *(arrays[name] for name in _SPARSE))
            rows = check_sparse(scipy.sparse.csr_array(parts, shape=shape), "sample")
        else:
            rows = arrays["sample"]
            if rows.dtype != np.float32:
                rows = check_array(rows, "sample", shape=shape)
            elif rows.shape != shape:
                raise fail("sample", f"an array of shape {shape}", rows.shape)
        sample._parts = [rows]
        return sample
