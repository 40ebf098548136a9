"""The vector form of F(s) − target against the plain one, at every discount."""

import numpy as np
import pytest
from numba import njit

from lincat.kernels.bellman import error_by_sources
from lincat.kernels.blocks import cdf_error
from lincat.kernels.layout import PAD, padded_zeros, work_rows


@njit
def both(work, rho, delta, scale, K):
    """The error rows of the two forms, and their squared norms."""
    cdf_error(work, 0, rho, delta, scale, K)
    squares = work.squares.sum()
    error_by_sources(work, 1, rho, delta, scale, K)
    return squares, work.squares.sum()


# Around each change of the number of cells that a block reads: 3, 4, ..., 16, then scalars.
DELTAS = sorted({0.0, 1e-3, 0.2, 0.21, 2 / 9, 4 / 11, 0.5, 0.6, 0.79, 0.8, 0.81, 8 / 9, 0.9, 1.0})


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 4e-6)])
@pytest.mark.parametrize("K", [1, 4, 7, 30, 201])
def test_equals_the_plain_form(dtype, tolerance, K):
    rng = np.random.default_rng(K)
    work = work_rows(padded_zeros(1, K, dtype), K, True, 2)
    for delta in DELTAS:
        for share in (-1.2, -0.3, 0.0, 0.37, 1.0, 1.2):
            rho = min(max(share * K * (1.0 - 0.5 * delta), -K - 1.0), K + 1.0)
            work.row[:K] = rng.normal(size=K)
            work.ahead[PAD : PAD + K] = rng.normal(size=K)
            work.ahead[PAD + K :] = 1.0
            squares, plain_squares = both(work, rho, delta, -0.7, K)
            np.testing.assert_allclose(work.error[0], work.error[1], rtol=0, atol=tolerance)
            assert squares == pytest.approx(float(plain_squares), rel=1e3 * tolerance, abs=1e-12)
            assert not work.error[0, K:].any()


@pytest.mark.parametrize("delta", [0.0, 0.25, 0.6, 0.9])
@pytest.mark.parametrize("field", ["rho", "delta"])
def test_a_nan_reaches_every_column(delta, field):
    work = work_rows(padded_zeros(1, 30), 30, True, 2)
    arguments = {"rho": 1.0, "delta": delta, field: np.nan}
    both(work, arguments["rho"], arguments["delta"], -1.0, 30)
    assert np.isnan(work.error[:, :30]).all()
