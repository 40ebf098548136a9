import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat._tensors import pack, read_packed, unpack, write_packed

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
