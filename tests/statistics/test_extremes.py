"""Ends of what can be earned: a payoff that came often is one, the largest of a tail is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.statistics.extremes import KEPT, Extremes

VALUES = st.lists(st.integers(-9, 9).map(float), max_size=40).map(np.array)


@given(parts=st.lists(VALUES, max_size=5))
def test_however_values_come_the_ten_at_either_end_are_kept(parts):
    """Against sorting all of them."""
    one_by_one, apart = Extremes(), Extremes()
    for part in parts:
        one_by_one = one_by_one.then(part.astype(float))
        apart = apart.joined(Extremes().then(part.astype(float)))
    whole = np.sort(np.concatenate([np.zeros(0), *parts]))
    for found in (one_by_one, apart):
        np.testing.assert_array_equal(found.lowest, whole[:KEPT])
        np.testing.assert_array_equal(found.highest, whole[::-1][:KEPT])


def test_a_value_that_came_often_is_an_end():
    values = np.concatenate([np.full(10, -20.0), np.linspace(0.0, 1.0, 30), [5.0]])
    low, high = Extremes().then(values).range()
    assert low == -20.0
    assert high == pytest.approx(2 * 5.0 - np.sort(values)[-10])


def test_one_loss_far_from_all_others_is_no_end():
    seen = Extremes().then(np.append(np.zeros(1000), -300.0))
    assert seen.range() == (-600.0, 0.0)


@pytest.mark.parametrize("values", [np.zeros(9), np.append(np.zeros(50), [-np.inf, np.inf])])
def test_of_few_values_or_endless_ones_no_end_is_known(values):
    assert Extremes().then(values).range() == (-np.inf, np.inf)


def test_rewards_near_the_largest_number_have_no_end_beyond_it():
    huge = np.linspace(1.0e308, 1.76e308, 20)  # the tenth is 0.36e308 away
    low, high = Extremes().then(huge).range()
    assert low == pytest.approx(0.64e308)
    assert high == np.inf
    rows = lincat.Transitions(np.zeros(20, int), huge, np.zeros(20, int))
    assert (rows.centred(np.zeros(20), np.zeros(20), 0.9).reach == np.inf).all()


def test_normal_values_pass_the_end_hardly_ever():
    """An end that is guessed too near would cut off what may happen."""
    rng = np.random.default_rng(0)
    passed = 0
    for _ in range(200):
        low, high = Extremes().then(rng.normal(size=1000)).range()
        new = rng.normal(size=1000)
        passed += int(((new < low) | (new > high)).sum())
    assert passed < 0.0005 * 200_000


def centred(n=60, gamma=0.9):
    rng = np.random.default_rng(1)
    ends = np.arange(n) % 6 == 5
    rows = lincat.Transitions(
        *(np.zeros(n, int), rng.normal(size=n), np.zeros(n, int)), terminated=ends
    )
    return rows, rows.centred(np.ones(n), np.ones(n), gamma)


def test_sums_keep_what_rewards_would_come_to():
    """Of transitions about a potential, whatever unit they are in; of others, the grid is cut."""
    rows, about = centred()
    expected = np.where(rows.terminated, rows.reward, rows.reward / (1.0 - 0.9))
    np.testing.assert_allclose(about.reach, expected)
    in_units = about.in_units(np.full(60, 2.0), about.discounts(0.9))
    sums = lincat.Statistics(n_features=1).update(in_units[:25]).update(in_units[25:])
    np.testing.assert_array_equal(sums.extremes.lowest, np.sort(expected)[:KEPT])
    assert len(lincat.Statistics(n_features=1).update(rows).extremes.lowest) == 0


def test_rows_that_do_not_count_have_no_ends():
    rows, _ = centred()
    weight = np.where(rows.reward < 0.0, 0.0, 1.0)
    weighted = lincat.Transitions(
        rows.phi, rows.reward, rows.phi_next, terminated=rows.terminated, weight=weight
    )
    sums = lincat.Statistics(n_features=1).update(weighted.centred(np.ones(60), np.ones(60), 0.9))
    assert sums.extremes.lowest.min() >= 0.0


def test_ends_are_merged_and_kept_in_files(tmp_path):
    _, about = centred()
    whole = lincat.Statistics(n_features=1).update(about)
    parts = [lincat.Statistics(n_features=1).update(about[a:b]) for a, b in ((0, 30), (30, 60))]
    parts[0].merge(parts[1]).save(tmp_path / "sums")
    read = lincat.Statistics.load(tmp_path / "sums")
    for found in (parts[0], read, read.copy()):
        np.testing.assert_array_equal(found.extremes.lowest, whole.extremes.lowest)
        np.testing.assert_array_equal(found.extremes.highest, whole.extremes.highest)
