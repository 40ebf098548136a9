"""Smooth features: a quadratic and bumps, apart for each combination of a few values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from tests import naive


def sample(n=400, seed=0):
    """Two numbers, a flag, a mode with three values, and a constant."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(3.0, 2.0, n),
        rng.exponential(5.0, n),
        rng.integers(0, 2, n),
        rng.choice([-1.0, 0.5, 9.0], n),
        np.full(n, 7.0),
    ]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("importance", [None, [1.0, 0.2, 1.0, 0.5, 1.0]])
def test_against_the_definition(importance):
    points, rows = sample(), sample(60, seed=1)
    smooth = lincat.Smooth(bumps=30, importance=importance).fit(points)
    assert len(smooth.combinations_) == 6
    assert smooth.n_features_ == 6 * (1 + 2 + 3) + 30
    arrays, _ = smooth._state()
    expected = naive.smooth_features(points, rows, [0, 1], [2, 3], arrays)
    np.testing.assert_allclose(smooth.transform(rows), expected, rtol=1e-10, atol=1e-12)
    assert smooth.describe() == (
        "A quadratic and 30 bumps in all, apart for each of 6 combinations of values: 66 features."
    )


def test_the_quadratic_is_exact_for_quadratics():
    points = sample()
    phi = lincat.Smooth(bumps=24).fit(points).transform(points)
    x, y, flag, mode = points[:, :4].T
    z = np.abs(points[:, :2] - points[:, :2].mean(axis=0)) / points[:, :2].std(axis=0)
    near = (z < 5.0).all(axis=1)
    target = np.where(flag > 0, 3.0 * x * y - mode * x**2, mode * y**2 + 1.0)[near]
    weights = np.linalg.lstsq(phi[near], target, rcond=None)[0]
    np.testing.assert_allclose(phi[near] @ weights, target, atol=1e-8 * np.abs(target).max())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_rows_have_features_of_their_combination_only_which_hold_a_constant(seed):
    points = sample(seed=seed)
    smooth = lincat.Smooth(bumps=24).fit(points)
    rows = sample(30, seed=seed + 1)
    phi = smooth.transform(rows)
    names = smooth.feature_names(["x", "y", "flag", "mode", "c"])
    assert len(set(names)) == smooth.n_features_
    for row, features in zip(rows, phi, strict=True):
        where = f" | flag={row[2]:.6g} | mode={row[3]:.6g}"
        assert {names[i].endswith(where) for i in np.flatnonzero(features)} == {True}
        assert features[names.index("1" + where)] == 1.0
        bumps = [i for i, name in enumerate(names) if "bump" in name and name.endswith(where)]
        assert features[bumps].sum() == pytest.approx(1.0)


def test_other_values_take_the_nearest_combination():
    points = sample()
    smooth = lincat.Smooth(bumps=24).fit(points)
    near = points[:5].copy()
    near[:, 2] += 0.2
    near[:, 3] -= 0.1
    np.testing.assert_array_equal(smooth.transform(near), smooth.transform(points[:5]))


def test_far_away_nothing_changes():
    points = sample()
    smooth = lincat.Smooth(bumps=24).fit(points)
    far = np.tile(points[0], (2, 1))
    far[:, 0] = [1e6, 1e9]
    phi = smooth.transform(far)
    np.testing.assert_array_equal(phi[0], phi[1])
    assert np.abs(phi).max() <= 25.0


def test_too_many_combinations_are_bent_over_instead():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 8, (500, 3)).astype(float)
    smooth = lincat.Smooth(bumps=40).fit(points)
    assert len(smooth.combinations_) == 1
    assert smooth.describe() == "A quadratic and 40 bumps: 50 features."
    assert "a*b" in smooth.feature_names(["a", "b", "c"])


def test_only_flags_make_a_table():
    points = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]] * 5)
    smooth = lincat.Smooth().fit(points)
    np.testing.assert_array_equal(smooth.transform([[0, 1], [1, 0], [1, 1]]), np.eye(3))


def test_many_coordinates_have_no_products():
    points = np.random.default_rng(0).normal(size=(300, 9))
    assert lincat.Smooth(bumps=20).fit(points).n_features_ == 1 + 9 + 20


def test_a_constant_sample_has_a_constant_feature():
    smooth = lincat.Smooth().fit(np.full((5, 2), 3.0))
    np.testing.assert_array_equal(smooth.transform([[3.0, 3.0], [9.0, 9.0]]), [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bumps": 0}, "bumps: expected an integer of at least 1"),
        ({"few_values": -1}, "few_values: expected an integer of at least 0"),
        ({"importance": [2.0] * 5}, "importance: expected numbers from 0.001 to 1"),
        ({"seed": -1}, "seed: expected an integer of at least 0"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Smooth(**options).fit(sample())


def test_bad_rows_are_named():
    smooth = lincat.Smooth(bumps=24).fit(sample())
    rows = sample(4)
    rows[2, 1] = np.nan
    with pytest.raises(lincat.InvalidInputError, match="nan"):
        smooth.transform(rows)


def test_files_of_before_know_no_importance():
    smooth = lincat.Smooth(bumps=30).fit(sample())
    arrays, _ = smooth._state()
    del arrays["importance"]
    older = lincat.Smooth(bumps=30)
    older._restore(arrays, {})
    np.testing.assert_array_equal(older.transform(sample(9)), smooth.transform(sample(9)))
