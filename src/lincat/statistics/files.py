"""Statistics as files: safetensors, so that reading one runs no code, with a checksum.

Blocks lie one behind the other in each array; ``..._ends`` says where each block ends. Rows that
wait to be summed are kept as they are, so that statistics continue as if they had never been
written. The checksum (SHA-256) covers every array and every value: sums that a broken disk changed
would look like sums.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import scipy.sparse

from lincat._arguments import check_array, check_sparse, fail
from lincat._tensors import built, pack, read_packed, unpack, write_packed
from lincat._typing import FeatureMatrix, IntArray
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.blocks import Block, Blocks
from lincat.statistics.dense import DenseSums, Stack
from lincat.statistics.extremes import Extremes
from lincat.statistics.file_checks import checked
from lincat.statistics.groups import Groups
from lincat.statistics.placement import Names
from lincat.statistics.possible import check_possible
from lincat.statistics.reward_nodes import RewardNodes, most_exact
from lincat.statistics.rows import Rows, joined
from lincat.statistics.sparse import Entries, SparseSums
from lincat.statistics.trace import Trace
from lincat.statistics.waiting import Waiting

_KEY = "lincat statistics"
_CLASS = Statistics.__name__
_COLUMNS = ("reward", "discount", "weight", "end")
_ENTRIES = ("cells", "cross", "phi_sum", "Sigma")


def save(statistics: Statistics, path: str | Path) -> None:
    """Write statistics to a file, whole or not at all."""
    write_packed(path, save_bytes(statistics))


def save_bytes(statistics: Statistics) -> bytes:
    """Return the content of a file, which depends on nothing but the statistics."""
    params, state, arrays = packed(statistics)
    return pack(_KEY, _CLASS, params, state, arrays, _not_plain)


def load_bytes(content: bytes, name: str = "statistics") -> Statistics:
    """Return the statistics that :func:`save_bytes` wrote; errors call them by a name."""
    return built(content, name, "file of statistics", _build)


def packed(statistics: Statistics) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return settings, numbers and arrays: what a file holds."""
    arrays = {
        **_common_arrays(statistics),
        **(_dense_arrays if statistics._dense else _sparse_arrays)(statistics._blocks),
        **_waiting_arrays(statistics._waiting.parts),
    }
    params = {
        "n_features": statistics.n_features,
        "max_blocks": statistics.max_blocks,
        "memory_limit": statistics.memory_limit,
    }
    if statistics.keep_last is not None:
        params["keep_last"] = statistics.keep_last
    state: dict[str, Any] = {
        "count": statistics.count,
        "dense": statistics._dense,
        "exact": statistics._nodes.exact,
        "number": statistics._nodes.number,
        "most": statistics._blocks.most,
        "length": statistics._blocks.length,
        "trace": f"{statistics.trace.value:016x}",
    }
    return params, state, arrays


def load(path: str | Path) -> Statistics:
    """Read statistics; see :meth:`lincat.Statistics.load`."""
    return read_packed(path, "file of statistics", _build)


def _build(content: bytes) -> Statistics:
    header, arrays = unpack(content, _KEY, [_CLASS])
    return unpacked(header["params"], header["state"], arrays)


def unpacked(params: dict[str, Any], state: dict[str, Any], arrays: dict[str, Any]) -> Statistics:
    """Return the statistics that :func:`packed` took apart, if they fit together."""
    made, numbers = checked(params, state, arrays)
    statistics = Statistics(**msgspec.structs.asdict(made))
    statistics.count, statistics._dense = numbers.count, numbers.dense
    statistics.trace = Trace(numbers.count, int(numbers.trace, 16))
    low, high, norm = arrays["ranges"].tolist()
    statistics.reward_low, statistics.reward_high, statistics._largest_norm = low, high, norm
    if "lowest" in arrays:  # else a file from before they were kept
        statistics.extremes = Extremes(arrays["lowest"], arrays["highest"])
    nodes = RewardNodes(numbers.number, check_array(arrays["nodes"], "nodes"))
    nodes.exact, nodes.counts = numbers.exact, arrays["node_counts"]
    if made.n_features:
        nodes.most_exact = most_exact(made.n_features, dense=numbers.dense)
    keys = [(r, int(p), g) for r, p, g in arrays["groups"].tolist()]
    statistics._nodes, statistics._groups = nodes, Groups(keys)
    blocks = Blocks(numbers.most, numbers.length)
    read = _dense_sums if numbers.dense else _sparse_sums
    ends = arrays["block_has_end"].tolist()
    columns = (arrays["block_counts"].tolist(), arrays["block_weights"].tolist(), ends)
    closed = arrays["block_closed"].tolist()
    sums = read(arrays, len(closed), made.n_features or 0)
    blocks.items = [Block(*block) for block in zip(sums, *columns, closed, strict=True)]
    statistics._blocks = blocks
    statistics._waiting = Waiting(_waiting_rows(arrays, made.n_features or 0))
    check_possible(statistics)
    return statistics


def _not_plain(value: Any) -> Any:
    raise fail("statistics", "settings that can be written to a file", repr(value)[:80])


