"""Features as files: safetensors, so that reading one runs no code unless the user says so.

The arrays are what was fitted; the header holds, as JSON text, the format's version, the class, the
hyper-parameters and plain values. The bytes depend on nothing but the features.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from lincat._validation import InvalidInputError, fail
from lincat._version import __version__
from lincat.features._base import Features
from lincat.features.fourier import Fourier
from lincat.features.identity import Identity
from lincat.features.lookup import Lookup
from lincat.features.rbf import RadialBasis
from lincat.features.scaling import Scaling
from lincat.features.tabular import Tabular
from lincat.features.tiles import Tiles
from lincat.features.transformer import FromTransformer

__all__ = ["load_features", "save_bytes"]

_FORMAT = 1
_CLASSES: dict[str, type[Features]] = {
    cls.__name__: cls
    for cls in (Fourier, FromTransformer, Identity, Lookup, RadialBasis, Scaling, Tabular, Tiles)
}
# Hyper-parameters that are arrays, as large as they may be: kept among the arrays alone.
_ARRAYS = {"Lookup": ["Phi"]}
_LARGEST_HEADER = 1_000_000  # bytes; ours take a few hundred
_LARGEST_FILE = 2**30  # bytes


def save_bytes(features: Features) -> bytes:
    """Return the content of a file of features."""
    from safetensors.numpy import save

    arrays, values = features._state()
    name = type(features).__name__
    params = features.get_params().items()
    header = {
        "format": _FORMAT,
        "lincat": __version__,
        "class": name,
        "params": {key: value for key, value in params if key not in _ARRAYS.get(name, [])},
        "state": values,
    }
    text = json.dumps(header, sort_keys=True, default=_plain)
    content: bytes = save(
        {key: np.ascontiguousarray(array) for key, array in arrays.items()},
        metadata={"lincat features": text},
    )
    if len(content) > _LARGEST_FILE or len(text) > _LARGEST_HEADER:
        raise fail("features", f"a file of at most {_LARGEST_FILE} bytes", len(content))
    return content


def load_features(path: str | Path, *, trust_code: bool = False) -> Any:
    """Read features that ``save`` wrote; they transform as those did, bit for bit.

    Parameters
    ----------
    path : str or path
    trust_code : bool
        Allow a file of :class:`lincat.FromTransformer`, which names a Python module to import.
        Importing runs its code: allow it for files whose origin you know.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import lincat
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "features.safetensors"
    >>> lincat.Scaling().fit([[0.0], [2.0]]).save(file)
    >>> lincat.load_features(file).describe()
    '1 standardised number and an intercept, scaled to a length of at most 1: 2 features.'
    """
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise fail(str(path), f"at most {_LARGEST_FILE} bytes", path.stat().st_size)
        content = path.read_bytes()
    except OSError as error:
        raise fail(str(path), "a readable file of features", error.strerror or "an error") from None
    try:
        return _build(content, trust_code)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise fail(str(path), "features of lincat", f"something else ({reason})") from None


def _build(content: bytes, trust_code: bool) -> Features:
    from safetensors.numpy import load as load_arrays

    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > min(2 * _LARGEST_HEADER, len(content) - 8):
        raise fail("header", f"at most {2 * _LARGEST_HEADER} bytes, within the file", size)
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["lincat features"])
    if header["format"] != _FORMAT:
        remedy = "read it with a newer version of lincat"
        raise fail("format", f"version {_FORMAT}", header["format"], remedy)
    if header["class"] not in _CLASSES:
        raise fail("class", f"one of {', '.join(_CLASSES)}", repr(header["class"]))
    params = header["params"]
    if header["class"] == FromTransformer.__name__:
        if not isinstance(params["transformer"], str):
            raise fail("transformer", "'module:name'", "something else")
        if not trust_code:
            raise fail(
                "trust_code",
                f"True, since the file has {params['transformer']!r} imported, which runs code",
                False,
                "allow it if you know where the file comes from",
            )
    # Copies, since arrays that cannot be written to have Numba compile every kernel once more.
    arrays = {name: np.array(array) for name, array in load_arrays(content).items()}
    values = header["state"]
    kept = {name: arrays[name] for name in _ARRAYS.get(header["class"], [])}
    features = _CLASSES[header["class"]](**params, **kept)
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
    raise fail("features", "hyper-parameters that can be written to a file", repr(value)[:80])
