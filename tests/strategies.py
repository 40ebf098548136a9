"""Hypothesis strategies for lincat's objects."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat


def finite_floats(low, high):
    return st.floats(low, high, allow_nan=False, allow_infinity=False, width=64)


@st.composite
def grids(draw, max_intervals=24):
    """Grids anywhere on the line, narrow or wide."""
    low = draw(finite_floats(-1e3, 1e3))
    width = draw(finite_floats(1e-2, 1e3))
    return lincat.Grid(low, low + width, draw(st.integers(1, max_intervals)))


def signed_cdfs(n, K):
    return arrays(np.float64, (n, K), elements=finite_floats(-1.0, 2.0))


@st.composite
def proper_pmfs(draw, n, K):
    raw = draw(arrays(np.float64, (n, K + 1), elements=finite_floats(0.0, 1.0)))
    raw = raw + 1e-3
    return raw / raw.sum(axis=1, keepdims=True)


@st.composite
def processes(draw, max_states=5):
    """A random ergodic process with random rewards in [0, 1], as a seed for NumPy."""
    return lincat.catalog.random_process(
        draw(st.integers(1, max_states)),
        branching=draw(st.integers(1, 3)),
        gamma=draw(finite_floats(0.0, 0.95)),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