def _common_arrays(statistics: Statistics) -> dict[str, Any]:
    blocks = statistics._blocks.items
    return {
        "ranges": np.array(
            [statistics.reward_low, statistics.reward_high, statistics._largest_norm]
        ),
        "lowest": statistics.extremes.lowest,
        "highest": statistics.extremes.highest,
        "nodes": statistics._nodes.values,
        "node_counts": statistics._nodes.counts,
        "groups": np.array(statistics._groups.keys, dtype=np.float64).reshape(-1, 3),
        "block_counts": np.array([block.count for block in blocks], dtype=np.int64),
        "block_weights": np.array([block.weight for block in blocks], dtype=np.float64),
        "block_has_end": np.array([block.has_end for block in blocks], dtype=bool),
        "block_closed": np.array([block.closed for block in blocks], dtype=bool),
    }


def _dense_arrays(blocks: Blocks) -> dict[str, Any]:
    sums = [block.sums for block in blocks.items]
    arrays = {"Sigma": np.array([x.Sigma for x in sums])}
    for name in ("cross", "phi_sum"):
        parts = [getattr(x, name) for x in sums]
        arrays[name] = _joined([part.values for part in parts], np.float64)
        arrays[f"{name}_group"] = _joined([part.groups for part in parts], np.int64)
        arrays[f"{name}_ends"] = np.cumsum([len(part.groups) for part in parts], dtype=np.int64)
    return arrays


def _dense_sums(arrays: dict[str, Any], n_blocks: int, d: int) -> list[DenseSums]:
    sums = [DenseSums(d) for _ in range(n_blocks)]
    for i, block in enumerate(sums):
        block.Sigma = arrays["Sigma"][i]
        for name in ("cross", "phi_sum"):
            part = _part(arrays[f"{name}_ends"], i)
            stack: Stack = getattr(block, name)
            stack.replace(Names(arrays[f"{name}_group"][part]), arrays[name][part])
    return sums


def _sparse_arrays(blocks: Blocks) -> dict[str, Any]:
    groups = {key: of for block in blocks.items for key, of in block.sums.cell_groups.items()}
    arrays = {"cell_groups": np.array(sorted(groups.values()), dtype=np.int64)}
    for name in _ENTRIES:
        pieces = [getattr(block.sums, name).pieces for block in blocks.items]
        flat = [piece for part in pieces for piece in part]
        arrays[f"{name}_place"] = _joined([place for place, _ in flat], np.int64)
        arrays[f"{name}_value"] = _joined([sums for _, sums in flat], np.float64)
        arrays[f"{name}_piece_ends"] = np.cumsum([len(x[0]) for x in flat], dtype=np.int64)
        arrays[f"{name}_ends"] = np.cumsum([len(part) for part in pieces], dtype=np.int64)
    return arrays


def _sparse_sums(arrays: dict[str, Any], n_blocks: int, d: int) -> list[SparseSums]:
    sums = [SparseSums(d) for _ in range(n_blocks)]
    groups = {int(of[0]): tuple(of.tolist()) for of in arrays.get("cell_groups", ())}
    for block in sums:
        block.cell_groups = dict(groups)
    for name in _ENTRIES:
        if f"{name}_place" not in arrays:  # a file from before there were cells
            continue
        places, values = arrays[f"{name}_place"], arrays[f"{name}_value"]
        values = values.reshape(len(places), -1) if len(places) else values
        ends = arrays[f"{name}_piece_ends"]
        parts = [_part(ends, i) for i in range(len(ends))]
        pieces = [(places[part], values[part]) for part in parts]
        for i, block in enumerate(sums):
            setattr(block, name, Entries(pieces[_part(arrays[f"{name}_ends"], i)]))
    return sums


def _waiting_arrays(waiting: list[Rows]) -> dict[str, Any]:
    if not waiting:
        return {}
    rows = joined(waiting)
    arrays = {f"waiting_{name}": getattr(rows, name) for name in _COLUMNS}
    for name in ("phi", "phi_next"):
        features: FeatureMatrix = getattr(rows, name)
        if rows.kind == "sparse":
            for part in ("data", "indices", "indptr"):
                arrays[f"waiting_{name}_{part}"] = getattr(features, part)
        else:
            arrays[f"waiting_{name}"] = features
    return arrays


def _waiting_rows(arrays: dict[str, Any], d: int) -> list[Rows]:
    if "waiting_reward" not in arrays:
        return []
    columns = [arrays[f"waiting_{name}"] for name in _COLUMNS]
    features = []
    for name in ("phi", "phi_next"):
        if f"waiting_{name}" in arrays:
            features.append(arrays[f"waiting_{name}"])
            continue
        triple = [arrays[f"waiting_{name}_{part}"] for part in ("data", "indices", "indptr")]
        matrix = scipy.sparse.csr_array(tuple(triple), shape=(len(columns[0]), d))
        features.append(check_sparse(matrix, f"waiting_{name}"))
    return [Rows(features[0], features[1], *columns)]


def _joined(arrays: list[Any], dtype: Any) -> Any:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)


def _part(ends: IntArray, i: int) -> slice:
    return slice(int(ends[i - 1]) if i else 0, int(ends[i]))
