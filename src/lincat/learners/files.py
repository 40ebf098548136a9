"""Learners as files: safetensors, so that reading one never runs code.

The arrays are the learner's state; the header holds, as JSON text, the format's version, the class,
the hyper-parameters and the counters. The bytes depend on nothing but the learner.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lincat._validation import InvalidInputError, check_choice, check_number, fail
from lincat._version import __version__
from lincat.core.grid import Grid
from lincat.learners._base import Learner
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.linear_pmf import LinearPMF
from lincat.learners.linear_td import LinearTD
from lincat.learners.schedules import PolynomialDecay
from lincat.learners.softmax_ctd import SoftmaxCTD
from lincat.learners.unnormalised_ctd import UnnormalisedCTD

__all__ = ["load", "save_bytes"]

_FORMAT = 1
_CLASSES: dict[str, type[Learner]] = {
    cls.__name__: cls for cls in (LinearCTD, LinearPMF, LinearTD, SoftmaxCTD, UnnormalisedCTD)
}
_ARRAYS = {"Theta", "U", "begin_sum", "next_sum", "folded_sum"}
_LARGEST_HEADER = 1_000_000  # bytes; ours take a few hundred


def save_bytes(learner: Learner) -> bytes:
    """Return the content of a learner's file."""
    from safetensors.numpy import save

    arrays, numbers = learner._state()
    header = {
        "format": _FORMAT,
        "lincat": __version__,
        "class": type(learner).__name__,
        "params": {name: _plain(value) for name, value in learner.get_params().items()},
        "state": numbers,
    }
    return save(arrays, metadata={"lincat": json.dumps(header, sort_keys=True, default=_plain)})


def load(path: str | Path) -> Any:
    """Read a learner that ``save`` wrote; it goes on as if it had never stopped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import lincat
    >>> model = lincat.LinearTD(gamma=0.5, step_size=0.1).partial_fit([[1.0]], [1.0], [[1.0]])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> model.save(file)
    >>> lincat.load(file).psi_
    array([0.1])
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise fail(str(path), "a readable model file", error.strerror or "an error") from None
    try:
        return _build(content)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise fail(str(path), "a model file of lincat", f"something else ({reason})") from None


def _build(content: bytes) -> Learner:
    from safetensors.numpy import load as load_arrays

    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > min(_LARGEST_HEADER, len(content) - 8):
        raise fail("header", f"at most {_LARGEST_HEADER} bytes, within the file", size)
    text = json.loads(content[8 : 8 + size])["__metadata__"]["lincat"]
    header = json.loads(text)
    if header["format"] != _FORMAT:
        raise fail(
            "format",
            f"version {_FORMAT}",
            header["format"],
            "read it with a newer version of lincat",
        )
    if header["class"] not in _CLASSES:
        raise fail("class", f"one of {', '.join(_CLASSES)}", repr(header["class"]))
    learner = _CLASSES[header["class"]](
        **{name: _unplain(name, value) for name, value in header["params"].items()}
    )
    arrays = load_arrays(content)
    if not {"Theta"} <= set(arrays) <= _ARRAYS:
        raise fail("arrays", f"Theta and some of {', '.join(sorted(_ARRAYS))}", sorted(arrays))
    learner._restore(arrays, header["state"])
    _check_state(learner, arrays)
    return learner


def _check_state(learner: Learner, arrays: dict[str, Any]) -> None:
    """Refuse arrays and counters that do not fit each other: kernels trust them."""
    average = learner._average_
    check_choice(average.kind, "averaging", ("none", "full", "tail"))
    check_number(learner._largest_norm_, "largest_norm", low=0.0)
    windows = (average.begin, average.next_begin, average.folded)
    counts = (*windows, learner.n_updates_, learner.n_seen_)
    if any(type(n) is not int or n < 0 for n in counts) or max(counts) != learner.n_seen_:
        raise fail("counters", "integers, none above the transitions seen", list(counts))
    needed = {
        "Theta": True,
        "U": average.needs_sums,
        "begin_sum": average.begin > 0,
        "next_sum": average.next_begin > 0,
        "folded_sum": average.folded > 0,
    }
    names = sorted(name for name in needed if needed[name])
    if sorted(arrays) != names:
        raise fail("arrays", ", ".join(names), ", ".join(sorted(arrays)))
    shape = (arrays["Theta"].shape[0], learner._columns())
    for name in names:
        array = arrays[name]
        dtypes = ("float64", "float32") if name == "Theta" else ("float64",)
        if array.shape != shape or array.dtype.name not in dtypes:
            raise fail(name, f"{dtypes[0]} of shape {shape}", f"{array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise fail(name, "finite numbers", "others")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return asdict(value) if isinstance(value, Grid | PolynomialDecay) else value


def _unplain(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return Grid(**value) if name == "grid" else PolynomialDecay(**value)
    return value
