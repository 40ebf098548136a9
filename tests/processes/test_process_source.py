import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lincat import InvalidInputError, catalog
from lincat.data.steps import joined
from lincat.processes.process_source import ProcessSource

LAKE = catalog.frozen_lake().process
COIN = catalog.uniform_coin().process


@pytest.mark.parametrize("process", [LAKE, COIN])
@pytest.mark.parametrize("kind", ["markov", "generative"])
def test_steps_are_those_of_the_process(process, kind):
    source = ProcessSource(process, steps=20_000, seed=4, kind=kind)
    whole = joined(list(source.batches()))
    drawn = process.sample(20_000, seed=4, kind=kind)
    np.testing.assert_array_equal(whole.observation, drawn.state)
    np.testing.assert_array_equal(whole.reward, drawn.reward)
    np.testing.assert_array_equal(whole.next_observation, drawn.next_state)
    np.testing.assert_array_equal(whole.terminated, drawn.terminated)
    if kind == "markov":
        assert not whole.truncated.any()
    else:
        np.testing.assert_array_equal(whole.truncated, ~whole.terminated)


@given(skip=st.integers(0, 20_001), seed=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_beginning_anywhere_gives_the_same_steps(skip, seed):
    source = ProcessSource(LAKE, steps=20_000, seed=seed)
    drawn = LAKE.sample(20_000, seed=seed)
    parts = list(source.batches(skip=skip))
    assert sum(map(len, parts)) == max(20_000 - skip, 0)
    if parts:
        whole = joined(parts)
        np.testing.assert_array_equal(whole.observation, drawn.state[skip:])
        np.testing.assert_array_equal(whole.terminated, drawn.terminated[skip:])


def test_names_and_starts():
    problem = catalog.random_walk()
    source = ProcessSource(
        problem.process, steps=30_000, state_names=problem.state_names, name="random_walk"
    )
    assert source.state_names == problem.state_names
    assert source.space.n_states == problem.process.n_states
    assert source.description.startswith("random_walk, ")
    assert len(source.starts) == 0
    list(source.batches())
    assert len(source.starts) == 256
    share = np.bincount(source.starts, minlength=problem.process.n_states) / 256
    np.testing.assert_allclose(share, problem.process.initial, atol=0.1)
    continuing = ProcessSource(COIN, steps=100)
    list(continuing.batches())
    assert len(continuing.starts) == 1
    assert ProcessSource(LAKE, steps=1).state_names[15] == "15"


@pytest.mark.parametrize(
    "options",
    [{"steps": 0}, {"steps": 5, "kind": "x"}, {"steps": 5, "seed": -1}, {"steps": 1.5}],
)
def test_wrong_arguments(options):
    with pytest.raises(InvalidInputError):
        ProcessSource(LAKE, **options)
    with pytest.raises(InvalidInputError, match="state_names: expected 16"):
        ProcessSource(LAKE, steps=5, state_names=["a"])
