"""Features from any object with a ``transform`` method, such as those of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse

from lincat._arguments import (
    InvalidInputError,
    check_array,
    check_sparse,
    check_unmasked,
    fail,
    reason,
)
from lincat._imports import import_name
from lincat._text import shown
from lincat._typing import FeatureMatrix
from lincat.data.mixed import is_mixed, is_text, mixed_of, rows_of
from lincat.features._base import Features
from lincat.features.id_text import ids_from_bytes, ids_to_bytes

_LARGEST_SAMPLE = 64 * 2**20  # bytes of the warm-up sample that go into a file, at most
_PROBES = 32  # observations by which a transformer from a file is compared with the saved one


@final
class FromTransformer(Features):
    """Any transformer: an object with ``transform``, and with ``fit`` if it needs one.

    It is told by its methods; scikit-learn is not imported. An unfitted one is copied and fitted on
    the warm-up sample, a fitted one is used as it is. It may return arrays or sparse matrices.
    Mixed rows (columns of a log) come to it as a pandas DataFrame, so that a ColumnTransformer
    finds its columns by name; as an array where pandas is not installed.

    Parameters
    ----------
    transformer : object or str
        The object, or "module:name" of one, or of a class or function without arguments that makes
        one. A file holds the name and the warm-up sample: ``load_features(path, trust_code=True)``
        makes it and fits it again. Importing a module runs its code, hence the word; an object has
        to be given again, ``load_features(path, transformer=it)``.

    Attributes
    ----------
    transformer_ : object
        The fitted transformer.

    Examples
    --------
    >>> import lincat
    >>> features = lincat.FromTransformer("sklearn.preprocessing:StandardScaler")
    >>> features.fit([[0.0], [2.0]]).transform([[0.0], [1.0]])
    array([[-1.],
           [ 0.]])
    """

    kind = "transformer"

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def _fit(self, observations: Any) -> None:
        rows = _as_rows(observations, None)
        if len(rows) == 0:
            raise fail("observations", "a warm-up sample of at least one observation", "none")
        self._settle(rows, None)

    def _settle(self, rows: Any, refit: bool | None) -> None:
        """Make the transformer, fit it (as it needs, or as ``refit`` says), and try it."""
        given = self.transformer
        made = _make(given) if isinstance(given, str) else given
        if not callable(getattr(made, "transform", None)):
            raise fail("transformer", "an object with a method transform", shown(given))
        if refit is None:
            refit = callable(getattr(made, "fit", None)) and not _is_fitted(made)
        if refit:
            made = copy.deepcopy(made)  # the user's own object stays unfitted
            _call(made.fit, rows, "fit")
        self.transformer_, self._refit_ = made, refit
        self._mixed_ = rows[:0] if is_mixed(rows) else None
        # What a file needs: all of the sample to fit again, or a few rows to compare.
        self._sample_ = rows if refit else rows[:_PROBES]
        outcome = self._apply(rows[:_PROBES], None)
        self._empty_ = outcome[:0]
        self.n_features_ = int(outcome.shape[1])

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        rows = _as_rows(observations, self._mixed_)
        if len(rows) == 0:  # which scikit-learn refuses
            return self._empty_
        return self._apply(rows, self.n_features_)

    def _apply(self, rows: Any, width: int | None) -> FeatureMatrix:
        out = _call(self.transformer_.transform, rows, "transform")
        n = rows.shape[0]
        if scipy.sparse.issparse(out):
            out = check_sparse(out, "transformer's output")
        else:
            out = check_array(out, "transformer's output", shape=(n, None))
        if out.shape[0] != n or width not in (None, out.shape[1]) or out.shape[1] == 0:
            shape = f"({n}, {'d' if width is None else width})"
            raise fail("transformer's output", f"shape {shape}", f"shape {out.shape}")
        return out

    def _sentence(self) -> str:
        return f"The {self.n_features_:,} features that {self.name.strip('<>')} makes."

    @property
    def name(self) -> str:
        """What a file calls the transformer: module:name, or in brackets the class of an object."""
        given = self.transformer
        return given if isinstance(given, str) else f"<{type(given).__name__}>"

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        names = getattr(self.transformer_, "get_feature_names_out", None)
        try:
            if names is not None:
                return [str(x) for x in names(inputs)]
        except Exception:  # other people's code: names are a courtesy
            pass
        return [f"feature {i}" for i in range(self.n_features_)]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        sample = self._sample_
        values: dict[str, Any] = {"refit": bool(self._refit_)}
        if self._mixed_ is not None:
            values["columns"] = [[x, is_text(sample, x)] for x in sample.dtype.names]
            arrays = {"sample": ids_to_bytes(rows_of(sample))}
        elif sample.dtype.kind in "fiub":
            arrays = {"sample": np.ascontiguousarray(sample, dtype=_storable(sample.dtype))}
        else:
            arrays = {"sample": ids_to_bytes(list(map(tuple, sample.tolist())))}
        size = arrays["sample"].nbytes
        if size > _LARGEST_SAMPLE:
            expected = f"a warm-up sample of at most {_LARGEST_SAMPLE} bytes, to write it to a file"
            raise fail("observations", expected, size, "fit on fewer observations")
        arrays["outcome"] = _dense(self._apply(sample[:_PROBES], self.n_features_))
        return arrays, {**values, "text": sample.dtype.kind not in "fiub"}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        sample = arrays["sample"]
        if values["text"]:
            rows = ids_from_bytes(sample)
        if "columns" in values:
            sample = _restored_mixed(values["columns"], rows)
        elif values["text"]:
            sample = np.empty((len(rows), len(rows[0])), dtype=object)
            sample[:] = rows
        if (sample.ndim != 2 and not is_mixed(sample)) or len(sample) == 0:
            raise fail("sample", "an array of shape (n, m)", f"shape {sample.shape}")
        self._settle(sample, values["refit"] is True)
        now = _dense(self._apply(sample[:_PROBES], None))
        before = arrays["outcome"]
        if now.shape != before.shape or not np.allclose(now, before, rtol=1e-9, atol=1e-12):
            raise fail(
                "transformer",
                f"that {self.name} makes the features that it made when it was saved",
                "others",
                "fix its random seed, and use the versions of then",
            )


def _make(text: str) -> Any:
    """Import "module:name"; call it if it is a class or a function."""
    found, name = import_name(text, "transformer")
    try:
        for part in name.split("."):
            found = getattr(found, part)
        is_one = callable(getattr(found, "transform", None)) and not isinstance(found, type)
        return found() if not is_one and callable(found) else found
    except Exception as error:  # other people's code: anything can come
        raise fail(
            "transformer", "the name of something to import", f"{text!r} ({reason(error)})"
        ) from error


def _is_fitted(made: Any) -> bool:
    """Tell as scikit-learn does: it says so itself, or has attributes that end in ``_``."""
    says = getattr(made, "__sklearn_is_fitted__", None)
    if callable(says):
        return bool(says())
    return any(x.endswith("_") and not x.startswith("__") for x in getattr(made, "__dict__", {}))


def _restored_mixed(columns: list[Any], rows: list[Any]) -> Any:
    cells = zip(*rows, strict=True)
    kinds = [(str(name), object if text else np.float64) for name, text in columns]
    return mixed_of(
        {name: np.array(x, dtype=kind) for (name, kind), x in zip(kinds, cells, strict=True)}
    )


def _as_rows(observations: Any, mixed: Any) -> Any:
    """Return rows of a matrix, or mixed ones, if such were fitted on."""
    if is_mixed(observations):
        return observations
    if scipy.sparse.issparse(observations):
        raise fail("observations", "an array", "a sparse matrix")
    check_unmasked(observations, "observations")
    try:
        array = np.asarray(observations)
    except ValueError:
        raise fail("observations", "an array", "rows of different lengths") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2:
        raise fail("observations", "an array of shape (n, m)", f"shape {array.shape}")
    if mixed is not None and array.shape[1] == len(mixed.dtype.names):
        return mixed_of({name: array[:, j] for j, name in enumerate(mixed.dtype.names)})
    return array


def _by_name(rows: Any) -> Any:
    """Return mixed rows as other people's code takes it."""
    if not is_mixed(rows):
        return rows
    columns = {name: rows[name] for name in rows.dtype.names}
    try:
        import pandas
    except ImportError:
        return np.stack(list(columns.values()), axis=1)
    return pandas.DataFrame(columns)


def _call(method: Any, rows: Any, name: str) -> Any:
    try:
        return method(_by_name(rows))
    except InvalidInputError:
        raise
    except Exception as error:
        expected = f"observations that its {name} takes"
        raise fail("transformer", expected, reason(error)) from error


def _storable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize > 8 else dtype


def _dense(features: FeatureMatrix) -> Any:
    return features.toarray() if scipy.sparse.issparse(features) else features
