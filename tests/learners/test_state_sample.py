"""The sample of states that batch learners keep."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.learners.state_sample import StateSample


def rows(n):
    return np.arange(float(n))[:, None] * np.ones(2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3000), min_size=1, max_size=6), st.booleans())
def test_cuts_do_not_matter_and_rows_are_evenly_spread(sizes, sparse):
    n = sum(sizes)
    whole, sample = rows(n), StateSample()
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        part = whole[end - size : end]
        sample.update(scipy.sparse.csr_array(part) if sparse else part)
    assert sample.seen == n
    assert len(sample) <= 2048
    assert n <= 2048 or len(sample) >= 1024
    if n:
        kept = sample.rows()
        kept = kept.toarray() if sparse else kept
        np.testing.assert_array_equal(kept, whole[:: sample.stride])
        assert len(kept) == len(sample)


@given(st.integers(1, 9000), st.integers(1, 9000))
@settings(max_examples=40, deadline=None)
def test_merged_samples_have_one_spacing(a, b):
    first, second = StateSample(), StateSample()
    first.update(rows(a))
    second.update(-rows(b))
    before = second.rows().copy()
    first.merge(second)
    kept = first.rows()[:, 0]
    assert len(kept) == len(first) <= 2048
    assert set(np.diff(kept[kept > 0])) <= {float(first.stride)}
    assert set(np.diff(kept[kept < 0])) <= {-float(first.stride)}
    np.testing.assert_array_equal(second.rows(), before)
    first.update(rows(5000))
    assert len(first.rows()) == len(first) <= 2048


def test_merging_with_nothing():
    sample = StateSample()
    sample.merge(StateSample())
    assert len(sample) == 0
    other = StateSample()
    other.update(rows(3))
    sample.merge(other)
    other.merge(StateSample())
    for x in (sample, other):
        np.testing.assert_array_equal(x.rows(), rows(3))


def test_dense_and_sparse_rows_together():
    sample = StateSample()
    sample.update(rows(2))
    sample.update(scipy.sparse.csr_array(rows(3)))
    np.testing.assert_array_equal(sample.rows().toarray(), [*rows(2), *rows(3)])


def test_copies_and_inputs_are_apart():
    given_rows = rows(5)
    sample = StateSample()
    sample.update(given_rows)
    other = sample.copy()
    other.update(rows(7))
    given_rows[:] = -1.0
    assert (len(sample), len(other)) == (5, 12)
    np.testing.assert_array_equal(sample.rows(), rows(5))


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "none"])
def test_arrays_bring_it_back(kind):
    sample, content = StateSample(), rows(3000)
    if kind == "sparse":
        content = scipy.sparse.csr_array(content)
    if kind != "none":
        sample.update(content.astype(np.float32) if kind == "float32" else content)
    back = StateSample.from_arrays(sample.arrays(), sample.seen, sample.stride, 2)
    for x in (sample, back):
        x.update(rows(2000))
    a, b = (scipy.sparse.csr_array(x.rows()).toarray() for x in (sample, back))
    np.testing.assert_array_equal(a, b)
    assert (back.seen, back.stride) == (sample.seen, sample.stride)


@pytest.mark.parametrize(
    ("arrays", "numbers", "message"),
    [
        ({"sample": rows(3)}, (3, 1, 5), "sample: expected an array of shape"),
        ({"sample": rows(3).astype(np.float32)}, (4, 1, 2), "sample: expected an array of shape"),
        ({"sample": rows(3) * np.nan}, (3, 1, 2), "sample: expected finite numbers"),
        ({"sample": rows(3)}, (3, 0, 2), "stride: expected an integer of at least 1"),
        ({"sample": rows(3)}, (-3, 1, 2), "seen: expected an integer of at least 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, numbers, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        StateSample.from_arrays(arrays, *numbers)
