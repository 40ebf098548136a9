import numpy as np
import pytest

import lincat

KINDS = ["markov", "generative"]


@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_follow_the_table(kind):
    problem = lincat.catalog.random_process(4, seed=3)
    process, n = problem.process, 200_000
    drawn = process.sample(n, seed=5, kind=kind)
    visits = np.bincount(drawn.state, minlength=4) / n
    np.testing.assert_allclose(visits, process.stationary, atol=0.01)
    for j in range(len(process.state)):
        hit = (
            (drawn.state == process.state[j])
            & (drawn.reward == process.reward[j])
            & (drawn.next_state == process.next_state[j])
        )
        expected = process.stationary[process.state[j]] * process.probability[j]
        assert hit.mean() == pytest.approx(expected, abs=0.01)


def test_a_walk_goes_on_where_it_was():
    drawn = lincat.catalog.paper().process.sample(1000, seed=2)
    np.testing.assert_array_equal(drawn.next_state[:-1], drawn.state[1:])
    assert not drawn.terminated.any()


def test_episodes_end_and_start_afresh():
    problem = lincat.catalog.random_walk(3)
    drawn = problem.process.sample(5000, seed=2)
    assert drawn.terminated.any()
    after = np.flatnonzero(drawn.terminated)[:-1] + 1
    np.testing.assert_array_equal(drawn.state[after[after < 5000]], 2)
    on = ~drawn.terminated[:-1]
    np.testing.assert_array_equal(drawn.next_state[:-1][on], drawn.state[1:][on])
    assert set(drawn.next_state[drawn.terminated]) == {0, 4}
    assert drawn.state[0] == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["paper", "random_walk"])
def test_chunks_of_any_size_draw_the_same(name, kind):
    process = lincat.catalog.build(name).process
    whole = process.sample(1000, seed=7, kind=kind)
    for chunk in (1, 37, 1000, 5000):
        parts = list(process.stream(1000, seed=7, kind=kind, chunk=chunk))
        for field, column in zip(whole._fields, whole, strict=True):
            joined = np.concatenate([getattr(part, field) for part in parts])
            np.testing.assert_array_equal(joined, column)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_fix_the_sample(kind):
    process = lincat.catalog.paper().process
    first = process.sample(100, seed=1, kind=kind)
    np.testing.assert_array_equal(first.state, process.sample(100, seed=1, kind=kind).state)
    assert (first.state != process.sample(100, seed=2, kind=kind).state).any()


def test_nothing_drawn_is_four_empty_columns():
    drawn = lincat.catalog.paper().process.sample(0)
    assert [len(column) for column in drawn] == [0, 0, 0, 0]


def test_outcomes_of_probability_zero_never_occur():
    process = lincat.MarkovRewardProcess([0, 0], [1.0, 9.0], [0, 0], [1.0, 0.0])
    assert set(process.sample(10_000).reward) == {1.0}
