"""Features as steps of scikit-learn's pipelines."""

import warnings

import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat import InvalidInputError

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402 - after the skip
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

X = np.random.default_rng(0).normal(size=(60, 2))

_EXPECTED = {
    "check_fit1d": "observations of one number each may come as (n,)",
    "check_dtype_object": "an observation that is no number is a ValueError here, not a TypeError",
}
_OF_IDS = "ids are names: anything that can be told apart, of any shape, is one"
_EXPECTED_OF_IDS = dict.fromkeys(
    [
        "check_complex_data",
        "check_estimators_empty_data_messages",
        "check_estimators_nan_inf",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_transformer_data_not_an_array",
        "check_fit2d_predict1d",
    ],
    _OF_IDS,
)


def _expected(features):
    ids = isinstance(features, lincat.Tabular)
    return _EXPECTED | _EXPECTED_OF_IDS if ids else _EXPECTED


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a base class: theirs would have to be imported for all
    CHECKS = parametrize_with_checks(
        [
            lincat.Fourier(order=1),
            lincat.Identity(),
            lincat.Points(),
            lincat.RadialBasis(),
            lincat.Scaling(),
            lincat.Smooth(),
            lincat.Tabular(),
            lincat.Tiles(tilings=2, bins=2, size=1000),
        ],
        expected_failed_checks=_expected,
    )


@CHECKS
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_features_go_into_a_pipeline():
    y = X @ [1.0, -2.0]
    steps = make_pipeline(StandardScaler(), lincat.Fourier(order=4), LinearRegression())
    by_hand = lincat.Fourier(order=4).fit(StandardScaler().fit_transform(X))
    expected = LinearRegression().fit(by_hand.transform(StandardScaler().fit_transform(X)), y)
    np.testing.assert_allclose(
        steps.fit(X, y).predict(X),
        expected.predict(by_hand.transform(StandardScaler().fit_transform(X))),
    )
    assert clone(steps).get_params()["fourier__order"] == 4


def test_a_pipeline_that_ends_with_features_makes_features():
    steps = make_pipeline(StandardScaler(), lincat.Tiles(tilings=4, bins=4))
    assert scipy.sparse.issparse(steps.fit_transform(X))
    features = lincat.FromTransformer(steps).fit(X)
    assert features.transform(X).shape == (60, features.n_features_)


def test_names_come_from_frames_and_go_into_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["speed", "mass"], index=range(5, 65))
    scaling = lincat.Scaling().set_output(transform="pandas").fit(frame)
    names = list(scaling.get_feature_names_out())
    assert names == scaling.feature_names(["speed", "mass"])
    made = scaling.transform(frame)
    assert list(made.columns) == names
    assert list(made.index) == list(frame.index)
    np.testing.assert_array_equal(made, lincat.Scaling().fit(X).transform(X))
    with pytest.raises(InvalidInputError, match="feature names should match"):
        scaling.transform(frame[["mass", "speed"]])
    parts = ColumnTransformer([("f", lincat.Fourier(order=1), ["mass"])])
    assert parts.fit(frame).transform(frame).shape == (60, 2)


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X, schema=["speed", "mass"])
    made = lincat.Fourier(order=1).set_output(transform="polars").fit_transform(frame)
    assert isinstance(made, polars.DataFrame)
    np.testing.assert_array_equal(made.to_numpy(), lincat.Fourier(order=1).fit_transform(X))


@pytest.mark.parametrize("features", [lincat.Tiles(bins=2), lincat.Points()])
def test_what_cannot_be_a_frame_says_so(features):
    with pytest.raises(InvalidInputError, match="set_output: expected dense features"):
        features.set_output(transform="pandas").fit_transform(np.round(X))
    with pytest.raises(InvalidInputError, match="transform: expected one of 'default'"):
        features.set_output(transform="excel")
