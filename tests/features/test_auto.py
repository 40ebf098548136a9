import numpy as np
import pytest

import lincat
from lincat.features.auto import FEATURE_NAMES, features_from_name
from tests.features.cases import points


def test_few_coordinates_get_tiles():
    features, reason = lincat.choose_features(points(500, 4))
    assert isinstance(features, lincat.Tiles)
    assert features.n_features_ == 32_768
    assert reason.startswith(
        "4 numbers per observation: tile coding with 8 tilings of 8 x 8 x 8 x 8"
    )
    assert "32,768 features" in reason
    assert '"fourier"' in reason
    one, reason = lincat.choose_features(points(500, 1)[:, 0])
    assert one.n_features_ == 64
    assert reason.startswith("1 number per observation: ")


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6])
def test_tiles_are_never_too_many(m):
    features, reason = lincat.choose_features(points(300, m))
    assert not features.hashed_
    assert 64 <= features.n_features_ <= 65_536
    assert f"{features.n_features_:,} features" in reason


def test_coordinates_with_few_values_get_few_bins():
    rows = points(300, 4)
    rows[:, 1] = rows[:, 1] > 5.0
    rows[:, 2] = 7.0
    features, reason = lincat.choose_features(rows)
    assert features.bins_.tolist() == [8, 2, 1, 8]
    assert reason.startswith("4 numbers per observation, of which 3 vary: ")
    # Every tiling tells the two values apart.
    apart = features.transform([[5.0, 0.0, 7.0, 5.0], [5.0, 1.0, 7.0, 5.0]])
    assert (apart[[0]] @ apart[[1]].T).nnz == 0


def test_many_coordinates_get_scaled():
    features, reason = lincat.choose_features(points(100, 16))
    assert isinstance(features, lincat.Scaling)
    assert features.n_features_ == 17
    assert '"rbf"' in reason


def test_a_sample_without_variation_is_reported():
    features, reason = lincat.choose_features(np.ones((10, 2)))
    assert isinstance(features, lincat.Scaling)
    assert "the same in all 10 observations" in reason


@pytest.mark.parametrize(
    "sample",
    [
        np.array([3, 1, 3]),
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], dtype=object),
        [("a", 1), ("b",), ("a", 1)],
        np.array([["a", 1], ["b", 2], ["a", 1]], dtype=object),
    ],
)
def test_ids_get_a_table(sample):
    features, reason = lincat.choose_features(sample)
    assert isinstance(features, lincat.Tabular)
    assert features.transform(sample).tolist() == [0, 1, 0]
    assert reason.startswith("ids, 2 different ones among the first 3: a table")
    assert "once" not in reason


def test_ids_that_never_come_back_are_reported():
    _, reason = lincat.choose_features(np.arange(200))
    assert "most came once only" in reason


def test_numbered_states_get_a_table_of_their_size():
    features, reason = lincat.choose_features(np.array([0, 5]), n_states=16)
    assert features.n_features_ == 16
    assert reason.startswith("16 numbered states: a table")


def test_bounds_are_used_where_the_sample_fills_half():
    rows = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    features, _ = lincat.choose_features(rows, low=[-0.5, -4.8, -3.4e38], high=[1.5, 4.8, np.inf])
    np.testing.assert_allclose(features.low_, [-0.5, -0.05, -0.05])
    np.testing.assert_allclose(features.high_, [1.5, 1.05, 1.05])
    with pytest.raises(lincat.InvalidInputError, match="low: expected 3 bounds"):
        lincat.choose_features(rows, low=[0.0, 0.0])


def test_bad_samples_are_refused():
    with pytest.raises(lincat.InvalidInputError, match=r"got nan at \(0, 1\)"):
        lincat.choose_features([[0.0, np.nan]])
    with pytest.raises(lincat.InvalidInputError, match="at least one observation"):
        lincat.choose_features(np.zeros((0, 3)))


# ------------------------------------------------------------------------------------- names


def test_names_give_features():
    points = ("tiles", "fourier", "rbf", "smooth", "nearby", "mixed", "points", "scaling")
    assert FEATURE_NAMES == ("auto", "tabular", *points, "identity")
    for name in FEATURE_NAMES[1:]:
        assert features_from_name(name).kind == name
    assert features_from_name("auto") is None
    by_name = features_from_name("sklearn.preprocessing:StandardScaler")
    assert isinstance(by_name, lincat.FromTransformer)


def test_options_are_read_from_text():
    options = {"tilings": "4", "bins": "8,2", "low": "-1.5", "high": [1.0, 2.0], "size": None}
    features = features_from_name("tiles", options)
    assert features.get_params() == {
        "tilings": 4,
        "bins": [8, 2],
        "low": -1.5,
        "high": [1.0, 2.0],
        "size": None,
    }
    assert features_from_name("scaling", {"intercept": "false"}).intercept is False
    assert features_from_name("rbf", {"width": "auto"}).width == "auto"


def test_state_numbers_reach_the_table():
    assert features_from_name("tabular", n_states=7).n_states == 7
    assert features_from_name("tabular", {"capacity": 9}, n_states=7).n_states is None
    assert features_from_name("scaling", n_states=7).get_params()["intercept"] is True


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tils", {}, "features: expected one of auto, tabular, .*'tils'; did you mean tiles?"),
        ("zzz", {}, "or module:name, got 'zzz'$"),
        ("tiles", {"bin": 3}, "option of tiles features: expected one of tilings, bins, .*'bin'"),
        ("identity", {"bins": 3}, "option of identity features: expected none, got 'bins'"),
        ("auto", {"bins": 3}, "option of auto features: expected none, got 'bins'"),
        ("a:b", {"bins": 3}, "option of a:b features: expected none"),
    ],
)
def test_unknown_names_and_options_are_refused(name, options, message):
    with pytest.raises(lincat.InvalidInputError, match=message) as error:
        features_from_name(name, options)
    assert "\n" not in str(error.value)
