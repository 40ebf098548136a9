"""Tampering with the files that ``lincat._tensors`` packs."""

import json

import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import lincat
from lincat._tensors import _digest


def header_of(content, key):
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"][key])


def rewritten(content, key, change_header=None, change_arrays=None, sign=True):
    """A file with another header or other arrays, valid as safetensors.

    With ``sign``, as somebody would write it who knows of checksums.
    """
    header, arrays = header_of(content, key), dict(load_arrays(content))
    if change_header is not None:
        change_header(header)
    if change_arrays is not None:
        change_arrays(arrays)
    if sign:
        header.pop("sha256", None)
        header["sha256"] = _digest(json.dumps(header, sort_keys=True), arrays)
    return save_arrays(arrays, metadata={key: json.dumps(header)})


def refused(load, path, content, reason=None):
    path.write_bytes(content)
    with pytest.raises(lincat.InvalidInputError, match=reason) as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
