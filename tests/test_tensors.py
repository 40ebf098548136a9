import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

import lincat
from lincat._tensors import _TYPES, pack, pieces, read_packed, unpack, write_packed
from tests import packed

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
settings = st.dictionaries(st.text(), plain_values, max_size=4)


def no_plain(value):
    raise AssertionError(value)


@given(settings, settings, st.lists(st.floats(allow_nan=False), max_size=6))
def test_what_is_packed_comes_back(params, state, numbers):
    content = pack("key", "Kind", params, state, {"numbers": np.array(numbers)}, no_plain)
    header, arrays = unpack(content, "key", ["Kind"])
    assert (header["params"], header["state"]) == (params, state)
    np.testing.assert_array_equal(arrays["numbers"], np.array(numbers))
    assert arrays["numbers"].flags.writeable


def test_settings_have_a_largest_size():
    with pytest.raises(lincat.InvalidInputError, match="Kind: expected settings of at most"):
        pack("key", "Kind", {"text": "x" * 1_000_001}, {}, {}, no_plain)


def test_the_largest_settings_can_be_read():
    params = {"text": '"' * 499_000}  # each takes four bytes in the file
    header, _ = unpack(pack("key", "Kind", params, {}, {}, no_plain), "key", ["Kind"])
    assert header["params"] == params


def test_other_classes_and_places_are_refused(tmp_path):
    content = pack("key", "Kind", {}, {}, {"x": np.zeros(1)}, no_plain)
    with pytest.raises(lincat.InvalidInputError, match="class: expected one of Other, got 'Kind'"):
        unpack(content, "key", ["Other"])
    with pytest.raises(lincat.InvalidInputError, match="a place that can be written"):
        write_packed(tmp_path / "none" / "file", content)
    write_packed(tmp_path / "file", content)
    assert read_packed(tmp_path / "file", "file", len) == len(content)


def test_the_format_is_that_of_safetensors():
    rng = np.random.default_rng(0)
    arrays = {
        f"{letter} {kind}": rng.integers(0, 100, shape).astype(kind)
        for letter, shape in (("b", (3, 5)), ("é", ()), ("a", (0, 2)))
        for kind in _TYPES
    }
    arrays["turned"] = np.arange(6.0).reshape(2, 3).T
    content = pack("key", "Kind", {"text": 'a "b"'}, {}, arrays, no_plain)
    with_our_header = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata=json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"],
    )
    assert content == with_our_header


def test_arrays_are_not_copied_to_be_written():
    arrays = {"sums": np.ones(2**20), "others": np.ones(2**20, np.float32)}
    tracemalloc.start()
    parts = pieces("key", "Kind", {}, {}, arrays, no_plain)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20
    assert b"".join(parts) == pack("key", "Kind", {}, {}, arrays, no_plain)


def test_each_flipped_bit_is_noticed_or_changes_nothing():
    """Blanks between the parts of a header may turn into other blanks."""
    content = pack("key", "Kind", {"a": 1}, {"b": 2.5}, {"x": np.array([1.0, 2.0])}, no_plain)
    unnoticed = 0
    for bit in range(8 * len(content)):
        broken = bytearray(content)
        broken[bit // 8] ^= 1 << bit % 8
        try:
            header, arrays = unpack(bytes(broken), "key", ["Kind"])
        except Exception:
            continue
        unnoticed += 1
        assert (header["params"], header["state"]) == ({"a": 1}, {"b": 2.5})
        np.testing.assert_array_equal(arrays["x"], [1.0, 2.0])
    assert unnoticed < 20


def test_files_of_the_first_format_are_read_without_a_checksum():
    content = pack("key", "Kind", {"a": 1}, {}, {"x": np.ones(1)}, no_plain)

    def first_format(header):
        header["format"] = 1
        del header["sha256"]

    def without(header):
        del header["sha256"]

    old = packed.rewritten(content, "key", first_format, sign=False)
    assert unpack(old, "key", ["Kind"])[0]["params"] == {"a": 1}
    with pytest.raises(lincat.InvalidInputError, match="checksum: expected none"):
        unpack(packed.rewritten(content, "key", without, sign=False), "key", ["Kind"])
