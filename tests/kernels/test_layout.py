"""Padded, aligned memory."""

import numpy as np
import pytest

from lincat.kernels.layout import PAD, aligned_zeros, group_size, padded_zeros, work_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 8), (3, 30), (7, 51), (0, 5)])
def test_rows_are_whole_cache_lines(rows, columns, dtype):
    matrix = padded_zeros(rows, columns, dtype)
    assert matrix.dtype == dtype
    assert matrix.shape[0] == rows
    assert columns <= matrix.shape[1] < columns + 64 // matrix.itemsize
    assert matrix.shape[1] * matrix.itemsize % 64 == 0
    assert rows == 0 or matrix.ctypes.data % 64 == 0
    assert matrix.flags.c_contiguous
    assert not matrix.any()


@pytest.mark.parametrize("size", [1, 17, 1000])
def test_compiled_zeros_are_aligned(size):
    memory = aligned_zeros(size, np.float64)
    assert memory.shape == (size,)
    assert memory.ctypes.data % 64 == 0


def test_the_offset_is_the_uniform_cdf_and_one_above():
    work = work_rows(padded_zeros(2, 5), 5, True, 3)
    np.testing.assert_allclose(work.offset, [1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1, 1, 1])
    assert not work.ahead[: PAD + 8].any()  # rows come later; zeros below the grid
    assert (work.ahead[PAD + 8 :] == 1.0).all()
    assert work.error.shape == (3, 8)
    assert not work_rows(padded_zeros(2, 5), 4, False, 1).offset.any()


@pytest.mark.parametrize(("columns", "expected"), [(8, 32), (128, 32), (200, 16), (10_000, 8)])
def test_groups_of_outer_products_fit_the_cache(columns, expected):
    assert group_size(padded_zeros(1, columns)) == expected
