"""Columns of cells, as Arrow has them and as lists: the same numbers, whoever holds them."""

import numpy as np
import pyarrow as pa
import pytest

import lincat
from lincat.tables import cells
from lincat.tables.columns import Columns
from lincat.tables.file_source import FileSource
from lincat.tables.layout import _duration, _first_length


def packed(values):
    return pa.array(values).dictionary_encode()


def test_packed_columns_are_read_like_others():
    texts = ["1", "nan", None, "2.5"]
    for form in (pa.array(texts), packed(texts)):
        np.testing.assert_array_equal(cells.numbers(form), [1.0, np.nan, np.nan, 2.5])
        assert cells.missing_numbers(form).tolist() == [False, True, True, False]
    names = ["a", "", None]
    for form in (names, pa.array(names), packed(names)):
        assert cells.missing_texts(form).tolist() == [False, True, True]
    for form in (pa.array(["3", "-4"]), packed(["3", "-4"]), packed([3, -4]), [3, -4]):
        values, bad = cells.integers(form)
        assert (values.tolist(), bad) == ([3, -4], None)


def test_whole_numbers_among_others_are_integers():
    values, bad = cells.integers(pa.array([3.0, 2.5, 1e300, None]))
    assert values.tolist() == [3, 0, 0, 0]
    assert bad.tolist() == [False, True, True, True]
    assert cells.integers(pa.array([3.0, -2.0]))[1] is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.list_(pa.float32()), "list of float32"),
        (pa.list_(pa.int64()), "list"),
        (pa.list_(pa.string()), "type list<item: string>"),
    ],
)
def test_kinds_of_lists(kind, name):
    assert cells.kind_of(pa.array([[]], kind), typed=True) == name


@pytest.mark.parametrize("form", [list, pa.array])
def test_the_first_list_that_holds_something_tells_how_long_they_are(form):
    assert _first_length(form([None, [], [1.0, 2.0]])) == 2
    assert _first_length(form([[], None])) == 1


@pytest.mark.parametrize(
    ("seconds", "text"), [(30, "30 s"), (90, "1.5 min"), (7200, "2 h"), (86400, "1 d")]
)
def test_durations(seconds, text):
    assert _duration(int(seconds * 1e6)) == text


@pytest.mark.parametrize(
    ("kind", "column", "message"),
    [
        ("ids", [[1.0], [2.0]], "column x: expected ids: integers or texts, got lists of numbers"),
        ("ids", [1.5, 2.5], "column x: expected ids: integers or texts, got numbers"),
        ("points", ["a", "b"], "column x: expected numbers, to make points of, got texts"),
    ],
)
def test_observations_of_another_kind_are_named(kind, column, message):
    frame = pa.table({"x": column * 2, "reward": [0.0] * 4})
    with pytest.raises(lincat.InvalidInputError, match=message):
        list(FileSource(frame, columns=Columns(observation="x", kind=kind)).batches())
