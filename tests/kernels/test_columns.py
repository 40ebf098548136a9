import numpy as np
import pytest

from lincat.kernels.columns import columns_to_rows, differing_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [1, 3, 4, 7, 16])
@pytest.mark.parametrize("n", [1, 63, 64, 200])
def test_columns_become_rows(dtype, m, n):
    columns = [np.random.default_rng(j).normal(size=n).astype(dtype) for j in range(m)]
    addresses = np.array([column.ctypes.data for column in columns])
    out = np.empty((n, m), dtype=dtype)
    assert columns_to_rows(out, addresses)
    np.testing.assert_array_equal(out, np.stack(columns, axis=1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 3, 4])
def test_a_number_that_is_not_finite_is_seen(bad, place):
    columns = np.zeros((5, 70))
    columns[place, 69] = bad
    columns[1] = 1e308  # large, but finite
    out = np.empty((70, 5))
    assert not columns_to_rows(out, np.array([column.ctypes.data for column in columns]))
    np.testing.assert_array_equal(out, columns.T)


def test_differing_rows():
    left = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    right = np.array([[0.0, 1.0], [2.0, 3.5], [4.5, 5.0]])
    out = np.zeros(3, dtype=bool)
    differing_rows(out, left, right)
    np.testing.assert_array_equal(out, [False, True, True])
