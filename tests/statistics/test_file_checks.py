"""Files of statistics whose checksum is right, and whose content is not: refused in one line."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

import lincat
from lincat import _tensors
from lincat.statistics.checking import checked
from tests.learners import cases


def _file(path, kind, rows):
    statistics = lincat.Statistics(n_features=6 if kind == "states" else None, max_blocks=4)
    for transitions in (cases.stream(kind, rows), cases.stream(kind, 7, seed=1)):
        statistics.update(transitions)
    statistics.save(path)
    return path.read_bytes()


def _resealed(content, change):
    size = int.from_bytes(content[:8], "little")
    ((key, text),) = json.loads(content[8 : 8 + size])["__metadata__"].items()
    header, arrays = json.loads(text), {x: np.array(y) for x, y in load(content).items()}
    del header["sha256"]
    change(header, arrays)
    header["sha256"] = _tensors._digest(json.dumps(header, sort_keys=True), arrays)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(arrays, metadata={key: json.dumps(header)})


def _damages(arrays):
    """Another shape, type, or number in each array."""
    for name, array in arrays.items():
        if array.size and name not in ("waiting_discount", "block_weights"):
            yield name, array[:-1] if len(array) > 1 else np.concatenate([array, array])
            yield name, array.astype(np.complex64 if array.dtype.kind == "f" else np.float16)
            if array.dtype.kind == "f":
                yield name, np.full_like(array, np.nan)
            elif array.dtype.kind in "iu":
                yield name, np.full_like(array, -1)
                yield name, np.full_like(array, 2**30 if array.dtype.itemsize == 4 else 2**62)


@pytest.mark.parametrize("kind", ["dense", "states", "sparse"])
def test_arrays_that_do_not_fit_are_refused(tmp_path, kind):
    path = tmp_path / "sums.safetensors"
    content = _file(path, kind, 5000)
    lincat.Statistics.load(path).totals()
    refused = 0
    for name, array in _damages({x: np.array(y) for x, y in load(content).items()}):
        if array.dtype.kind == "c":
            continue

        def change(header, arrays, name=name, array=array):
            arrays[name] = array

        path.write_bytes(_resealed(content, change))
        try:
            lincat.Statistics.load(path).totals()
        except lincat.InvalidInputError:
            refused += 1
    assert refused >= 12


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", -1), ("dense", 1), ("number", 10**9), ("length", 0), ("trace", "x"), ("more", 1)],
)
def test_numbers_that_cannot_be_are_refused(tmp_path, name, value):
    path = tmp_path / "sums.safetensors"
    content = _file(path, "dense", 50)
    path.write_bytes(_resealed(content, lambda header, _: header["state"].update({name: value})))
    with pytest.raises(lincat.InvalidInputError, match=name):
        lincat.Statistics.load(path)


def _set(name, place, value):
    def change(header, arrays):
        arrays[name][place] = value

    return change


def _with(name, made):
    def change(header, arrays):
        arrays[name] = made(arrays[name])

    return change


def _summed(kind):
    """Sums of dense features, or of a table of states that is too large for matrices."""
    made = lincat.Statistics(n_features=100 if kind == "states" else None, max_blocks=4)
    made.update(cases.stream(kind, 900))
    return made._settled()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "dense",
            lambda h, a: h["params"].update(n_features=None),
            "n_features: expected a number",
        ),
        ("dense", _set("ranges", ..., np.inf), "ranges: expected finite"),
        ("dense", _with("lowest", lambda x: np.array([1.0, 0.0])), "lowest: expected .* in order"),
        ("dense", _with("highest", lambda x: np.array([np.nan])), "highest: expected .* in order"),
        ("dense", lambda h, a: a.pop("highest"), "lowest: expected numbers beside"),
        ("dense", _with("nodes", lambda x: x[::-1]), "nodes: expected .* that increase"),
        ("dense", _set("groups", (0, 1), 5.0), "groups: expected powers -1, 0 or 1"),
        ("dense", _with("groups", lambda x: x[[0] * len(x)]), "groups: expected groups that"),
        ("dense", _set("groups", 0, (0.0, -1.0, -0.5)), "groups: expected discounts"),
        ("dense", _with("block_closed", lambda x: x.astype(np.int8)), "block_closed: expected"),
        ("dense", _set("cross_group", ..., 0), "cross_group: expected groups that differ"),
        ("dense", _set("cross_ends", -1, 0), "cross_ends: expected .* ends that increase"),
        ("states", _with("Sigma_place", lambda x: x[::-1]), "Sigma_place: expected places"),
        ("states", _with("cell_groups", lambda x: x[:, [0, 0]]), "one group or three"),
        ("states", _with("cell_groups", lambda x: x[:1]), "the groups of all cells"),
    ],
)
def test_sums_that_do_not_fit_are_named(tmp_path, kind, change, message):
    path = tmp_path / "sums.safetensors"
    _summed(kind).save(path)
    path.write_bytes(_resealed(path.read_bytes(), change))
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Statistics.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("waiting_discount", 0, -1.0), "waiting_discount: expected"),
        (_with("waiting_end", lambda x: x.astype(np.int8)), "waiting_end: expected"),
    ],
)
def test_rows_that_wait_and_do_not_fit_are_named(tmp_path, change, message):
    path = tmp_path / "sums.safetensors"
    path.write_bytes(_resealed(_file(path, "dense", 50), change))
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Statistics.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x._blocks.items.clear(), "sums: expected blocks of some features"),
        (lambda x: setattr(x._blocks.items[0], "count", 1), "count: expected as many as in the"),
        (lambda x: setattr(x._blocks.items[0], "weight", np.inf), "blocks: expected rows, and a w"),
        (lambda x: setattr(x._nodes, "number", 4), "number: expected"),
        (lambda x: setattr(x._nodes, "counts", np.ones(1)), "nodes: expected as many counts"),
        (lambda x: setattr(x._nodes, "values", x._nodes.values[::-1]), "nodes: expected ascending"),
        (lambda x: setattr(x._nodes, "values", x._nodes.values + 0.5), "groups: expected rewards"),
    ],
)
def test_sums_to_be_added_to_others_are_looked_at(change, message):
    statistics = _summed("dense")
    assert checked(statistics) is statistics
    change(statistics)
    with pytest.raises(lincat.InvalidInputError, match=message):
        checked(statistics)
