import numpy as np
import pytest

import lincat
from lincat import catalog


@pytest.mark.parametrize("name", catalog.names())
def test_every_named_problem_is_complete(name):
    problem = catalog.build(name)
    process = problem.process
    assert 0.0 <= problem.gamma < 1.0
    assert problem.Phi.shape[0] == process.n_states
    assert len(problem.state_names) == process.n_states
    np.testing.assert_allclose(process.stationary.sum(), 1.0)
    assert len(process.sample(10).reward) == 10


def test_paper_numbers():
    main, unit = catalog.paper(), catalog.paper("unit_norm")
    np.testing.assert_allclose(main.process.stationary, np.array([3, 5, 3]) / 11)
    np.testing.assert_allclose(unit.process.stationary, np.array([40, 28, 29]) / 97)
    norms = np.linalg.norm(main.Phi, axis=1)
    np.testing.assert_allclose(norms, [1.005, 1.044, 1.034], atol=5e-4)
    assert np.linalg.norm(unit.Phi, axis=1).max() <= 1.0
    covariance = main.Phi.T @ np.diag(main.process.stationary) @ main.Phi
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance), [0.03370, 0.06902, 0.96], atol=5e-6)


def test_boyan_chain_values_are_twice_the_distance_without_discount():
    """Boyan (2002): V(s) = -2 s at gamma = 1; here at a gamma so near that it hardly matters."""
    problem = catalog.boyan_chain(gamma=1 - 1e-9)
    value = lincat.solve_value(
        problem.process, np.eye(13), problem.gamma, weights=np.full(13, 1 / 13)
    )
    np.testing.assert_allclose(value, -2.0 * np.arange(13), atol=1e-6)
    assert problem.Phi.shape == (13, 4)
    np.testing.assert_allclose(problem.Phi.sum(axis=1), 1.0)


def test_random_walk_values_rise_linearly_without_discount():
    """Sutton and Barto, Example 6.2: 1/6, 2/6, ..., 5/6 at gamma = 1."""
    problem = catalog.random_walk(gamma=1 - 1e-9)
    value = lincat.solve_value(problem.process, np.eye(7), problem.gamma, weights=np.full(7, 1 / 7))
    np.testing.assert_allclose(value[1:-1], np.arange(1, 6) / 6, atol=1e-7)


def test_cliff_walking():
    problem = catalog.toy_text("CliffWalking-v1", gamma=0.9)
    assert problem.process.n_states == 48
    assert problem.process.terminated.any()
    assert problem.process.reward_range == (-100.0, -1.0)


def test_frozen_lake_under_a_given_policy():
    always_left = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    problem = catalog.toy_text("FrozenLake-v1", policy=always_left, is_slippery=False)
    dist = lincat.true_returns(problem.process, 0.95, lincat.Grid(0.0, 1.0, 10))
    np.testing.assert_allclose(dist.mean(), 0.0, atol=1e-12)  # it walks into the wall for ever


def test_random_processes_follow_the_seed_and_scale_their_features():
    one, two = catalog.random_process(50, n_features=5), catalog.random_process(50, n_features=5)
    np.testing.assert_array_equal(one.process.reward, two.process.reward)
    other = catalog.random_process(50, n_features=5, seed=1)
    assert (other.process.reward[:10] != one.process.reward[:10]).any()
    assert one.Phi.shape == (50, 5)
    assert np.linalg.norm(one.Phi, axis=1).max() == pytest.approx(1.0)
    assert not one.is_tabular
    assert catalog.random_process(50).is_tabular


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: catalog.paper("other"), "variant: expected one of 'main', 'unit_norm'"),
        (lambda: catalog.build("nope"), "name: expected one of 'paper'"),
        (lambda: catalog.boyan_chain(14), r"n_states: expected 4m \+ 1 states"),
        (lambda: catalog.toy_text("Nope-v0"), "env_id: expected a registered environment"),
        (lambda: catalog.toy_text("CartPole-v1"), "env_id: expected a toy-text environment"),
        (lambda: catalog.random_process(0), "n_states: expected an integer of at least 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        call()
