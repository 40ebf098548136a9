import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lincat import kernels


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_norms_are_sums_of_squares(dtype):
    rows = np.random.default_rng(0).normal(size=(9, 19)).astype(dtype)
    out = np.empty(9)
    kernels.step_sizes.squared_norms(out, rows)
    np.testing.assert_allclose(out, (rows.astype(float) ** 2).sum(axis=1), rtol=1e-14)


@given(
    st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=1, max_size=20),
    st.floats(1e-3, 1e3),
    st.integers(0, 10**9),
    st.floats(1.0, 1e6),
)
def test_automatic_steps_are_the_formula(largest, curvature, done, tau):
    largest = np.array(largest)
    out = np.full(len(largest), np.nan)
    kernels.step_sizes.auto_steps(out, largest, curvature, done, tau)
    for i, R in enumerate(largest):
        expected = (1 + (done + i) / tau) ** -0.6 / (4 * R * curvature) if R > 0 else 0.0
        assert out[i] == pytest.approx(expected, rel=1e-14)
