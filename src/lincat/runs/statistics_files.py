"""Statistics of sources as files: one safetensors file with a checksum, no code.

Arrays of site i are called ``i.name``; those of its held-out returns at the j-th discount factor
``i.held.j.name``. Features are a file within the file, ``features``. A file from a stranger is
hostile: everything is checked before it is used, and nothing but sums, features that run no code,
and names is in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from lincat._arguments import InvalidInputError, check_array, check_features, fail
from lincat._tensors import pack, read_packed, unpack
from lincat._typing import FloatArray, IntArray
from lincat.features._base import Features
from lincat.features.files import outer_features
from lincat.features.files import save_bytes as features_bytes
from lincat.runs.shown import ShownStates
from lincat.runs.site import Clock, HeldReturns, Site
from lincat.runs.source_statistics import Cells, SourceStatistics
from lincat.statistics.checking import checked
from lincat.statistics.files import packed, unpacked
from lincat.statistics.parts import settled
from lincat.statistics.possible import check_rows, check_table

#: How names of such files end.
ENDING = ".stats"

_KEY = "lincat source statistics"
_CLASS = SourceStatistics.__name__
_SUMS = "sums."


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class _HeldState(msgspec.Struct, forbid_unknown_fields=True):
    gamma: float


class _SiteState(msgspec.Struct, forbid_unknown_fields=True):
    """What the header says of a site."""

    name: str
    source: str
    start_count: _Count
    skipped_rows: _Count
    params: dict[str, Any]
    sums: dict[str, Any]
    held: list[_HeldState]


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """What the header says beside the arrays; ``states`` is the JSON of the cells."""

    observation_names: list[str]
    labels: list[str]
    states: str | None
    sites: list[_SiteState]


def save_bytes(whole: SourceStatistics) -> bytes:
    """Return the content of a file, which depends on nothing but the statistics."""
    arrays: dict[str, Any] = {"features": _bytes(features_bytes(whole.features))}
    states = None
    if whole.cells is not None:
        arrays["centres"] = whole.cells.centres
        states = whole.cells.states.to_json().decode()
    sites = []
    for i, site in enumerate(whole.sites):
        params, sums, of_sums = packed(settled(site.statistics))
        arrays |= {f"{i}.{_SUMS}{name}": array for name, array in of_sums.items()}
        arrays |= {f"{i}.{name}": array for name, array in _site_arrays(site).items()}
        held = [_HeldState(one.gamma) for one in site.held]
        sites.append(
            _SiteState(
                *(site.name, site.source, site.start_count, site.skipped_rows),
                *(params, sums, held),
            )
        )
    state = _State(list(whole.observation_names), list(whole.labels), states, sites)
    return pack(_KEY, _CLASS, {}, msgspec.to_builtins(state), arrays, str)


def load(path: str | Path) -> SourceStatistics:
    """Read a file; see :meth:`SourceStatistics.load`."""
    return read_packed(path, "file of statistics (lincat stats)", _build)


def _build(content: bytes) -> SourceStatistics:
    header, arrays = unpack(content, _KEY, [_CLASS])
    try:
        state = msgspec.convert(header["state"], _State)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"header: {error}") from None
    features = outer_features(arrays["features"].tobytes())
    d = features.n_features_
    cells = None
    if state.states is not None:
        states = ShownStates.from_json(state.states.encode())
        shape = (len(states.names), d)
        centres = check_array(arrays["centres"], "centres", shape=shape)
        cells = Cells(check_features(centres, "centres", rows=shape[0]), states)
    if (cells is None) != features.table or not state.sites:
        raise fail("content", "sites, and cells of states unless there is a table", "others")
    if state.labels and len(state.labels) < features.n_known_:
        raise fail("labels", f"{features.n_known_:,} of them, or none", len(state.labels))
    C = 0 if cells is None else len(cells.centres)
    sites = tuple(_site(arrays, i, one, d, C) for i, one in enumerate(state.sites))
    for site in sites:
        _check_sums(site, features)
    return SourceStatistics(
        features, sites, tuple(state.observation_names), cells, tuple(state.labels)
    )


def _check_sums(site: Site, features: Features) -> None:
    """Refuse sums of features, beside those of statistics, that their rows cannot have."""
    sums = site.statistics
    check_rows("start_sum", site.start_sum, site.start_count, sums)
    if not features.table:
        if site.cell_counts.sum() != sums.count:
            raise fail("cell_counts", f"{sums.count:,} rows", f"{int(site.cell_counts.sum()):,}")
        check_rows("cell_sums", site.cell_sums, site.cell_counts[:, None], sums)
        return
    known = features.n_known_
    check_table(sums, known)
    starts = site.start_sum[:known]
    if (starts < 0.0).any() or starts.sum() != site.start_count or site.start_sum[known:].any():
        raise fail("start_sum", f"{site.start_count:,} starts in known states", "others")


def _site_arrays(site: Site) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "cell_counts": site.cell_counts,
        "cell_sums": site.cell_sums,
        "start_sum": site.start_sum,
    }
    if site.clock is not None:
        clock = site.clock
        arrays["clock"] = np.stack([clock.rows, clock.first, clock.last])
    for j, held in enumerate(site.held):
        own = {"value": held.value, "cell": held.cell, "stretch": held.stretch}
        more = {"Phi": held.Phi, "spans": held.spans, "weight": held.weight}
        own |= {name: array for name, array in more.items() if array is not None}
        arrays |= {f"held.{j}.{name}": array for name, array in own.items()}
    return arrays


def _site(arrays: dict[str, Any], i: int, state: _SiteState, d: int, C: int) -> Site:
    mine = {name[len(f"{i}.") :]: x for name, x in arrays.items() if name.startswith(f"{i}.")}
    sums = {name[len(_SUMS) :]: x for name, x in mine.items() if name.startswith(_SUMS)}
    statistics = checked(unpacked(state.params, state.sums, sums))
    if statistics.n_features != d:
        raise fail("sums", f"those of {d} features", statistics.n_features)
    clock = None
    if "clock" in mine:
        rows, first, last = _integers(mine["clock"], "clock", (3, None))
        clock = Clock(rows, first, last)
        if rows.min(initial=1) < 1 or rows.sum() != statistics.count:
            raise fail("clock", f"{statistics.count} rows", int(rows.sum()))
    return Site(
        name=state.name,
        source=state.source,
        statistics=statistics,
        clock=clock,
        cell_counts=_integers(mine["cell_counts"], "cell_counts", (C,)),
        cell_sums=check_array(mine["cell_sums"], "cell_sums", shape=(C, d)),
        start_count=state.start_count,
        start_sum=check_array(mine["start_sum"], "start_sum", shape=(d,)),
        held=tuple(_held(mine, j, one.gamma, d) for j, one in enumerate(state.held)),
        skipped_rows=state.skipped_rows,
    )


def _held(arrays: dict[str, Any], j: int, gamma: float, d: int) -> HeldReturns:
    value = check_array(arrays[f"held.{j}.value"], "value", shape=(None,))
    cell, stretch = (
        _integers(arrays[f"held.{j}.{name}"], name, value.shape) for name in ("cell", "stretch")
    )
    Phi: FloatArray | None = arrays.get(f"held.{j}.Phi")
    if Phi is not None:
        Phi = check_features(check_array(Phi, "Phi", shape=(None, d)), "Phi", rows=len(Phi))
    spans: IntArray | None = arrays.get(f"held.{j}.spans")
    if spans is not None:
        spans = _integers(spans, "spans", (None, 2))
    cells, stretches = d if Phi is None else len(Phi), len(value) if spans is None else len(spans)
    for numbers, name, most in ((cell, "cell", cells), (stretch, "stretch", stretches)):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < most:
            raise fail(name, f"numbers below {most}", int(numbers.max()))
    if not 0.0 <= gamma <= 1.0:
        raise fail("gamma", "a number in [0, 1]", gamma)
    weight: FloatArray | None = arrays.get(f"held.{j}.weight")
    if weight is not None:
        weight = check_array(weight, "weight", shape=value.shape)
        if (weight <= 0.0).any():
            raise fail("weight", "numbers above 0", float(weight.min()))
    return HeldReturns(gamma, value, cell, stretch, Phi, spans, weight)


def _integers(array: Any, name: str, shape: tuple[int | None, ...]) -> IntArray:
    fits = array.ndim == len(shape) and all(
        n is None or n == m for n, m in zip(shape, array.shape, strict=False)
    )
    if array.dtype != np.int64 or not fits:
        raise fail(name, f"integers of shape {shape}", f"{array.dtype} of shape {array.shape}")
    return np.asarray(array)


def _bytes(content: bytes) -> Any:
    return np.frombuffer(content, dtype=np.uint8)
