"""Steps: slices and joints, with the record that they are parts of."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined


def unbroken(n):
    """n steps through points that follow each other."""
    record, no = np.arange(2.0 * n + 2).reshape(n + 1, 2), np.zeros(n, bool)
    return Steps(record[:-1], np.arange(float(n)), record[1:], no, no, record=record)


@given(st.integers(1, 12), st.data())
def test_a_slice_has_the_part_of_the_record_that_belongs_to_it(n, data):
    part = data.draw(st.slices(n))
    steps = unbroken(n)[part]
    np.testing.assert_array_equal(steps.reward, np.arange(float(n))[part])
    if steps.record is not None:
        np.testing.assert_array_equal(steps.record[:-1], steps.observation)
        np.testing.assert_array_equal(steps.record[1:], steps.next_observation)
    elif len(steps) > 1:
        assert part.step not in (None, 1)


def test_slices_copy_nothing():
    steps = unbroken(6)
    assert np.shares_memory(steps[2:4].record, steps.record)
    assert len(steps[2:4].record) == 3


@pytest.mark.parametrize("parts", [1, 2])
def test_several_batches_are_no_longer_one_record(parts):
    whole = joined([unbroken(3)] * parts)
    assert len(whole) == 3 * parts
    assert (whole.record is None) == (parts > 1)


@given(st.integers(1, 8), st.booleans())
def test_both_makes_each_record_once(n, with_record):
    steps, calls = unbroken(n), []
    if not with_record:
        steps = joined([steps[:], steps[:]])

    def transform(points):
        calls.append(len(points))
        return 2.0 * points

    here, there = steps.both(transform)
    np.testing.assert_array_equal(here, 2.0 * steps.observation)
    np.testing.assert_array_equal(there, 2.0 * steps.next_observation)
    # The two records are apart; of the last step of each, what follows is made beside the others.
    assert calls == ([n + 1] if with_record else [2 * n + 2] if n > 1 else [2, 2])


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.integers(1, 4),
    st.sampled_from([1, 3, 30]),
    st.sampled_from(["rows", "sparse"]),
)
def test_both_is_what_each_row_is_made_into(numbers, ahead, broken, form):
    """Whatever follows what: by chance, by steps, or not at all."""
    here = np.array(numbers, dtype=float)[:, None]
    there = np.roll(here, -ahead, axis=0)
    there[::broken] += 5.0
    no = np.zeros(len(here), bool)
    steps = Steps(here, np.zeros(len(here)), there, no, no, ahead=ahead)

    def transform(points):
        made = np.column_stack([points, points**2])
        return made if form == "rows" else scipy.sparse.csr_array(made)

    for found, points in zip(steps.both(transform), (here, there), strict=True):
        wanted = transform(points)
        assert type(found) is type(wanted)
        if form == "sparse":
            found, wanted = found.toarray(), wanted.toarray()
        np.testing.assert_array_equal(found, wanted)


def test_sums_of_several_steps_make_each_observation_once():
    """n steps as one lead n rows below, but for the last of a record."""
    calls = []

    def transform(points):
        calls.append(len(points))
        return points

    batches = [unbroken(9)[:5], unbroken(9)[5:]]
    steps = joined(list(n_step(batches, 3, 0.9)))
    assert steps.ahead == 3
    here, there = steps.both(transform)
    np.testing.assert_array_equal(there, steps.next_observation)
    np.testing.assert_array_equal(here, steps.observation)
    assert calls == [9 + 3]


@pytest.mark.parametrize("form", ["record", "rows", "apart"])
def test_what_is_known_of_points_goes_with_them(form):
    steps = unbroken(7)
    if form != "record":
        steps = joined([steps[:4], steps[4:]])
    if form == "apart":
        steps = dataclasses.replace(steps, next_observation=steps.next_observation + 100.0)
    known = (steps.observation.sum(axis=1), steps.next_observation.sum(axis=1))

    def transform(points, total):
        np.testing.assert_array_equal(total, points.sum(axis=1))
        return total

    for found, expected in zip(steps.both(transform, known), known, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_discounts_are_as_given_or_gamma_and_0_at_ends():
    no = np.zeros(3, bool)
    ends = np.array([False, True, False])
    plain = Steps(np.arange(3), np.zeros(3), np.arange(3), ends, no)
    assert plain.discounts(0.9).tolist() == [0.9, 0.0, 0.9]
    given_ones = Steps(np.arange(3), np.zeros(3), np.arange(3), ends, no, np.array([0.5, 0.4, 1.0]))
    assert given_ones.discounts(0.9).tolist() == [0.5, 0.0, 1.0]
