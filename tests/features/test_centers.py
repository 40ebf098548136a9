"""Centres of bumps: k-means++, and how far apart they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lincat.features.centers import spacing_of, spread_centers
from lincat.kernels import centers as kernels
from tests import naive


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4), st.integers(1, 12))
def test_against_every_distance(seed, n, m, count):
    sample = np.random.default_rng(seed).normal(size=(n, m))
    found = spread_centers(sample, count, np.random.default_rng(seed))
    expected = naive.spread_centers(sample, count, np.random.default_rng(seed))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)
    assert found.shape == (min(n, count), m)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 50), st.integers(1, 8))
def test_no_more_than_there_are_points(seed, n, count):
    sample = np.random.default_rng(seed).integers(0, 3, (n, 1)).astype(float)
    different = len(np.unique(sample))
    found = spread_centers(sample, count, np.random.default_rng(seed))
    assert len(found) == min(different, count)
    if count >= different:
        np.testing.assert_array_equal(np.sort(found, axis=0), np.unique(sample)[:, None])


def test_the_layout_of_a_sample_changes_nothing():
    sample = np.random.default_rng(0).normal(size=(80, 3))
    across = np.asfortranarray(sample)
    one, same = (spread_centers(x, 7, np.random.default_rng(1)) for x in (sample, across))
    np.testing.assert_array_equal(one, same)


def test_the_first_of_several_is_the_nearest():
    nearest = np.full(3, -1)
    points, centers = np.array([[0.0], [1.0], [5.0]]), np.array([[2.0], [0.0], [2.0]])
    kernels.nearest_centers(nearest, points, centers)
    np.testing.assert_array_equal(nearest, [1, 0, 0])


@pytest.mark.parametrize(
    ("chance", "expected"), [(0.0, 1.0), (0.19, 1.0), (0.21, 2.0), (0.999, 2.0)]
)
def test_chances_are_as_squared_distances(chance, expected):
    centers = np.zeros((2, 1))  # of 1 and 2 seen from 0: 1/5 and 4/5
    points = np.array([[0.0], [1.0], [2.0]])
    assert kernels.draw_centers(centers, points, 0, np.array([chance])) == 2
    assert centers[1, 0] == expected


def test_distances_that_overflow_still_give_centers():
    points = np.array([[0.0], [1e200], [3e200]])
    centers = np.zeros((2, 1))
    assert kernels.draw_centers(centers, points, 0, np.array([0.5])) == 2
    assert centers[1, 0] in points[1:]


def test_spacing():
    assert spacing_of(np.array([[0.0], [1.0], [4.0]])) == 1.0
    assert spacing_of(np.zeros((1, 2))) == 1.0
