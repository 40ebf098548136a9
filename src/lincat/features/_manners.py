"""The manners of scikit-learn's transformers, without importing it before somebody asks.

With them features go into a ``Pipeline`` or a ``ColumnTransformer``, and name what they make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from lincat._arguments import check_choice, fail
from lincat._imports import optional
from lincat._typing import FeatureMatrix


class Manners(ABC):
    """What a pipeline expects of a step.

    Attributes
    ----------
    n_features_in_ : int
        Numbers of an observation, of points.
    feature_names_in_ : array of str
        Names of the columns, of frames.
    """

    #: Whether each observation has a feature of its own.
    table: ClassVar[bool] = False
    #: Whether observations may come as a sparse matrix.
    takes_sparse: ClassVar[bool] = False
    _output: str = "default"
    n_features_in_: int
    feature_names_in_: Any

    @abstractmethod
    def fit(self, observations: Any, y: Any = None) -> Self:
        """Learn from a sample."""

    @abstractmethod
    def transform(self, observations: Any) -> Any:
        """Return the features of n observations."""

    @abstractmethod
    def feature_names(self, inputs: Sequence[str] | None = None) -> list[str]:
        """Return a name for each feature."""

    def fit_transform(self, observations: Any, y: Any = None) -> Any:
        """Fit on the observations, and return their features; ``y`` is not looked at."""
        return self.fit(observations, y).transform(observations)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Any:
        """Return a name for each feature, as an array of texts.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names for the numbers of an observation; by default those of the frame that was fitted.
        """
        known = getattr(self, "feature_names_in_", None)
        if input_features is None:
            input_features = known
        elif known is not None and list(input_features) != list(known):
            raise fail("input_features", f"what was fitted, {list(known)}", list(input_features))
        n = getattr(self, "n_features_in_", None)
        if input_features is not None and n is not None and len(input_features) != n:
            expected = "should have length equal to number of features"
            raise fail("input_features", f"{n} names (it {expected})", len(input_features))
        names = None if input_features is None else [str(name) for name in input_features]
        return np.asarray(self.feature_names(names), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Have :meth:`transform` return frames: "pandas", "polars", or "default" for arrays."""
        if transform is not None:
            self._output = check_choice(transform, "transform", ("default", "pandas", "polars"))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_")

    def __sklearn_tags__(self) -> Any:
        utils = optional("sklearn.utils", "tags of scikit-learn")
        return utils.Tags(
            estimator_type="transformer",
            target_tags=utils.TargetTags(required=False),
            # Numbers of states are integers, whatever observations are.
            transformer_tags=utils.TransformerTags(
                preserves_dtype=[] if self.table else ["float64"]
            ),
            input_tags=utils.InputTags(sparse=self.takes_sparse),
        )

    # ----------------------------------------------------------------------------------- pieces

    def _remember(self, observations: Any) -> None:
        """Note the columns of what is being fitted."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        names = _column_names(observations)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        shape = _shape(observations)
        if len(shape) == 2:
            self.n_features_in_ = int(shape[1])

    def _recognise(self, observations: Any) -> None:
        """Refuse columns that are not those that were fitted: by name in frames, by number else."""
        known, names = getattr(self, "feature_names_in_", None), _column_names(observations)
        if known is not None and names is not None and list(known) != names:
            raise fail(
                "observations",
                f"columns {', '.join(known)} (the feature names should match those that were "
                "passed during fit)",
                ", ".join(names),
            )
        n, shape = getattr(self, "n_features_in_", None), _shape(observations)
        if n is not None and len(shape) == 2 and shape[1] != n:
            kind = type(self).__name__
            remedy = f"X has {shape[1]} features, but {kind} is expecting {n} features as input"
            raise fail("observations", f"an array of shape (n, {n})", f"shape {shape}", remedy)

    def _framed(self, features: FeatureMatrix, observations: Any) -> Any:
        """The features as they were asked for."""
        if self._output == "default":
            return features
        if scipy.sparse.issparse(features) or features.ndim != 2:
            got = "sparse ones" if features.ndim == 2 else "numbers of states"
            remedy = 'set_output(transform="default")'
            raise fail("set_output", "dense features, to make frames of", got, remedy)
        library = optional(self._output, "set_output")
        names = [str(name) for name in self.get_feature_names_out()]
        if self._output == "polars":
            return library.DataFrame(features, schema=names)
        index = getattr(observations, "index", None)
        return library.DataFrame(features, columns=names, index=index)


def _shape(observations: Any) -> tuple[int, ...]:
    return tuple(getattr(observations, "shape", ()))


def _column_names(observations: Any) -> list[str] | None:
    """The names of a frame's columns, if all are texts; None of what has none."""
    columns = getattr(observations, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None
