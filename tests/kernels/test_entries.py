"""Sums by place, against a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lincat.kernels.entries import merged, summed

NUMBERS = st.lists(st.integers(0, 30) | st.integers(0, 2**50), max_size=40)


def rows(places, width, seed=0):
    values = np.random.default_rng(seed).normal(size=(len(places), width))
    return np.array(places, dtype=np.int64), values


def naively(place, values):
    sums = {}
    for p, row in zip(place.tolist(), values, strict=True):
        sums[p] = row + sums[p] if p in sums else row
    places = sorted(sums)
    width = values.shape[1]
    return np.array(places, dtype=int), np.array([sums[p] for p in places]).reshape(-1, width)


@given(places=NUMBERS, width=st.sampled_from([1, 3]))
def test_places_in_any_order_are_summed_in_the_order_of_their_rows(places, width):
    drawn = rows(places, width)
    for got, wanted in zip(summed(*drawn), naively(*drawn), strict=True):
        np.testing.assert_array_equal(got, wanted)


@given(left=NUMBERS, right=NUMBERS, width=st.sampled_from([1, 3]))
def test_two_sums_are_merged(left, right, width):
    one, other = summed(*rows(left, width)), summed(*rows(right, width, 1))
    wanted = naively(*(np.concatenate(pair) for pair in zip(other, one, strict=True)))
    for got, expected in zip(merged(*one, *other), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_what_does_not_fit_is_refused():
    place, values = rows([3, 1], 2)
    for arguments in ((place - 2, values), (place[:1], values), (place, values[:1])):
        with pytest.raises(IndexError):
            summed(*arguments)
    fine = summed(place, values)
    for i, bad in enumerate([place[:1], values[:1], place[:1], values[:, :1].copy()]):
        arguments = [*fine, *fine]
        arguments[i] = bad
        with pytest.raises(IndexError):
            merged(*arguments)
