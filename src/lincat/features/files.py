"""Features as files: safetensors, so that reading one runs no code unless the user says so.

The arrays are what was fitted; the header holds, as JSON text, the format's version, the class, the
hyper-parameters and plain values. The bytes depend on nothing but the features.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat._tensors import pack, read_packed, unpack
from lincat._text import shown
from lincat.features._base import Features
from lincat.features.registry import FEATURES
from lincat.features.transformer import FromTransformer

# Hyper-parameters that are arrays or features, and may be large: kept among the arrays alone.
_ARRAYS = {"Lookup": ["Phi"], "Levels": ["beside", "of", "weights"]}
_KEY = "lincat features"


def save_bytes(features: Features) -> bytes:
    """Return the content of a file of features."""
    arrays, values = features._state()
    name = type(features).__name__
    kept = _ARRAYS.get(name, [])
    params = {key: value for key, value in features.get_params().items() if key not in kept}
    if isinstance(features, FromTransformer):
        params["transformer"] = features.name
    return pack(_KEY, name, params, values, arrays, _plain)


def load_features(path: str | Path, *, trust_code: bool = False, transformer: object = None) -> Any:
    """Read features that ``save`` wrote; they transform as those did, bit for bit.

    Parameters
    ----------
    path : str or path
    trust_code : bool
        Allow a file of :class:`lincat.FromTransformer`, which names a Python module to import.
        Importing runs its code: allow it for files whose origin you know.
    transformer : object, optional
        The transformer of such a file, if that was an object.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import lincat
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "features.safetensors"
    >>> lincat.Scaling().fit([[0.0], [2.0]]).save(file)
    >>> lincat.load_features(file).describe()
    '1 standardised number and an intercept, scaled to a length of at most 1: 2 features.'
    """
    return read_packed(
        path, "file of features", lambda content: _build(content, trust_code, transformer)
    )


def outer_features(content: bytes) -> Features:
    """Return features that lie within another file, from what :func:`save_bytes` gave.

    They run no code.
    """
    return _build(content, False, None)


def inner_features(content: bytes) -> Features:
    """Return features that are part of others, from what :func:`save_bytes` gave.

    They run no code, and have no such parts themselves: how deep files go is bounded.
    """
    return _build(content, False, None, [x for x in FEATURES.names.values() if x != "Levels"])


def _build(
    content: bytes,
    trust_code: bool,
    transformer: object,
    classes: Collection[str] = tuple(FEATURES.names.values()),
) -> Features:
    header, arrays = unpack(content, _KEY, classes)
    params = header["params"]
    if header["class"] == FromTransformer.__name__:
        if not isinstance(params["transformer"], str):
            raise fail("transformer", "'module:name'", "something else")
        if params["transformer"].startswith("<"):
            if transformer is None:
                expected = f"the object that the features are made by, {params['transformer']}"
                raise fail("transformer", expected, "none", "give it again")
            params["transformer"] = transformer
        elif not trust_code:
            raise fail(
                "trust_code",
                f"True, since the file has {params['transformer']!r} imported, which runs code",
                False,
                "allow it if you know where the file comes from",
            )
    values = header["state"]
    kept = {name: arrays[name] for name in _ARRAYS.get(header["class"], [])}
    features: Features = FEATURES.named(header["class"])(**params, **kept)
    features._restore(arrays, values)
    wanted_arrays, wanted_values = features._state()
    if set(arrays) != set(wanted_arrays) or set(values) != set(wanted_values):
        got = sorted([*arrays, *values])
        raise fail("content", f"{sorted([*wanted_arrays, *wanted_values])}", got)
    return features


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise fail("features", "hyper-parameters that can be written to a file", shown(value))
