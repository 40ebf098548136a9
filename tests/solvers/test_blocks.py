import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lincat.solvers.blocks import BlockBandedLU, band_bytes


def banded(seed, n, r, below, above):
    """A block-banded matrix with a dominant diagonal, dense and as rows of transposed blocks."""
    rng = np.random.default_rng(seed)
    A = np.zeros((n * r, n * r))
    rows = np.zeros((n, (below + 1 + above) * r, r))
    for k in range(n):
        for m in range(max(k - below, 0), min(k + above, n - 1) + 1):
            block = rng.normal(size=(r, r)) / (r * (below + above + 1)) + 2.0 * (k == m) * np.eye(r)
            A[k * r : (k + 1) * r, m * r : (m + 1) * r] = block
            rows[k, (m - k + below) * r : (m - k + below + 1) * r] = block.T
    return A, rows


@given(*[st.integers(low, high) for low, high in [(0, 99), (1, 7), (1, 4), (0, 3), (0, 3), (1, 3)]])
def test_solves_as_the_dense_matrix_does(seed, n, r, below, above, m):
    A, rows = banded(seed, n, r, below, above)
    right = np.random.default_rng(seed + 1).normal(size=(m, n * r))
    found = BlockBandedLU(rows, below=below, above=above).solve(right)
    np.testing.assert_allclose(found, np.linalg.solve(A, right.T).T, atol=1e-12)


def test_float32_stays_float32():
    A, rows = banded(0, 5, 3, 1, 1)
    factors = BlockBandedLU(rows.astype(np.float32), below=1, above=1)
    right = np.ones((1, 15))
    found = factors.solve(right)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found @ A.T, right, atol=1e-5)


def test_memory_is_known_beforehand():
    _, rows = banded(0, 5, 3, 2, 1)
    assert band_bytes(5, 3, 2, 1, rows.itemsize) == rows.nbytes


def test_a_singular_block_is_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        BlockBandedLU(np.zeros((2, 3, 1)), below=1, above=1)
