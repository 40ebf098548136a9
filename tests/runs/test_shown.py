"""The states that a report shows: really seen, told apart, and found again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lincat.data.steps import Steps
from lincat.runs.shown import OTHER, ShownStates, choose_states, start_observations
from tests.strategies import finite_floats


def objects(values):
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


awkward_texts = st.sampled_from(["start", "any state", OTHER, "all", "a", "a #2", "1", ""])
ids = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1, max_size=30).map(np.array),
    st.lists(awkward_texts, min_size=1, max_size=30).map(objects),
    st.lists(st.tuples(st.integers(0, 2), awkward_texts), min_size=1, max_size=30).map(objects),
)
points = st.tuples(st.integers(1, 30), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=finite_floats(-1e3, 1e3))
)


@settings(max_examples=100)
@given(ids | points, st.integers(1, 9), st.integers(0, 3), st.booleans())
def test_names_differ_and_members_were_seen(seen, n_states, seed, with_starts):
    starts = seen[:3] if with_starts else None
    shown = choose_states(seen, starts, n_states=n_states, seed=seed)
    assert len(set(shown.names)) == len(shown.names) == len(shown.members)
    assert 2 <= len(shown.names) <= 1 + n_states
    assert shown.names[0] == ("start" if with_starts else "any state")
    observed = set(map(repr, seen.tolist()))
    for i, member in enumerate(shown.members):
        assert set(map(repr, member.tolist())) <= observed
        assert i == 0 or len(member) == 1
    typical = [repr(member.tolist()) for member in shown.members[1:]]
    assert len(set(typical)) == len(typical)
    assert not {OTHER, "all"} & set(shown.names)


@settings(max_examples=60)
@given(ids | points, st.integers(1, 9))
def test_the_choice_depends_on_nothing_else(seen, n_states):
    once, again = (choose_states(seen, None, n_states=n_states, seed=1) for _ in range(2))
    assert once.to_json() == again.to_json()


@settings(max_examples=60)
@given(ids | points, st.integers(1, 9))
def test_json_there_and_back(seen, n_states):
    shown = choose_states(seen, seen[:2], n_states=n_states, seed=0)
    back = ShownStates.from_json(shown.to_json())
    assert back.names == shown.names
    for one, other in zip(back.members, shown.members, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tolist() == other.tolist()
    all_of_them, group = back.observations()
    assert len(all_of_them) == len(group) == sum(map(len, shown.members))


def test_the_most_frequent_ids_come_first():
    shown = choose_states(objects(list("abbcccb")), None, n_states=2, seed=0)
    assert shown.names == ["any state", "b", "c"]
    assert sorted(shown.members[0].tolist()) == list("abbbccc")


def test_labels_name_numbers():
    labels = ["start", "hole", "goal"]
    shown = choose_states(np.array([0, 0, 2]), np.array([0]), n_states=5, seed=0, labels=labels)
    assert shown.names == ["start", "start #2", "goal"]


def test_clusters_are_found_and_the_largest_comes_first():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    which = rng.choice(3, 3000, p=[0.2, 0.5, 0.3])
    seen = centres[which] + 0.1 * rng.normal(size=(3000, 2))
    shown = choose_states(seen, None, n_states=3, seed=0)
    found = np.concatenate(shown.members[1:]).round()
    np.testing.assert_array_equal(found, centres[[1, 2, 0]])


def test_nothing_starts_where_rows_were_held_out():
    steps = Steps(
        np.arange(9), np.zeros(9), np.arange(9) + 1, np.zeros(9, bool), np.arange(9) % 3 == 2
    )
    assert start_observations(steps).tolist() == [0, 3, 6]
    assert start_observations(steps, cuts=[3]) is None  # a single other one


def test_few_different_points_are_all_shown():
    seen = np.array([[1.0], [2.0], [1.0], [2.0]])
    shown = choose_states(seen, None, n_states=8, seed=0)
    assert shown.names == ["any state", "(1)", "(2)"]


def test_points_that_look_alike_are_numbered():
    seen = np.array([[1.0], [1.0 + 1e-9]])
    assert choose_states(seen, None, n_states=8, seed=0).names[1:] == ["(1)", "(1) #2"]
    wide = choose_states(np.arange(12.0).reshape(2, 6), None, n_states=8, seed=0)
    assert wide.names[1] == "(0, 1, 2, 3, …)"


@settings(max_examples=60)
@given(
    arrays(np.float64, (7, 3), elements=finite_floats(-10, 10), unique=True),
    st.integers(1, 4),
    st.sampled_from([0.0, 1e7]),
)
def test_nearest_is_the_nearest_when_each_coordinate_is_scaled(seen, n_states, offset):
    shown = choose_states(seen + offset, None, n_states=n_states, seed=0)
    asked = seen + offset
    names = shown.nearest(asked)
    centres = np.concatenate(shown.members[1:])
    scale = centres.std(axis=0)
    scale[scale == 0.0] = 1.0
    for point, name in zip(asked, names, strict=True):
        distance = [(((point - c) / scale) ** 2).sum() for c in centres]
        got = distance[shown.names.index(name) - 1]
        assert got <= min(distance) + 1e-5 * (1.0 + max(distance))


@given(ids, st.integers(1, 3))
def test_nearest_of_ids_is_the_id_or_others(seen, n_states):
    shown = choose_states(seen, None, n_states=n_states, seed=0)
    for one, name in zip(seen.tolist(), shown.nearest(seen), strict=True):
        known = [i for i in range(1, len(shown.names)) if shown.members[i].tolist() == [one]]
        assert name == (shown.names[known[0]] if known else OTHER)


def test_with_the_start_alone_everything_is_near_it():
    shown = ShownStates(["start"], [np.array([[0.0]])])
    assert shown.nearest(np.array([[1.0], [2.0]])) == ["start", "start"]


# -------------------------------------------------------------------------------------- starts


def record(terminated, truncated=None):
    n = len(terminated)
    state = np.arange(n)
    cut = np.zeros(n, bool) if truncated is None else np.array(truncated, bool)
    return Steps(state, np.zeros(n), state + 1, np.array(terminated, bool), cut)


def test_starts_follow_ends():
    steps = record([0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(start_observations(steps), [0, 3, 6])


@pytest.mark.parametrize(
    "steps",
    [
        record([0] * 10),  # no end: nothing is known of starts
        record([0] * 9 + [1]),  # the only end is the last
        record([0] * 10, [1] * 10),  # shuffled: no row follows the one before
        record([0]),
        record([1]),
    ],
)
def test_no_starts_where_the_record_does_not_tell(steps):
    assert start_observations(steps) is None


def test_no_more_starts_than_a_page_needs():
    steps = record([0, 0, 1] * 1000)
    assert len(start_observations(steps)) == 256


def test_the_headline_speaks_of_the_first_group():
    shown = ShownStates(["start", "a"], [np.arange(3), np.array([5])])
    assert shown.asked.tolist() == [0, 1, 2]
    assert ShownStates(["any state"], [np.arange(1)], np.ones((1, 2))).asked is None
