"""Frames: rows of texts and numbers that are cut, joined and compared like any others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lincat.data.mixed import (
    coordinates,
    differing,
    is_missing,
    is_mixed,
    is_text,
    mixed_of,
    rows_of,
)

texts = st.sampled_from(["a", "b", "", None])
numbers = st.sampled_from([0.0, -1.5, 2.0, None])
rows = st.lists(st.tuples(texts, numbers), min_size=1, max_size=12)


def frame(rows):
    return mixed_of(
        {
            "site": np.array([row[0] for row in rows], dtype=object),
            "load": np.array([row[1] for row in rows], dtype=float),
        }
    )


@given(rows)
def test_rows_come_back_as_they_were(given_rows):
    made = frame(given_rows)
    assert is_mixed(made)
    assert (is_text(made, "site"), is_text(made, "load")) == (True, False)
    assert rows_of(made) == given_rows
    assert rows_of(np.concatenate([made, made])[::2]) == (given_rows * 2)[::2]
    for name, j in (("site", 0), ("load", 1)):
        assert is_missing(made[name]).tolist() == [row[j] is None for row in given_rows]


@given(rows, rows)
def test_what_is_missing_is_alike(one, other):
    n = min(len(one), len(other))
    found = differing(frame(one[:n]), frame(other[:n]))
    assert found.tolist() == [a != b for a, b in zip(one[:n], other[:n], strict=True)]


@given(rows)
def test_rows_at_no_distance_are_alike_where_nothing_is_missing(given_rows):
    made = frame(given_rows)
    points = coordinates(made, made)
    whole = [i for i, row in enumerate(given_rows) if None not in row]
    for i in whole:
        for j in whole:
            assert np.array_equal(points[i], points[j]) == (given_rows[i] == given_rows[j])
    assert np.isfinite(points).all()


def test_other_arrays_are_no_frames():
    assert not any(map(is_mixed, (np.zeros((2, 2)), np.array(["a"], dtype=object), [1.0])))
