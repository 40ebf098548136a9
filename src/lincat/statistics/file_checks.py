"""Whether the arrays of a file of statistics fit together, before anything is made of them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np

from lincat._arguments import check_array, fail
from lincat._typing import IntArray
from lincat.statistics.extremes import KEPT

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**62)]


class Params(msgspec.Struct, forbid_unknown_fields=True):
    """What statistics are made with."""

    n_features: Annotated[int, msgspec.Meta(ge=1, le=2**31)] | None
    max_blocks: _Positive
    memory_limit: _Positive
    keep_last: _Positive | None = None


class Numbers(msgspec.Struct, forbid_unknown_fields=True):
    """What they have counted."""

    count: _Count
    dense: bool
    exact: bool
    number: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    most: _Positive
    length: _Positive
    trace: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}$")]


def checked(params: Any, state: Any, arrays: dict[str, Any]) -> tuple[Params, Numbers]:
    """Return the settings and numbers of a file, whose arrays fit these and each other."""
    made = msgspec.convert(params, Params)
    numbers = msgspec.convert(state, Numbers)
    _check_common(arrays, numbers)
    groups, blocks = len(arrays["groups"]), len(arrays["block_counts"])
    d = made.n_features or 0
    if blocks and not d:
        raise fail("n_features", "a number, beside sums", made.n_features)
    if numbers.dense:
        _check_dense(arrays, d, groups, blocks)
    else:
        _check_sparse(arrays, d, groups, blocks)
    _check_waiting(arrays, d)
    return made, numbers


def _check_common(arrays: dict[str, Any], numbers: Numbers) -> None:
    ranges = arrays["ranges"]
    if ranges.shape != (3,) or ranges.dtype != np.float64 or np.isnan(ranges).any():
        raise fail("ranges", "three numbers", ranges.tolist())
    if numbers.count and not np.isfinite(ranges).all():
        raise fail("ranges", "finite numbers", ranges.tolist())
    _check_ends(arrays)
    nodes = check_array(arrays["nodes"], "nodes", shape=(None,))
    fewest = 0 if numbers.exact else 3  # a reward is split over three
    if (np.diff(nodes) <= 0.0).any() or not fewest <= len(nodes) <= 4096:
        raise fail("nodes", f"{fewest} to 4,096 numbers that increase", len(nodes))
    wanted = len(nodes) if numbers.exact else None
    counts = check_array(arrays["node_counts"], "node_counts", shape=(wanted,))
    groups = check_array(arrays["groups"], "groups", shape=(None, 3))
    if not np.isin(groups[:, 1], (-1.0, 0.0, 1.0)).all() or (counts < 0.0).any():
        raise fail("groups", "powers -1, 0 or 1, and counts of at least 0", "others")
    if len(np.unique(groups, axis=0)) != len(groups):
        raise fail("groups", "groups that differ", "one twice")
    if ((groups[:, 1] < 0.0) & (groups[:, 2] < 0.0)).any():
        raise fail("groups", "discounts of at least 0", "others")
    blocks = len(arrays["block_counts"])
    _whole(arrays, "block_counts", (blocks,), 2**62)
    check_array(arrays["block_weights"], "block_weights", shape=(blocks,))
    for name in ("block_has_end", "block_closed"):
        if arrays[name].shape != (blocks,) or arrays[name].dtype != bool:
            raise fail(name, f"{blocks} flags", f"{arrays[name].dtype} {arrays[name].shape}")


def _check_ends(arrays: dict[str, Any]) -> None:
    """What was seen at either end; a file from before that was kept has none of it."""
    if ("lowest" in arrays) != ("highest" in arrays):
        raise fail("lowest", "numbers beside those of highest", "one of the two")
    for name, sign in (("lowest", 1.0), ("highest", -1.0)):
        ends = sign * arrays.get(name, np.zeros(0))
        fits = ends.ndim == 1 and ends.dtype == np.float64 and len(ends) <= KEPT
        if not fits or np.isnan(ends).any() or (ends[1:] < ends[:-1]).any():
            raise fail(name, f"at most {KEPT} numbers in order", f"{ends.dtype} {ends.shape}")


def _check_dense(arrays: dict[str, Any], d: int, groups: int, blocks: int) -> None:
    if blocks:
        _sums(arrays, "Sigma", (blocks, d, d))
    for name, shape in (("cross", (d, d)), ("phi_sum", (d,))):
        if blocks:
            of = _whole(arrays, f"{name}_group", (None,), groups)
            _sums(arrays, name, (len(of), *shape))
            ends = _ends(arrays, f"{name}_ends", blocks, len(of))
            parts = np.split(of, ends[:-1])
            if any(len(np.unique(part)) != len(part) for part in parts):
                raise fail(f"{name}_group", "groups that differ", "one twice")


def _check_sparse(arrays: dict[str, Any], d: int, groups: int, blocks: int) -> None:
    most = {"cells": groups * d * d, "cross": groups * d * d, "phi_sum": groups * d}
    for name, limit in {**most, "Sigma": d * d}.items():
        if f"{name}_place" not in arrays and name == "cells":
            continue  # a file from before there were cells
        place = _whole(arrays, f"{name}_place", (None,), limit)
        width = 1
        if name == "cells" and len(place):
            width = _cell_groups(arrays, place // (d * d), groups)
        value = arrays[f"{name}_value"]
        shape = (len(place),) if value.ndim == 1 and width == 1 else (len(place), width)
        if len(place) or value.size:
            _sums(arrays, f"{name}_value", shape)
        pieces = len(arrays[f"{name}_piece_ends"])
        cuts = _ends(arrays, f"{name}_piece_ends", pieces, len(place))
        _ends(arrays, f"{name}_ends", blocks, pieces)
        if any((np.diff(part) <= 0).any() for part in np.split(place, cuts[:-1])):
            raise fail(f"{name}_place", "places that increase", "others")


def _cell_groups(arrays: dict[str, Any], first: IntArray, groups: int) -> int:
    """Check which groups cells are parted among, and return how many there are for each."""
    of = _whole(arrays, "cell_groups", (None, None), groups)
    if of.shape[1] not in (1, 3):
        raise fail("cell_groups", "one group or three for each cell", of.shape[1])
    if not np.isin(first, of[:, 0]).all():
        raise fail("cell_groups", "the groups of all cells", "some of them")
    return int(of.shape[1])


def _check_waiting(arrays: dict[str, Any], d: int) -> None:
    if "waiting_reward" not in arrays:
        return
    n = len(check_array(arrays["waiting_reward"], "waiting_reward", shape=(None,)))
    check_array(arrays["waiting_weight"], "waiting_weight", shape=(n,))
    discount, end = arrays["waiting_discount"], arrays["waiting_end"]
    if discount.shape != (n,) or discount.dtype != np.float64 or (discount < 0.0).any():
        raise fail("waiting_discount", f"{n} discounts", f"{discount.dtype} {discount.shape}")
    if end.shape != (n,) or end.dtype != bool:
        raise fail("waiting_end", f"{n} flags", f"{end.dtype} {end.shape}")
    for name in ("waiting_phi", "waiting_phi_next"):
        if name not in arrays:
            continue  # sparse, which SciPy and `check_sparse` look at
        if arrays[name].ndim == 1:
            _whole(arrays, name, (n,), d)
        else:
            _sums(arrays, name, (n, d))


def _whole(arrays: dict[str, Any], name: str, shape: tuple[int | None, ...], limit: int) -> Any:
    """Whole numbers from 0 up to a limit, as compiled code takes them."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        want in (None, n) for want, n in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind not in "iu" or array.dtype.itemsize != 8:
        raise fail(name, f"int64 of shape {shape}", f"{array.dtype} {array.shape}")
    if array.size and not (0 <= int(array.min()) and int(array.max()) < limit):
        raise fail(name, f"numbers from 0 to {limit - 1}", f"{array.min()} to {array.max()}")
    return array


def _sums(arrays: dict[str, Any], name: str, shape: tuple[int, ...]) -> None:
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise fail(name, f"finite numbers of shape {shape}", f"{array.dtype} {array.shape}")


def _ends(arrays: dict[str, Any], name: str, n: int, last: int) -> IntArray:
    """Where parts end, one behind the other."""
    ends: IntArray = _whole(arrays, name, (n,), last + 1)
    if (np.diff(ends) < 0).any() or (n and ends[-1] != last) or (not n and last):
        raise fail(name, f"{n} ends that increase to {last}", ends.tolist()[:8])
    return ends
