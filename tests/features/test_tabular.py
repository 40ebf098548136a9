import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat

ids = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.tuples(st.integers(0, 2), st.text(max_size=1)),
)


def naive(known, batch):
    """Number ids in order of appearance, one after the other."""
    rows = []
    for x in batch:
        if x not in known:
            known.append(x)
        rows.append(known.index(x))
    return rows


@given(st.lists(ids, min_size=1, max_size=20), st.lists(st.lists(ids, max_size=20), max_size=4))
def test_rows_are_numbered_in_order_of_appearance(sample, batches):
    table, known = lincat.Tabular(capacity=200).fit(sample), []
    naive(known, sample)
    assert table.ids_ == known
    for batch in batches:
        assert table.transform(batch).tolist() == naive(known, batch)
    assert table.ids_ == known


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=30),
    st.lists(
        st.lists(st.one_of(st.integers(-50, 50), st.integers(-(2**62), 2**62)), max_size=30),
        max_size=5,
    ),
)
def test_integer_arrays_give_what_lists_give(sample, batches):
    fast = lincat.Tabular(capacity=1000).fit(np.array(sample))
    slow = lincat.Tabular(capacity=1000).fit(sample)
    for batch in batches:
        found = fast.transform(np.array(batch, dtype=np.int64))
        assert found.tolist() == slow.transform(batch).tolist()
        assert fast.lookup(np.array(batch, dtype=np.int64)).tolist() == found.tolist()
    assert fast.ids_ == slow.ids_


def test_equal_ids_are_one_whatever_their_type():
    table = lincat.Tabular().fit([1, "1", (1, 2)])
    assert table.transform([True, 1.0, np.int64(1), "1", (1.0, 2)]).tolist() == [0, 0, 0, 1, 2]
    assert table.transform(np.array([1], dtype=np.int8)).tolist() == [0]
    assert table.transform(np.array([[1, 2]])).tolist() == [2]
    assert table.transform([[1, 2]]).tolist() == [2]
    assert table.transform(np.array([True])).tolist() == [0]


def test_a_mixed_list_keeps_its_types():
    assert lincat.Tabular().fit([1, "a", 2.5, None]).ids_ == [1, "a", 2.5, None]


def test_rows_of_objects_become_tuples():
    rows = np.array([["a", 1], ["b", 2], ["a", 1]], dtype=object)
    table = lincat.Tabular().fit(rows)
    assert table.ids_ == [("a", 1), ("b", 2)]
    assert table.transform(rows).tolist() == [0, 1, 0]


def test_capacity():
    table = lincat.Tabular().fit(["a", "b", "a"])
    assert table.n_features_ == 4 * 2 + 64
    small = lincat.Tabular(capacity=3).fit(["a", "b"])
    assert small.describe() == "A table with one row for each of 2 ids, and 1 free."
    assert small.transform(["c", "a"]).tolist() == [2, 0]
    with pytest.raises(
        lincat.InvalidInputError,
        match="at most 3 different ids, got one more, 'd' at row 1; raise capacity=",
    ):
        small.transform(["c", "d"])
    assert small.transform(["c"]).tolist() == [2]
    assert small.feature_names() == ["a", "b", "c"]
    with pytest.raises(lincat.InvalidInputError, match=r"capacity: .* got 2 for 3 different ids"):
        lincat.Tabular(capacity=2).fit([1, 2, 3])
    numbers = lincat.Tabular(capacity=2).fit(np.array([5, 6]))
    with pytest.raises(lincat.InvalidInputError, match="got one more, 7 at row 2"):
        numbers.transform(np.array([5, 6, 7]))


def test_lookup_refuses_ids_never_seen():
    table = lincat.Tabular().fit(["a"])
    with pytest.raises(lincat.InvalidInputError, match="seen before, got 'z' at row 1"):
        table.lookup(["a", "z"])
    with pytest.raises(lincat.InvalidInputError, match="seen before, got 9 at row 2"):
        lincat.Tabular().fit([1]).lookup(np.array([1, 1, 9]))
    assert table.ids_ == ["a"]


@pytest.mark.parametrize("bad", [float("nan"), (1, float("nan")), np.float64("nan")])
def test_nan_is_no_id(bad):
    with pytest.raises(lincat.InvalidInputError, match="ids that equal themselves"):
        lincat.Tabular().fit([1, bad])
    with pytest.raises(lincat.InvalidInputError, match=r"ids that equal themselves.* at row 1"):
        lincat.Tabular().fit([1]).transform([1, bad])


def test_unhashable_ids_and_wrong_shapes_are_refused():
    table = lincat.Tabular().fit([1])
    for call in (table.transform, lincat.Tabular().fit):
        with pytest.raises(
            lincat.InvalidInputError, match=r"hashable ids, got \{\} \(dict\) at row 1"
        ):
            call([1, {}])
        with pytest.raises(lincat.InvalidInputError, match=r"shape \(n,\) or \(n, m\)"):
            call(np.zeros((2, 2, 2)))
        for bad in ("word", 3, None):
            with pytest.raises(lincat.InvalidInputError, match="one id for each observation"):
                call(bad)


# ------------------------------------------------------------------------------ state numbers


def test_numbers_pass_through():
    table = lincat.Tabular(n_states=4).fit(np.zeros(0, dtype=int))
    assert table.n_features_ == 4
    assert table.ids_ == [0, 1, 2, 3]
    for rows in ([3, 0], np.array([3, 0], np.uint8), np.array([3.0, 0.0]), np.array([[3], [0]])):
        found = table.transform(rows)
        assert found.dtype == np.int64
        assert found.tolist() == [3, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 4], r"state numbers 0 \.\. 3, got 4 at row 1"),
        ([-1, 0], r"state numbers 0 \.\. 3, got -1 at row 0"),
        ([0.0, 2.5], r"state numbers 0 \.\. 3, got 2.5 at row 1"),
        ([0.0, np.nan], "finite numbers, got nan at index 1"),
        (["a"], "an array of numbers"),
        ([[0, 1]], r"shape \(n,\)"),
    ],
)
def test_other_numbers_are_refused(rows, message):
    table = lincat.Tabular(n_states=4).fit([0])
    for call in (table.transform, table.lookup, lincat.Tabular(n_states=4).fit):
        with pytest.raises(lincat.InvalidInputError, match=message):
            call(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "capacity: expected an integer of at least 1"),
        ({"n_states": 0}, "n_states: expected an integer of at least 1"),
        ({"n_states": 2, "capacity": 2}, "capacity: expected n_states or capacity, not both"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Tabular(**options).fit([0])


def test_large_batches_take_no_loop_in_python():
    """A million rows in well under what a loop over them takes (about 0.1 µs a step, bare)."""
    numbers = np.random.default_rng(0).integers(1000, size=10**6)
    table = lincat.Tabular().fit(numbers[:5000])
    table.transform(numbers)
    start = time.perf_counter()
    loops = sum(1 for _ in numbers)
    middle = time.perf_counter()
    table.transform(numbers)
    assert loops == 10**6
    assert time.perf_counter() - middle < middle - start
