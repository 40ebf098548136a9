"""Padded, aligned memory."""

import numpy as np
import pytest

from lincat.kernels.layout import (
    PAD,
    aligned_zeros,
    group_size,
    padded_zeros,
    paired_zeros,
    parameters_and_sums,
    work_rows,
)


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 30), (7, 51), (0, 5)])
def test_paired_rows_lie_side_by_side_and_do_not_overlap(rows, columns, dtype):
    Theta, U = paired_zeros(rows, columns, dtype)
    assert Theta.shape == padded_zeros(rows, columns, dtype).shape
    assert U.shape == padded_zeros(rows, columns).shape
    assert (Theta.dtype, U.dtype) == (dtype, np.float64)
    Theta[:], U[:] = 1.0, 2.0
    assert (Theta == 1.0).all()
    assert (U == 2.0).all()
    for i in range(rows):
        assert Theta[i].ctypes.data % 64 == 0
        assert U[i].ctypes.data == Theta[i].ctypes.data + Theta[i].nbytes


@pytest.mark.parametrize("paired", [False, True])
def test_parameters_and_sums(paired):
    Theta, U = parameters_and_sums(7, 51, np.float32, averaging=True, paired=paired)
    assert (Theta.dtype, U.dtype) == (np.float32, np.float64)
    assert Theta.flags.c_contiguous is not paired
    Theta, U = parameters_and_sums(7, 51, np.float32, averaging=False, paired=paired)
    assert Theta.shape == (7, 64)
    assert U.size == 0


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


@pytest.mark.parametrize(
    ("columns", "expected"), [(8, 64), (64, 64), (128, 32), (200, 16), (10_000, 8)]
)
def test_groups_of_outer_products_fit_the_cache(columns, expected):
    assert group_size(padded_zeros(1, columns)) == expected
