"""Texts and numbers together, against one-hot columns written out by hand."""

import numpy as np
import pytest

import lincat
from lincat.data.mixed import mixed_of
from lincat.features.auto import choose_features
from tests.features.cases import frames


def column(features, name):
    return features.feature_names().index(name)


def test_texts_that_are_not_kept_apart_are_one_hot_and_rare_ones_share_a_place():
    sample = frames(400)
    features = lincat.Mixed(bumps=4, rare=20).fit(sample)
    assert features.apart_ == []
    phi = features.transform(sample)
    assert phi.shape == (400, features.n_features_) == (400, len(features.feature_names()))
    counts = {x: int((sample["site"] == x).sum()) for x in ("north", "south", "rare 0")}
    for name, n in counts.items():
        if n >= 20:
            values = phi[:, column(features, f"site={name}")]
            np.testing.assert_array_equal(values, sample["site"] == name)
    np.testing.assert_array_equal(
        phi[:, column(features, "site=missing")], np.equal(sample["site"], None)
    )
    kept = [x.removeprefix("site=") for x in features.feature_names() if x.startswith("site=")]
    rare = [x is not None and x not in kept for x in sample["site"]]
    assert 0 < sum(rare) < 100
    np.testing.assert_array_equal(phi[:, column(features, "site=others")], rare)


def test_missing_numbers_get_their_mean_and_an_indicator():
    sample = frames(400)
    features = lincat.Mixed(bumps=4).fit(sample)
    missing = np.isnan(sample["load"])
    phi = features.transform(sample)
    np.testing.assert_array_equal(phi[:, column(features, "load=missing")], missing)
    filled = np.where(missing, np.nanmean(sample["load"]), sample["load"])
    shift, spread = filled.mean(), filled.std()
    z = (filled - shift) / spread
    np.testing.assert_allclose(phi[:, column(features, "load")], z, atol=1e-12)
    product = phi[:, column(features, "site=south*load")]
    np.testing.assert_allclose(product, (sample["site"] == "south") * z, atol=1e-12)


def test_combinations_that_there_are_bumps_for_are_kept_apart():
    sample = frames(600)
    features = lincat.Mixed(bumps=200, rare=40).fit(sample)
    assert features.apart_ == ["site", "mode"]
    phi = features.transform(sample)
    on = {}
    for i, (site, mode) in enumerate(zip(sample["site"], sample["mode"], strict=True)):
        if site in ("north", "south"):
            on.setdefault((site, mode), set()).update(np.flatnonzero(phi[i, :-2]).tolist())
    combinations = list(on)
    assert len(combinations) == 6
    for i, one in enumerate(combinations):
        for other in combinations[i + 1 :]:
            assert not on[one] & on[other]


def test_texts_that_were_never_seen_are_answered_and_named():
    sample = mixed_of({"site": np.array(["a", "b"] * 50, object), "load": np.arange(100.0)})
    features = lincat.Mixed(bumps=8).fit(sample)
    new = mixed_of({"site": np.array(["a", "c"], object), "load": np.array([1.0, 1.0])})
    phi = features.transform(new)
    assert np.isfinite(phi).all()
    assert features.knows(new).all()
    assert features.remarks(new) == ["", "site 'c' was never seen"]
    new["load"][0] = np.nan
    assert features.remarks(new)[0] == "load missing was never seen"
    assert np.isfinite(features.transform(new)).all()


def test_columns_that_hardly_repeat_say_nothing():
    note = np.array([f"note {i}" for i in range(100)], dtype=object)
    sample = mixed_of({"note": note, "load": np.arange(100.0)})
    features = lincat.Mixed(bumps=8).fit(sample)
    assert "note, left out as it hardly repeats" in features.describe()
    other = lincat.Mixed(bumps=8).fit(mixed_of({"load": np.arange(100.0)}))
    np.testing.assert_array_equal(features.transform(sample), other.transform(sample[["load"]]))


def test_texts_alone_have_an_intercept():
    sample = mixed_of({"a": np.array([*"xy"] * 50, object), "b": np.array([*"uvvu"] * 25, object)})
    for bumps in (1, 100):
        phi = lincat.Mixed(bumps=bumps).fit(sample).transform(sample)
        one = np.linalg.lstsq(phi, np.ones(100), rcond=None)[0]
        np.testing.assert_allclose(phi @ one, 1.0)


def test_numbers_alone_are_smooth():
    points = np.random.default_rng(0).normal(size=(200, 2))
    mixed, smooth = lincat.Mixed(bumps=9).fit(points), lincat.Smooth(bumps=9).fit(points)
    np.testing.assert_array_equal(mixed.transform(points), smooth.transform(points))


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        (np.array(["a"], dtype=object), "expected mixed rows"),
        (np.zeros((2, 2)), "expected mixed rows"),
        (mixed_of({"site": np.array(["a"], object)}), "no column 'mode'"),
        (mixed_of(dict.fromkeys(("site", "mode", "load"), np.zeros(1))), "texts in column site"),
    ],
)
def test_other_observations_are_one_line(observations, message):
    features = lincat.Mixed().fit(frames(50))
    with pytest.raises(lincat.InvalidInputError, match=message):
        features.transform(observations)


def test_other_features_say_what_takes_texts():
    for features in (lincat.Tiles(), lincat.Smooth(), lincat.Scaling()):
        with pytest.raises(lincat.InvalidInputError, match='take features "mixed"'):
            features.fit(frames(50))


def test_an_infinite_number_is_named():
    with pytest.raises(lincat.InvalidInputError, match="an infinite one in column x"):
        lincat.Mixed().fit(
            mixed_of({"x": np.array([1.0, np.inf]), "t": np.array(["a", "b"], object)})
        )


def test_more_values_than_are_few_are_not_kept_apart():
    sample = mixed_of({"x": np.arange(40) % 5 * 1.0, "t": np.array(["a", "b"] * 20, dtype=object)})
    assert "x" not in lincat.Mixed(few_values=4).fit(sample).apart_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x["columns"][0].update(name=3), "columns: expected names"),
        (
            lambda x: x["columns"].remove(_column(x, False)),
            "columns: expected .* of the smooth features",
        ),
        (lambda x: _column(x, True).update(levels=[3]), "columns: expected texts"),
        (lambda x: _column(x, False).update(indicator=1), "columns: expected true or false"),
    ],
)
def test_a_file_that_somebody_made_is_looked_at(change, message):
    made = lincat.Mixed().fit(frames(400))
    arrays, values = made._state()
    values = {"columns": [dict(x) for x in values["columns"]], "apart": list(values["apart"])}
    change(values)
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Mixed()._restore(arrays, values)


def _column(values, text):
    return next(x for x in values["columns"] if x["text"] is text)


def test_features_of_frames_are_mixed_by_default():
    features, reason = choose_features(frames(400))
    assert isinstance(features, lincat.Mixed)
    assert reason.startswith("texts and numbers")
