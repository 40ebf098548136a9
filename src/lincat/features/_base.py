"""What all features share: parameters, the order fit - transform, files.

Concrete features say how to fit, how to transform, and what to keep in a file. Implemented methods
are not overridden.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from lincat._arguments import fail
from lincat._parameters import Parametrised
from lincat._tensors import write_packed
from lincat._typing import FeatureMatrix

__all__ = ["Features"]


class Features(Parametrised, ABC):
    """Base of all features.

    Hyper-parameters are stored as given and checked by :meth:`fit`, which learns from a warm-up
    sample what depends on the data; from then on the features stay as they are.

    Attributes
    ----------
    kind : str
        The name under which the command line knows them.
    n_features_ : int
        The number of features d.
    """

    kind: ClassVar[str]
    n_features_: int

    # --------------------------------------------------------------------- what features provide

    @abstractmethod
    def _fit(self, observations: Any) -> None:
        """Check the hyper-parameters and the sample; set everything that ends in ``_``."""

    @abstractmethod
    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        """Return the features; only with ``grow`` may they continue to learn (see Tabular)."""

    @abstractmethod
    def _sentence(self) -> str:
        """Say what they are, once fitted."""

    @abstractmethod
    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        """Name each feature, from names of the numbers of an observation if there are any."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays, and plain values for JSON, from which :meth:`_restore` makes the same again."""

    @abstractmethod
    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        """Restore what :meth:`_state` gave, after checking it: kernels trust it."""

    # ------------------------------------------------------------------------------------- use

    def fit(self, observations: Any) -> Self:
        """Learn from a warm-up sample what depends on the data; forget what was learned before.

        Parameters
        ----------
        observations : array
            Points of shape (n, m) or (n,), or n ids.
        """
        self._fit(observations)
        return self

    def transform(self, observations: Any) -> FeatureMatrix:
        """Return the features of n observations.

        Returns
        -------
        array of shape (n, d), scipy.sparse.csr_array of that shape, or integers of shape (n,)
            What :class:`lincat.Transitions` takes. Integers are row numbers of a table.
        """
        self._check_fitted()
        return self._transform(observations, True)

    def lookup(self, observations: Any) -> FeatureMatrix:
        """Return the features as :meth:`transform` does, for predictions.

        The same but for tabular features: an id never seen before is an error here.
        """
        self._check_fitted()
        return self._transform(observations, False)

    def describe(self) -> str:
        """Say in one sentence what these features are."""
        self._check_fitted()
        return self._sentence()

    def feature_names(self, inputs: Sequence[str] | None = None) -> list[str]:
        """Return a name for each feature.

        Parameters
        ----------
        inputs : sequence of str, optional
            Names for the numbers of an observation; x0, x1, ... by default.
        """
        self._check_fitted()
        return self._names(inputs)

    def save(self, path: str | Path) -> None:
        """Write the features to a file: safetensors, no code, written whole or not at all."""
        from lincat.features.files import save_bytes

        self._check_fitted()
        write_packed(path, save_bytes(self))

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_"):
            name = type(self).__name__
            raise fail("features", f"fitted {name}", "unfitted ones", "call fit(sample) first")
