"""Learners as files: safetensors, so that reading one never runs code.

The arrays are the learner's state; the header holds, as JSON text, the format's version, the class,
the hyper-parameters and the counters. The bytes depend on nothing but the learner.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from lincat._arguments import check_choice, check_integer, check_number, fail
from lincat._files import Piece
from lincat._tensors import built, pieces, read_packed, unpack, write_packed
from lincat._text import listed, shown
from lincat.core.grid import Grid
from lincat.learners._base import Learner
from lincat.learners._batch import BatchLearner
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.batch_files import (
    SUMS,
    restore_batch,
    restored_sums,
    state_of_batch,
    state_of_sums,
)
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.registry import AVERAGINGS, DTYPES, LEARNERS
from lincat.learners.schedules import SCHEDULES
from lincat.learners.state import restore, state_of
from lincat.statistics.block_statistics import Statistics

_Kind = TypeVar("_Kind", bound=Learner[Any] | BatchLearner)

_ARRAYS = {"Theta", "U", "begin_sum", "next_sum", "folded_sum", "first_rows"}
_KEY = "lincat"
_COUNTED = 2**62  # transitions that kernels can count, and twice as many
# Values that hyper-parameters may be besides numbers and words; a file names the class of each.
_VALUES: dict[str, Any] = {cls.__name__: cls for cls in (Grid, *SCHEDULES)}
# Files of 0.1.0 did not, and there was one of each.
_UNNAMED = {"grid": "Grid", "step_size": "PolynomialDecay"}


def save(learner: Learner[Any] | BatchLearner, path: str | Path) -> None:
    """Write a learner to a file, whole or not at all."""
    write_packed(path, save_pieces(learner))


def save_bytes(learner: Learner[Any] | BatchLearner) -> bytes:
    """Return the content of a learner's file; a warm-up ends here, but nothing is solved."""
    return b"".join(save_pieces(learner))


def save_pieces(learner: Learner[Any] | BatchLearner) -> list[Piece]:
    """Return the same one after the other, without copies: to be written before more is learned."""
    if isinstance(learner, BatchLearner):
        arrays, numbers = state_of_batch(learner)
    else:
        learner._end_warm_up()
        arrays, numbers = state_of(learner)
        if isinstance(learner, CategoricalLearner) and learner.statistics_ is not None:
            sums, numbers["statistics"] = state_of_sums(learner.statistics_)
            arrays |= sums
    params = {name: _plain(value) for name, value in learner.get_params().items()}
    return pieces(_KEY, type(learner).__name__, params, numbers, arrays, _plain)


@overload
def load(path: str | Path) -> CategoricalLearner | CategoricalLSTD: ...
@overload
def load(path: str | Path, kind: type[_Kind]) -> _Kind: ...
def load(path: str | Path, kind: type[Any] | None = None) -> Any:
    """Read a learner that ``save`` wrote; it continues as if it had never stopped.

    Parameters
    ----------
    path : str or path
    kind : type, optional
        What it must be, such as ``lincat.LinearTD``; another one is an error. Type checkers take
        what is read for this, and by default for a learner of distributions.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import lincat
    >>> model = lincat.LinearTD(gamma=0.5, step_size=0.1).partial_fit([[1.0]], [1.0], [[1.0]])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> model.save(file)
    >>> lincat.load(file, lincat.LinearTD).psi_
    array([0.1])
    """
    learner = read_packed(path, "model file", _build)
    if kind is not None and not isinstance(learner, kind):
        raise fail(str(path), f"a {kind.__name__}", f"a {type(learner).__name__}")
    return learner


def load_bytes(content: bytes, name: str) -> Learner[Any] | BatchLearner:
    """Return the learner that :func:`save_bytes` wrote; errors call it by a name."""
    return built(content, name, "model file", _build)


def _build(content: bytes) -> Learner[Any] | BatchLearner:
    header, arrays = unpack(content, _KEY, LEARNERS.names.values())
    params = {name: _unplain(name, value) for name, value in header["params"].items()}
    learner: Learner[Any] | BatchLearner = LEARNERS.named(header["class"])(**params)
    if isinstance(learner, BatchLearner):
        learner._validate()
        restore_batch(learner, arrays, header["state"])
        return learner
    if isinstance(learner, CategoricalLearner) and learner.statistics:
        learner.statistics_ = restored_sums(arrays, header["state"]["statistics"])
        arrays = {name: array for name, array in arrays.items() if not name.startswith(SUMS)}
    if not {"Theta"} <= set(arrays) <= _ARRAYS | set(learner._matrices):
        raise fail("arrays", f"Theta and some of {', '.join(sorted(_ARRAYS))}", sorted(arrays))
    restore(learner, arrays, header["state"])
    _check_state(learner, arrays)
    return learner


def _check_state(learner: Learner[Any], arrays: dict[str, Any]) -> None:
    """Refuse arrays and counters that do not fit each other: kernels trust them."""
    average = learner._average_
    check_choice(average.kind, "averaging", AVERAGINGS)
    for name, low in (("horizon", 1), ("fold_every", 1), ("least", 0)):
        if (number := getattr(average, name)) is not None:
            check_integer(number, name, low=low)
    growth = learner._new_average(None).growth
    if average.growth != growth:
        raise fail("growth", f"{growth:g}", average.growth)
    seen = learner._seen_
    check_number(seen.largest, "largest_norm", low=0.0)
    check_number(seen.ended, "ended", low=0.0)
    check_number(seen.slowest, "slowest", low=0.0)
    if type(seen.near) is not bool:
        raise fail("near", "true or false", seen.near)
    windows = (average.begin, average.next_begin, average.folded)
    counts = (*windows, learner.n_updates_, learner.n_seen_)
    if (
        any(type(n) is not int or not 0 <= n < _COUNTED for n in counts)
        or max(counts) != learner.n_seen_
    ):
        raise fail("counters", "integers, none above the transitions seen", list(counts))
    needed = {
        "Theta": True,
        "U": average.needs_sums,
        "begin_sum": average.begin > 0,
        "next_sum": average.next_begin > 0,
        "folded_sum": average.folded > 0,
        **dict.fromkeys(learner._matrices, True),
        "first_rows": learner._first_ is not None,
    }
    names = sorted(name for name in needed if needed[name])
    if sorted(arrays) != names:
        raise fail("arrays", ", ".join(names), ", ".join(sorted(arrays)))
    shape = (arrays["Theta"].shape[0], learner._columns())
    shapes = dict.fromkeys(names, shape)
    if learner._first_ is not None:
        shapes["first_rows"] = (learner.n_seen_, 2 * shape[0] + 2)
    for name, shape in shapes.items():
        array = arrays[name]
        dtypes = DTYPES if name == "Theta" else ("float64",)
        if array.shape != shape or array.dtype.name not in dtypes:
            raise fail(name, f"{dtypes[0]} of shape {shape}", f"{array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise fail(name, "finite numbers", "others")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Statistics):  # of which only the nodes matter
        return "auto" if value.exact_rewards else value.nodes_.tolist()
    name = type(value).__name__
    return {"class": name, **asdict(value)} if name in _VALUES else value


def _unplain(argument: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    fields = dict(value)
    name = fields.pop("class", _UNNAMED.get(argument))
    if name not in _VALUES:
        raise fail(argument, f"a value of {listed(list(_VALUES), 'or')}", shown(value))
    return _VALUES[name](**fields)
