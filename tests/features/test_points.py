"""Points: a table of the few points that are ever seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_every_point_has_a_row_and_others_take_the_nearest(seed, m):
    rng = np.random.default_rng(seed)
    sample = rng.integers(0, 4, (60, m)) * np.arange(1.0, m + 1)
    table = lincat.Points().fit(sample)
    assert table.n_features_ == len(np.unique(sample, axis=0))
    np.testing.assert_array_equal(table.points_[table.transform(sample)], sample)
    others = rng.uniform(-1.0, 5.0, (20, m))
    deviation = sample.std(axis=0)
    scale = np.array([1.0 / x if x > 0 else 0.0 for x in deviation])
    for row, number in zip(others, table.transform(others), strict=True):
        distances = [np.sqrt((((row - p) * scale) ** 2).sum()) for p in table.points_]
        assert distances[number] == pytest.approx(min(distances), abs=1e-9)


def test_a_coordinate_that_never_varied_says_nothing():
    table = lincat.Points().fit([[0.0, 5.0], [1.0, 5.0]])
    assert table.transform([[0.9, -100.0], [0.1, 7.0]]).tolist() == [1, 0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 50))
def test_points_seen_fewer_times_have_no_row(seed, fewest):
    rng = np.random.default_rng(seed)
    sample = rng.geometric(0.3, (40, 1)) * 1.0
    table = lincat.Points(fewest=fewest).fit(sample)
    seen = {x: int((sample == x).sum()) for x in sample.ravel().tolist()}
    often = sorted(x for x in seen if seen[x] >= min(fewest, max(seen.values())))
    assert table.points_.ravel().tolist() == often
    assert table.transform(table.points_).tolist() == list(range(len(often)))


def test_points_without_a_row_are_told_and_kept(tmp_path):
    table = lincat.Points(fewest=2).fit([[0.0], [1.0], [1.0], [2.0], [4.0], [4.0]])
    said = "A table with a row for each of 2 points; 2 points seen fewer than 2 times go with"
    assert table.describe() == f"{said} the nearest."
    table.save(tmp_path / "features.safetensors")
    again = lincat.load_features(tmp_path / "features.safetensors")
    assert again.describe() == table.describe()
    assert again.transform([[0.0], [2.0], [9.0]]).tolist() == [0, 0, 1]


def test_names_and_sentence():
    table = lincat.Points().fit([[0.0, 5.0], [1.5, 5.0], [0.0, 5.0]])
    assert table.feature_names(["stock", "day"]) == ["stock=0, day=5", "stock=1.5, day=5"]
    assert table.describe() == "A table with a row for each of 2 points."
    assert table.table


def test_too_many_points_are_refused_with_a_remedy():
    with pytest.raises(lincat.InvalidInputError, match="at most 3 different points, got 9; raise"):
        lincat.Points(most=3).fit(np.arange(9.0))
    with pytest.raises(lincat.InvalidInputError, match="most: expected an integer of at least 1"):
        lincat.Points(most=0).fit(np.arange(9.0))


def test_bad_rows_are_named():
    table = lincat.Points().fit([[0.0], [1.0]])
    with pytest.raises(lincat.InvalidInputError, match="inf"):
        table.transform([[0.0], [np.inf]])
