"""Texts with a checksum: what is written comes back, and one changed bit anywhere is noticed."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat._seals import JSON, LINE, TOML

TEXTS = {JSON: '{"a": [1, 2.5], "b": "x"}', LINE: '{"a":1}', TOML: 'a = 1\nb = "x"\n'}


@pytest.mark.parametrize(
    ("seal", "read"), [(JSON, json.loads), (LINE, json.loads), (TOML, tomllib.loads)]
)
def test_readers_of_the_format_still_read_it(seal, read):
    content = seal.sealed(TEXTS[seal])
    extra = {"sha256", "crc32"}
    assert {k: v for k, v in read(content.decode()).items() if k not in extra} == read(TEXTS[seal])
    assert read(seal.opened(content, "file", "values").decode()) == read(TEXTS[seal])
    assert seal.has(content)
    assert not seal.has(TEXTS[seal].encode())


@pytest.mark.parametrize("seal", [JSON, LINE, TOML])
def test_each_flipped_bit_is_noticed(seal):
    content = seal.sealed(TEXTS[seal])
    for bit in range(8 * len(content)):
        broken = bytearray(content)
        broken[bit // 8] ^= 1 << bit % 8
        with pytest.raises(lincat.InvalidInputError, match="file: expected values, as lincat"):
            seal.opened(bytes(broken), "file", "values")


@given(st.binary(max_size=200), st.sampled_from([JSON, LINE, TOML]))
def test_whatever_else_is_in_a_file_is_refused(content, seal):
    with pytest.raises(lincat.InvalidInputError):
        seal.opened(content, "file", "values")
