"""Features that are known for each state of a finite set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_indices, fail
from lincat._typing import BoolArray, FeatureMatrix
from lincat.features._base import Features
from lincat.features.observations import are_numbers_below


@final
class Lookup(Features):
    """The rows of a matrix Phi, one for each numbered state.

    Parameters
    ----------
    Phi : array or sparse matrix of shape (S, d)

    Examples
    --------
    >>> import lincat
    >>> features = lincat.Lookup([[1.0, 0.0], [0.5, 0.5]]).fit([0])
    >>> features.transform([1, 0])
    array([[0.5, 0.5],
           [1. , 0. ]])
    """

    kind = "lookup"

    def __init__(self, Phi: Any) -> None:
        self.Phi = Phi

    def _fit(self, observations: Any) -> None:
        dense = self.Phi.toarray() if scipy.sparse.issparse(self.Phi) else self.Phi
        self._settle(check_array(dense, "Phi", shape=(None, None)))
        self._rows(observations)

    def _settle(self, Phi: Any) -> None:
        self.Phi_ = Phi
        self.n_features_ = int(Phi.shape[1])

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        return self.Phi_[self._rows(observations)]

    def _rows(self, observations: Any) -> Any:
        rows = check_indices(observations, "observations")
        if rows.max(initial=0) >= len(self.Phi_):
            place = int(np.argmax(rows >= len(self.Phi_)))
            got = f"{int(rows[place])} at index {place}"
            raise fail("observations", f"states below {len(self.Phi_)}", got)
        return rows

    def _knows(self, observations: Any) -> BoolArray:
        return are_numbers_below(observations, len(self.Phi_))

    def _sentence(self) -> str:
        return f"The {self.n_features_} features given for each of {len(self.Phi_)} states."

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        return [f"phi{j}" for j in range(self.n_features_)]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"Phi": self.Phi_}, {}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self._settle(check_array(arrays["Phi"], "Phi", shape=(None, None)))
