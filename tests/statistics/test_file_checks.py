"""Files of statistics whose checksum is right, and whose content is not: refused in one line."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

import lincat
from lincat import _tensors
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
