import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat


def vectors(m, order, coupling):
    """All c in {0 .. order}^m with at most `coupling` non-zero entries."""
    every = itertools.product(range(order + 1), repeat=m)
    return {c for c in every if sum(n > 0 for n in c) <= coupling}


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([20, 60, 1000]),
    arrays(np.float64, (3, 4), elements=st.floats(-0.5, 1.5)),
)
def test_features_are_cosines(m, order, most, x):
    features = lincat.Fourier(order=order, max_terms=most, low=0.0, high=1.0).fit(x[:, :m])
    phi = features.transform(x[:, :m])
    c = features.coefficients_
    expected = np.cos(np.pi * np.clip(x[:, :m], 0.0, 1.0) @ c.T) / math.sqrt(len(c))
    np.testing.assert_allclose(phi, expected, atol=1e-14)
    assert {tuple(row) for row in c.tolist()} == vectors(m, order, features.coupling_)
    assert len(c) == len({tuple(row) for row in c.tolist()}) == features.n_features_ <= most
    if features.coupling_ < m:
        assert len(vectors(m, order, features.coupling_ + 1)) > most
    assert (np.linalg.norm(phi, axis=1) <= 1.0 + 1e-12).all()


def test_known_answer_in_one_dimension():
    features = lincat.Fourier(order=2, low=-1.0, high=3.0).fit([0.0])
    expected = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 1.0]]) / math.sqrt(3)
    np.testing.assert_allclose(features.transform([-1.0, 1.0, 3.0]), expected, atol=1e-16)


def test_high_orders_stay_exact():
    features = lincat.Fourier(order=300, low=0.0, high=1.0).fit([0.0])
    x = np.linspace(0.0, 1.0, 50)
    expected = np.cos(np.pi * np.outer(x, np.arange(301))) / math.sqrt(301)
    np.testing.assert_allclose(features.transform(x), expected, atol=1e-14)


def test_names_and_description():
    features = lincat.Fourier(order=2, max_terms=12).fit(np.eye(3))
    assert features.describe() == (
        "A Fourier basis of order 2, at most 1 of 3 coordinates at once: 7 features."
    )
    assert features.feature_names(["a", "b", "c"])[:4] == ["1", "cos π(c)", "cos π(b)", "cos π(a)"]
    assert features.feature_names()[-1] == "cos π(2x0)"
    with pytest.raises(lincat.InvalidInputError, match="inputs: expected 3 names"):
        features.feature_names(["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "order: expected an integer of at least 1"),
        ({"max_terms": "all"}, "max_terms: expected an integer"),
        (
            {"max_terms": 6},
            "max_terms: expected at least 7 for order 3 with 2 coord.*lower the order",
        ),
        ({"order": 10**6, "max_terms": 10**8}, "max_terms: expected at least"),
        ({"low": 2.0, "high": 1.0}, "low: expected finite bounds"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Fourier(**options).fit([[0.0, 0.0], [1.0, 1.0]])
