"""What a learner says on average, and nothing else: all that predictions need, in single precision.

    F(x_k | s) = phi(s)·Theta[:, k] + c_k

with the rows of Theta that any transition touched. There is nothing in it to learn on from, and no
sampling error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_indices, check_integer, check_number, fail
from lincat._tensors import pack, read_packed, unpack
from lincat._typing import FloatArray, IntArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.learners.categorical_lstd import CategoricalLSTD

if TYPE_CHECKING:
    from lincat.runs.model import DistributionLearner

_KEY = "lincat averages"


@dataclass(frozen=True)
class Averages:
    """The averages of a learner.

    Attributes
    ----------
    Theta : array of shape (r, K)
    rows : array of shape (r,)
        Which features they belong to.
    offset : array of shape (K,)
    grid : Grid
    gamma : float
    n_features : int
    n_seen_ : int
        Transitions that were learned from.
    attainable_ : pair of floats
        What returns keep within, where they were learned about a potential.
    """

    #: Sums, that sampling errors follow from: there are none, as for learners that keep none.
    statistics_: ClassVar[None] = None

    Theta: FloatArray
    rows: IntArray
    offset: FloatArray
    grid: Grid
    gamma: float
    n_features: int
    n_seen_: int
    attainable_: tuple[float, float] = (-np.inf, np.inf)

    @classmethod
    def of(cls, learner: DistributionLearner, n_features: int) -> Averages:
        """Take them from a learner whose CDFs are linear in the features."""
        rows = np.flatnonzero(learner.touched_rows())
        if not getattr(learner, "linear", True):
            got = type(learner).__name__
            raise fail("RUN", "distributions that are linear in features, to export them", got)
        shape = (len(rows) + 1, n_features)  # and a row of zeros, which gives the offset
        one_hot = scipy.sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape)
        found = learner.predict(one_hot)
        cdf, offset = found.cdf_values[:-1], found.cdf_values[-1]
        ends = learner.attainable_ if isinstance(learner, CategoricalLSTD) else cls.attainable_
        return cls(
            *(cdf - offset, rows, offset, found.grid),
            *(learner.gamma, n_features, learner.n_seen_, ends),
        )

    def predict(self, Phi: Any) -> ReturnDistribution:
        """Return the distributions for features (n, d), dense or CSR, or for row numbers (n,)."""
        if Phi.ndim == 1:
            place = np.full(self.n_features, len(self.rows))
            place[self.rows] = np.arange(len(self.rows))
            cdf = np.vstack([self.Theta, np.zeros(self.Theta.shape[1])])[place[Phi]]
        else:
            cdf = Phi[:, self.rows] @ self.Theta
        return ReturnDistribution(np.asarray(cdf, dtype=np.float64) + self.offset, self.grid)

    def save_bytes(self) -> bytes:
        """Return the content of a file, in single precision."""
        arrays = {
            "Theta": self.Theta.astype(np.float32),
            "rows": self.rows.astype(np.int64),
            "offset": self.offset,
            "attainable": np.array(self.attainable_),
        }
        grid = self.grid
        state = {
            "grid": [grid.low, grid.high, grid.intervals],
            "gamma": self.gamma,
            "n_features": self.n_features,
            "n_seen": self.n_seen_,
        }
        return pack(_KEY, "Averages", {}, state, arrays, float)

    @classmethod
    def read(cls, path: Path) -> Averages:
        """Read what :meth:`save_bytes` wrote."""

        def build(content: bytes) -> Averages:
            header, arrays = unpack(content, _KEY, ["Averages"])
            state = header["state"]
            grid = Grid(*state["grid"])
            rows = check_indices(arrays["rows"], "rows")
            shape = (len(rows), grid.intervals)
            width = check_integer(state["n_features"], "n_features", low=1)
            if rows.max(initial=0) >= width:
                raise fail("rows", f"features below {width}", int(rows.max()))
            return cls(
                check_array(arrays["Theta"], "Theta", shape=shape),
                rows,
                check_array(arrays["offset"], "offset", shape=(grid.intervals,)),
                grid,
                check_number(state["gamma"], "gamma", low=0.0, high=1.0),
                width,
                check_integer(state["n_seen"], "n_seen", low=0),
                _ends(arrays.get("attainable", np.array(cls.attainable_))),  # older files have none
            )

        return read_packed(path, "file of averages", build)


def _ends(ends: Any) -> tuple[float, float]:
    """Two numbers in order, that may be infinite."""
    if ends.shape != (2,) or ends.dtype != np.float64 or not ends[0] <= ends[1]:
        raise fail("attainable", "two numbers in order", f"{ends.dtype} {ends.shape}")
    return float(ends[0]), float(ends[1])
