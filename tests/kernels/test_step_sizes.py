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
    st.just(0.0) | st.floats(1e-6, 1e6),
    st.floats(1e-3, 1e3),
    st.integers(0, 10**9),
    st.integers(0, 10**6),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1e6),
    st.floats(1.0, 1e6),
    st.just(0.0) | st.floats(1.0, 1e9),
)
def test_automatic_steps_are_the_formula(
    largest, ended, curvature, done, before, start, floor, span, hold
):
    largest = np.array(largest)
    out = np.full(len(largest), np.nan)
    args = (np.full(len(largest), ended), curvature, done, before, start, floor, span, hold)
    kernels.step_sizes.auto_steps(out, largest, *args)
    for t, (step, R) in enumerate(zip(out, largest, strict=True), start=done):
        expected = 0.0
        if R > 0.0:
            tau = max(floor + span * R * (t + 1) / ended, hold * R) if ended > 0.0 else np.inf
            expected = start * (1.0 + (before + t) / tau) ** -0.75 / (R * curvature)
        assert step == pytest.approx(expected, rel=1e-13)
