import math

import numpy as np
import pytest

import lincat


def naive(features, sample, rows, normalised):
    """Bumps around the centres, from the definition; plain ones with the sample's largest norm."""
    mean, deviation = sample.mean(axis=0), sample.std(axis=0)

    def bumps(x):
        z = [(a - b) / c if c > 0 else 0.0 for a, b, c in zip(x, mean, deviation, strict=True)]
        squared = [sum((a - b) ** 2 for a, b in zip(z, c, strict=True)) for c in features.centers_]
        g = [math.exp(-s / (2.0 * features.width_**2)) for s in squared]
        return np.array(g) / sum(g) if normalised else np.array([*g, 1.0])

    phi = np.array([bumps(x) for x in rows])
    if normalised:
        return phi
    phi /= max(np.linalg.norm(bumps(x)) for x in sample)
    return phi / np.maximum(1.0, np.linalg.norm(phi, axis=1, keepdims=True))


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("m", [1, 3])
def test_against_the_definition(normalised, m):
    rng = np.random.default_rng(0)
    sample, rows = rng.normal(2.0, 3.0, (200, m)), rng.normal(2.0, 4.0, (50, m))
    features = lincat.RadialBasis(centers=9, normalised=normalised).fit(sample)
    assert features.n_features_ == 9 + (not normalised)
    expected = naive(features, sample, rows, normalised)
    np.testing.assert_allclose(features.transform(rows), expected, rtol=1e-10, atol=1e-14)


def test_centres_are_where_the_sample_is():
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 20.0], [10.0, 20.0]])
    sample = places[rng.integers(4, size=400)] + rng.normal(size=(400, 2)) * 0.01
    features = lincat.RadialBasis(centers=4).fit(sample)
    found = features.centers_ * sample.std(axis=0) + sample.mean(axis=0)
    for place in places:
        assert np.linalg.norm(found - place, axis=1).min() < 0.01
    nearest = [np.sort(np.linalg.norm(features.centers_ - c, axis=1))[1] for c in features.centers_]
    assert features.width_ == pytest.approx(np.median(nearest))
    assert features.transform(places).argmax(axis=1).tolist() != [0, 0, 0, 0]


def test_far_away_the_nearest_centre_counts():
    features = lincat.RadialBasis(centers=3, width=0.01).fit([[0.0], [1.0], [2.0]])
    phi = features.transform([[-1e5], [1e5]])
    np.testing.assert_allclose(phi.max(axis=1), 1.0)
    np.testing.assert_allclose(phi.sum(axis=1), 1.0)


def test_few_different_observations_give_few_centres():
    features = lincat.RadialBasis(centers=100).fit([[0.0], [1.0], [1.0], [0.0]])
    assert features.n_features_ == 2
    alone = lincat.RadialBasis().fit([[4.0, 4.0]] * 3)
    np.testing.assert_array_equal(alone.transform([[1.0, 9.0]]), [[1.0]])


def test_the_seed_settles_the_centres():
    sample = np.random.default_rng(0).normal(size=(12_000, 2))
    one, same, other = (lincat.RadialBasis(centers=5, seed=s).fit(sample) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.centers_, same.centers_)
    assert (one.centers_ != other.centers_).any()


def test_names_are_places():
    features = lincat.RadialBasis(centers=2, normalised=False).fit([[0.0, 5.0], [1.0, 5.0]])
    names = features.feature_names(["speed", "mass"])
    assert sorted(names) == ["intercept", "near speed=0, mass=5", "near speed=1, mass=5"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"centers": 0}, "centers: expected an integer of at least 1"),
        ({"width": "wide"}, "width: expected a finite number"),
        ({"width": 0.0}, "width: expected a finite number"),
        ({"normalised": 3}, "normalised: expected True or False"),
        ({"seed": -1}, "seed: expected an integer of at least 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.RadialBasis(**options).fit([[0.0], [1.0]])


def test_numbers_too_large_to_square_are_named():
    features = lincat.RadialBasis().fit([[0.0], [1.0]])
    with pytest.raises(lincat.InvalidInputError, match=r"order of size, got 1e\+300 at \(1, 0\)"):
        features.transform([[0.0], [1e300]])
