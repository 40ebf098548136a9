"""Each vector operation against NumPy, lane by lane."""

import numpy as np
import pytest
from numba import njit

from lincat.kernels.simd import (
    add,
    broadcast,
    clamp,
    element,
    floor,
    fma,
    half,
    keep,
    lanes,
    line,
    load,
    mul,
    pair,
    prefetch,
    ramp,
    store,
    stride,
    sub,
)


@njit
def operations(out, whole, wide, a, b, c, n):
    like = line(a)
    x, y, z = load(a, 1, like), load(b, 1, like), load(c, 1, like)
    results = (
        add(x, y),
        sub(x, y),
        mul(x, y),
        fma(x, y, z),
        floor(x),
        clamp(x, broadcast(0.0, like), broadcast(1.0, like)),
        keep(x, n),
        ramp(like),
        broadcast(element(a, 3), like),
    )
    for j in range(len(results)):
        store(out, j * lanes(like), results[j])
    store(whole, 0, floor(x))
    store(wide, 0, x)
    return lanes(half(a)), lanes(like), lanes(pair(a))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operations(dtype):
    n = 64 // np.dtype(dtype).itemsize
    a, b, c = (4 * np.random.default_rng(j).normal(size=n + 1).astype(dtype) for j in range(3))
    out, whole, wide = np.zeros((9, n), dtype), np.zeros(n, np.int32), np.zeros(n)
    assert operations(out, whole, wide, a, b, c, 3) == (n // 2, n, 2 * n)
    x, y, z = a[1:], b[1:], c[1:]
    kept = np.where(np.arange(n) < 3, x, 0)
    expected = [
        x + y,
        x - y,
        x * y,
        None,
        np.floor(x),
        np.clip(x, 0, 1),
        kept,
        np.arange(n),
        np.full(n, a[3]),
    ]
    for got, value in zip(out, expected, strict=True):
        if value is not None:
            np.testing.assert_array_equal(got, value)
    exact = x.astype(np.longdouble) * y.astype(np.longdouble) + z.astype(np.longdouble)
    np.testing.assert_allclose(out[3], exact.astype(dtype), rtol=2 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(whole, np.floor(x).astype(int))
    np.testing.assert_array_equal(wide, x.astype(float))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_found_by_their_stride(dtype):
    whole = np.arange(60, dtype=dtype).reshape(5, 12)

    @njit
    def corner(matrix):
        at = 3 * stride(matrix) + 2
        prefetch(matrix, at)  # changes nothing that could be seen
        return stride(matrix), element(matrix, at)

    assert corner(whole) == (12, whole[3, 2])
    assert corner(whole[:, 4:7]) == (12, whole[3, 6])
    assert corner(whole[::-1]) == (-12, whole[1, 2])


def test_clamp_turns_nan_into_low():
    a, out = np.full(8, np.nan), np.ones(8)

    @njit
    def clamped(out, a):
        like = line(a)
        store(out, 0, clamp(load(a, 0, like), broadcast(0.0, like), broadcast(1.0, like)))

    clamped(out, a)
    assert not out.any()
