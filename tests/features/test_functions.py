"""Functions that are linear in features, a few rows at a time."""

import numpy as np
import pytest

import lincat
from lincat.features.functions import chunks, function_values


@pytest.mark.parametrize("n", [0, 1, 2048, 5000])
@pytest.mark.parametrize("features", [lincat.Fourier(order=2), lincat.Tiles(tilings=2, bins=3)])
def test_values_are_the_products_of_all_rows(n, features):
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(n, 2))
    fitted = features.clone().fit(rng.uniform(size=(100, 2)))
    weights = rng.normal(size=fitted.n_features_)
    expected = fitted.transform(points) @ weights
    np.testing.assert_allclose(function_values(fitted, weights, points), expected, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 9])
def test_chunks_are_the_rows_in_order(n):
    rows = np.arange(n)
    parts = chunks(rows, 4)
    np.testing.assert_array_equal(np.concatenate(parts), rows)
    assert all(0 < len(part) <= 4 for part in parts) or n == 0
    listed = [1, 2, 3, 4, 5]
    assert chunks(listed, 4) == [listed]
