"""Nearby features: narrow bumps, of which each observation has a few."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from tests import naive


def sample(n=300, m=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m)) * np.arange(1, m + 1) - 2.0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 40), st.integers(1, 12))
def test_against_the_definition(seed, m, bumps, neighbours):
    rng = np.random.default_rng(seed)
    importance = rng.uniform(0.1, 1.0, m)
    points, rows = sample(m=m, seed=seed), sample(20, m=m, seed=seed + 1)
    nearby = lincat.Nearby(bumps=bumps, neighbours=neighbours, importance=importance).fit(points)
    arrays, _ = nearby._state()
    expected = naive.nearby_features(points, rows, importance, neighbours, arrays)
    found = nearby.transform(rows)
    assert scipy.sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_bumps_sum_to_one_and_vary_smoothly(seed):
    nearby = lincat.Nearby(bumps=60, neighbours=6).fit(sample(seed=seed))
    rng = np.random.default_rng(seed)
    begin, end = sample(2, seed=seed + 1)
    path = begin + np.linspace(0.0, 1.0, 4000)[:, None] * (end - begin)
    phi = nearby.transform(path).toarray()[:, 6:]
    np.testing.assert_allclose(phi.sum(axis=1), 1.0)
    assert ((phi > 0.0).sum(axis=1) <= 6).all()
    # No jump, wherever one centre takes the place of another.
    assert np.abs(np.diff(phi, axis=0)).max() < 0.05
    one = rng.integers(len(path))
    np.testing.assert_array_equal(
        nearby.transform(path[one : one + 1]).toarray()[:, 6:], phi[[one]]
    )


def test_sharp_functions_take_many_narrow_bumps():
    points = np.random.default_rng(0).uniform(size=(4000, 2))
    target = np.tanh(30.0 * (points[:, 0] - points[:, 1]))
    errors = []
    for features in (lincat.Smooth(bumps=60), lincat.Nearby(bumps=600, neighbours=16)):
        phi = features.fit(points).transform(points)
        phi = phi.toarray() if scipy.sparse.issparse(phi) else phi
        weights = np.linalg.lstsq(phi[:3000], target[:3000], rcond=None)[0]
        errors.append(np.sqrt(np.mean((phi[3000:] @ weights - target[3000:]) ** 2)))
    assert errors[1] < 0.4 * errors[0]


def test_the_quadratic_is_exact_for_quadratics():
    points = sample(m=3)
    phi = lincat.Nearby(bumps=20).fit(points).transform(points).toarray()
    target = 2.0 * points[:, 0] * points[:, 1] - points[:, 2] ** 2 + points[:, 0]
    weights = np.linalg.lstsq(phi[:, :10], target, rcond=None)[0]
    np.testing.assert_allclose(phi[:, :10] @ weights, target, atol=1e-9)


def test_far_away_nothing_changes():
    nearby = lincat.Nearby(bumps=40).fit(sample())
    far = nearby.transform([[1e6, 0.0], [1e9, 0.0]]).toarray()
    np.testing.assert_array_equal(far[0], far[1])


def test_fewer_points_than_bumps_or_neighbours():
    nearby = lincat.Nearby(bumps=30, neighbours=10).fit([[0.0], [1.0], [1.0]])
    assert nearby.n_features_ == 3 + 2
    np.testing.assert_allclose(nearby.transform([[0.0], [0.5]]).toarray()[:, 3:].sum(axis=1), 1.0)
    same = lincat.Nearby().fit(np.full((5, 2), 3.0))
    np.testing.assert_array_equal(same.transform([[9.0, 9.0]]).toarray()[0, [0, -1]], [1.0, 1.0])


def test_what_counts_less_is_told_apart_by_less():
    points = np.random.default_rng(0).uniform(size=(2000, 2))
    alike, one = (
        lincat.Nearby(bumps=50, neighbours=8, importance=x).fit(points) for x in (None, [1.0, 0.05])
    )
    ends = np.array([[0.5, 0.2], [0.5, 0.8]])
    far, near = (
        np.abs(np.diff(x.transform(ends).toarray()[:, 6:], axis=0)).sum() for x in (alike, one)
    )
    assert far == pytest.approx(2.0)  # they share no bump
    assert near < 0.6 * far


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bumps": 0}, "bumps: expected an integer of at least 1"),
        ({"neighbours": 0}, "neighbours: expected an integer of at least 1"),
        ({"seed": -1}, "seed: expected an integer of at least 0"),
        ({"importance": [1.0]}, r"importance: expected .*shape \(2\)"),
        ({"importance": [0.0, 1.0]}, "importance: expected numbers from 0.001 to 1"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Nearby(**options).fit(sample())
