"""What all features share: parameters, the order fit - transform, files.

Concrete features say how to fit, how to transform, and what to keep in a file. Implemented methods
are not overridden.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lincat._arguments import fail
from lincat._parameters import Parametrised
from lincat._tensors import write_packed
from lincat._typing import BoolArray, FeatureMatrix
from lincat.features._manners import Manners


class Features(Parametrised, Manners):
    """Base of all features.

    Hyper-parameters are stored as given and checked by :meth:`fit`, which learns from a warm-up
    sample what depends on the data; from then on the features stay as they are.

    Attributes
    ----------
    kind : str
        The name under which the command line knows them.
    table : bool
        Whether each observation has a feature of its own.
    all_used : bool
        Whether a feature that no observation ever had is worth a word. Not for tiles: whole regions
        of a space of states are never entered.
    n_features_ : int
        The number of features d.
    """

    kind: ClassVar[str]
    all_used: ClassVar[bool] = True
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

    # What they may say otherwise: by default nothing is unknown.

    def _knows(self, observations: Any) -> BoolArray:
        """Return for which observations :meth:`lookup` has an answer."""
        return np.ones(len(observations), dtype=bool)

    def _n_known(self) -> int:
        """How many of the features stand for something."""
        return self.n_features_

    def _remarks(self, observations: Any) -> list[str]:
        """Say for each observation what was never seen so, if it has an answer all the same."""
        return [""] * len(observations)

    # ------------------------------------------------------------------------------------- use

    def fit(self, observations: Any, y: Any = None) -> Self:
        """Learn from a warm-up sample what depends on the data; forget what was learned before.

        Parameters
        ----------
        observations : array or frame
            Points of shape (n, m) or (n,), or n ids.
        y : object
            Not looked at: pipelines pass it.
        """
        self._remember(observations)
        self._fit(observations)
        return self

    def transform(self, observations: Any) -> FeatureMatrix:
        """Return the features of n observations.

        Returns
        -------
        array of shape (n, d), scipy.sparse.csr_array of that shape, or integers of shape (n,)
            What :class:`lincat.Transitions` takes. Integers are row numbers of a table. Frames, if
            :meth:`set_output` says so.
        """
        self._check_fitted()
        self._recognise(observations)
        return self._framed(self._transform(observations, True), observations)

    def lookup(self, observations: Any) -> FeatureMatrix:
        """Return the features as :meth:`transform` does, for predictions.

        The same but for tabular features: an id never seen before is an error here.
        """
        self._check_fitted()
        return self._transform(observations, False)

    def knows(self, observations: Any) -> BoolArray:
        """Return for which of n observations there is a prediction, shape (n,).

        For all of them, but for tables of ids and of states: they know those that they have.
        """
        self._check_fitted()
        return self._knows(observations)

    def remarks(self, observations: Any) -> list[str]:
        """Say for each of n observations what was never seen so: a text, or that it is missing.

        Nothing, but for features of texts and numbers together.
        """
        self._check_fitted()
        return self._remarks(observations)

    @property
    def n_known_(self) -> int:
        """How many of the features stand for something; a table keeps rows for ids to come."""
        self._check_fitted()
        return self._n_known()

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
