import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lincat import InvalidInputError
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined

COLUMNS = (
    *("observation", "reward", "next_observation", "terminated", "truncated"),
    *("discount", "weight"),
)


def random_steps(n, seed, *, points, own_discounts):
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(n + 1, 2)) if points else np.arange(n + 1)
    terminated = rng.random(n) < 0.2
    truncated = ~terminated & (rng.random(n) < 0.2)
    return Steps(
        *(state[:-1], rng.normal(size=n), state[1:], terminated, truncated),
        *((rng.random(n), rng.random(n)) if own_discounts else (None, None)),
    )


def naively(steps, n, gamma):
    rows = []
    for i in range(len(steps)):
        reward, discount, weight = 0.0, 1.0, 1.0
        for j in range(i, min(i + n, len(steps))):
            reward += discount * steps.reward[j]
            discount *= gamma if steps.discount is None else steps.discount[j]
            weight *= 1.0 if steps.weight is None else steps.weight[j]
            if steps.terminated[j] or steps.truncated[j]:
                break
        rows.append(
            (
                *(steps.observation[i], reward, steps.next_observation[j]),
                *(steps.terminated[j], steps.truncated[j], discount, weight),
            )
        )
    return [np.array(column) for column in zip(*rows, strict=True)]


@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=8).filter(any),
    n=st.integers(2, 9),
    gamma=st.floats(0.0, 1.0),
    seed=st.integers(0, 100),
    points=st.booleans(),
    own_discounts=st.booleans(),
)
def test_equals_the_slow_sum_however_it_is_split(lengths, n, gamma, seed, points, own_discounts):
    steps = random_steps(sum(lengths), seed, points=points, own_discounts=own_discounts)
    edges = np.cumsum([0, *lengths])
    parts = [steps[a:b] for a, b in itertools.pairwise(edges)]
    found = joined(list(n_step(parts, n, gamma)))
    for name, expected in zip(COLUMNS, naively(steps, n, gamma), strict=True):
        if name == "weight" and not own_discounts:
            assert found.weight is None
        elif name in ("reward", "discount", "weight"):
            np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(getattr(found, name), expected)


def test_one_step_is_left_as_it_is():
    steps = random_steps(5, 0, points=True, own_discounts=False)
    assert list(n_step([steps], 1, 0.9)) == [steps]


def test_a_known_answer():
    no = np.zeros(4, dtype=bool)
    steps = Steps(np.arange(4), np.array([1.0, 2.0, 4.0, 8.0]), np.arange(1, 5), no, no)
    three = joined(list(n_step([steps], 3, 0.5)))
    np.testing.assert_array_equal(three.reward, [3.0, 6.0, 8.0, 8.0])
    np.testing.assert_array_equal(three.discount, [0.125, 0.125, 0.25, 0.5])
    np.testing.assert_array_equal(three.next_observation, [3, 4, 4, 4])


def test_memory_is_bounded():
    """Each batch comes out before the next but one is asked for."""
    asked = 0

    def batches():
        nonlocal asked
        for seed in range(10):
            asked += 1
            yield random_steps(50, seed, points=True, own_discounts=False)

    for given_back, part in enumerate(n_step(batches(), 5, 0.9), 1):
        assert asked <= given_back
        assert len(part) <= 54


@pytest.mark.parametrize(("n", "gamma"), [(0, 0.9), (1.5, 0.9), (2, 1.5), (2, float("nan"))])
def test_arguments_are_checked_at_once(n, gamma):
    with pytest.raises(InvalidInputError, match=r"^(n|gamma): expected"):
        n_step([], n, gamma)
