"""Hats along the values of a function, beside other features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.features.files import save_bytes
from tests import naive
from tests.features.cases import levels, points


def test_against_the_definition():
    features, rows = levels().fit(points(300)), points(40, seed=1)
    arrays, _ = features._state()
    value = features.of.transform(rows) @ features.weights + features.offset
    beside = features.beside.n_features_
    found = features.transform(rows)
    np.testing.assert_array_equal(found[:, :beside], features.beside.transform(rows))
    np.testing.assert_allclose(found[:, beside:], naive.level_hats(value, arrays), atol=1e-12)
    assert features.describe().endswith(f"levels of the mean return: {found.shape[1]} features.")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(1e-6, 1e6))
def test_hats_sum_to_one_and_follow_the_function(seed, levels, unit):
    rng = np.random.default_rng(seed)
    sample = unit * rng.standard_t(2, size=(200, 1))
    line = lincat.Identity().fit(sample)
    features = lincat.Levels(line, line, [3.0], 2.0, levels=levels).fit(sample)
    far = 1e9 * np.abs(sample).max()
    rows = np.sort(np.concatenate([sample[:, 0], [-far, far]]))[:, None]
    near = features.transform(rows)[:, 1:]
    np.testing.assert_allclose(near.sum(axis=1), 1.0)
    assert (np.diff(near.argmax(axis=1)) >= 0).all()
    # Beyond what was seen nothing changes, and units do not matter.
    np.testing.assert_array_equal(near[0], features.transform(2.0 * rows[:1])[0, 1:])
    scaled = lincat.Levels(line, line, [3.0 / unit], levels=levels).fit(sample)
    np.testing.assert_allclose(scaled.transform(rows)[:, 1:], near, atol=1e-4)


def test_a_function_that_is_constant_adds_a_constant():
    sample = points(50)
    line = lincat.Identity().fit(sample)
    phi = lincat.Levels(line, line, [0.0, 0.0, 0.0], 4.0).fit(sample).transform(sample)
    assert np.ptp(phi[:, 3:], axis=0).max() == 0.0


def test_what_was_never_seen_is_said_by_the_features_beside():
    sample = np.empty(100, dtype=[("site", object), ("load", float)])
    sample["site"], sample["load"] = ["north", "south"] * 50, np.arange(100.0)
    mixed = lincat.Mixed(bumps=8).fit(sample)
    features = lincat.Levels(mixed, mixed, np.ones(mixed.n_features_)).fit(sample)
    other = sample[:1].copy()
    other["site"] = "west"
    assert features.remarks(other) == ["site 'west' was never seen"]
    assert lincat.Identity().fit(points(3)).remarks(points(2)) == ["", ""]


def test_bad_parts_are_refused():
    sample = points(9)
    line = lincat.Identity().fit(sample)
    with pytest.raises(lincat.InvalidInputError, match="beside: expected fitted features"):
        lincat.Levels(lincat.Smooth(), line, np.ones(3)).fit(sample)
    with pytest.raises(lincat.InvalidInputError, match=r"weights.*\(3\)"):
        lincat.Levels(line, line, np.ones(2)).fit(sample)
    with pytest.raises(lincat.InvalidInputError, match="levels"):
        lincat.Levels(line, line, np.ones(3), levels=1).fit(sample)


@pytest.mark.parametrize("inner", ["levels", "code"])
def test_files_hold_no_levels_of_levels_and_no_code(inner, tmp_path):
    sample, line = points(30), lincat.Identity().fit(points(30))
    other = levels().fit(sample)
    if inner == "code":
        other = lincat.FromTransformer("sklearn.preprocessing:StandardScaler").fit(sample)
    features = lincat.Levels(other, line, np.ones(3)).fit(sample)
    path = tmp_path / "features.safetensors"
    path.write_bytes(save_bytes(features))
    with pytest.raises(lincat.InvalidInputError, match=r"class|trust_code"):
        lincat.load_features(path)


def test_levels_out_of_order_are_refused(tmp_path):
    features = levels().fit(points(30))
    features._levels_ = features._levels_[::-1]
    path = tmp_path / "features.safetensors"
    path.write_bytes(save_bytes(features))
    with pytest.raises(lincat.InvalidInputError, match="ascending order"):
        lincat.load_features(path)
