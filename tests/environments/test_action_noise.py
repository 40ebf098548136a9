import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.environments.action_noise import action_numbers, n_numbers, uniform_means
from lincat.environments.gym import GymSource
from lincat.environments.policies import Policy, policy_from

CARTPOLE = (spaces.Box(-5, 5, (4,)), spaces.Discrete(2))


def wander(seen, rng):
    """Go right more often, the further to the left."""
    return int(rng.random() < 1.0 / (1.0 + np.exp(seen[0])))


class Memory(Policy):
    """Whose chances nobody knows."""

    def act(self, observation):
        return 0

    def act_many(self, observations, n):
        return np.zeros(n, np.int64)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(2),
        spaces.Discrete(5, start=3),
        spaces.Box(-2, 2, (1,)),
        spaces.Box(np.array([0, -3], np.float32), np.array([1, 5], np.float32)),
        spaces.Box(-1, 1, (2, 3)),
        spaces.Box(np.array([-1, 4], np.float32), np.array([1, 4], np.float32)),
    ],
    ids=str,
)
def test_noise_of_random_actions_has_mean_zero(space):
    policy = policy_from("random", spaces.Box(-1, 1, (1,)), space)
    policy.seed(0)
    n = 20_000
    noise = policy.noise(np.zeros((n, 1)), policy.act_many(np.zeros((n, 1)), n), n)
    assert noise.shape == (n, n_numbers(space))
    error = noise.std(axis=0) / np.sqrt(n)
    assert (np.abs(noise.mean(axis=0)) <= 5.0 * error + 1e-12).all()


@given(lean=st.floats(-0.2, 0.2), turning=st.floats(-2, 2))
def test_noise_of_balance_is_zero_on_average_over_both_actions(lean, turning):
    policy = policy_from("balance", *CARTPOLE)
    seen = np.array([[0.0, 0.0, lean, turning]] * 2)
    right = lean + policy.look_ahead * turning > 0.0
    chance = np.array([policy.wrong, 1.0 - policy.wrong] if right else [0.65, 0.35])
    noise = policy.noise(seen, np.array([0, 1]), 2)
    assert chance @ noise == pytest.approx(0.0, abs=1e-15)


def test_functions_are_asked_again_where_they_take_a_generator():
    policy = policy_from(wander, *CARTPOLE)
    assert policy.tells_chances
    policy.seed(1)
    n = 4000
    seen = np.zeros((n, 4))
    seen[:, 0] = np.linspace(-3, 3, n)
    actions = policy.act_many(seen, n)
    noise = policy.noise(seen, actions, n)[:, 0]
    assert abs(noise.mean()) < 5.0 * noise.std() / np.sqrt(n)
    assert abs((noise * seen[:, 0]).mean()) < 5.0 * (noise * seen[:, 0]).std() / np.sqrt(n)
    # The chance of action 0 less what eight draws make of it.
    left = 1.0 / (1.0 + np.exp(-seen[:, 0]))
    assert (noise - ((actions == 0) - left)).std() == pytest.approx(
        np.sqrt((left * (1 - left)).mean() / 8), rel=0.1
    )


@pytest.mark.parametrize(
    "policy",
    [
        policy_from(lambda seen: seen[2] > 0, *CARTPOLE),
        policy_from("random", CARTPOLE[0], spaces.MultiBinary(2)),
        policy_from("random", CARTPOLE[0], spaces.Discrete(50)),
        policy_from("random", CARTPOLE[0], spaces.Box(-np.inf, np.inf, (1,))),
        Memory(*CARTPOLE),
    ],
    ids=["certain", "bits", "many", "unbounded", "unknown"],
)
def test_policies_that_do_not_tell_their_chances(policy):
    assert not policy.tells_chances


def test_numbers_of_an_action():
    assert action_numbers(5, spaces.Discrete(3, start=4), 1).tolist() == [[0.0, 1.0]]
    box = spaces.Box(np.array([0.0, -1.0], np.float32), np.array([4.0, 1.0], np.float32))
    assert action_numbers([[1.0, 0.5]], box, 1).tolist() == [[-0.5, 0.5, 0.25, 0.25]]
    assert uniform_means(box).tolist() == [0.0, 0.0, 1 / 3, 1 / 3]
    free = spaces.Box(-np.inf, np.inf, (1,))
    assert action_numbers([[3.0]], free, 1).tolist() == [[3.0, 9.0]]
    assert action_numbers([[1e200]], free, 1).tolist() == [[1e200, np.inf]]


@pytest.mark.parametrize("n_envs", [1, 4])
def test_steps_of_cartpole_have_the_noise_of_what_was_done(n_envs):
    source = GymSource("CartPole-v1", "balance", steps=600, n_envs=n_envs, action_noise=True)
    steps = joined(list(source.batches()))
    # A push to the right makes the cart faster.
    left = steps.next_observation[:, 1] < steps.observation[:, 1]
    leans = steps.observation[:, 2] + 0.2 * steps.observation[:, 3] > 0.0
    expected = left - np.where(leans, 0.35, 0.65)
    np.testing.assert_allclose(steps.action_noise[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("n_envs", [1, 3])
def test_a_function_takes_the_same_steps_whether_it_is_asked_again_or_not(n_envs):
    taken = []
    for asked in (True, False):
        source = GymSource("CartPole-v1", wander, steps=300, n_envs=n_envs, action_noise=asked)
        taken.append(joined(list(source.batches())))
    assert taken[0].action_noise.shape == (300, 1)
    assert taken[1].action_noise is None
    np.testing.assert_array_equal(taken[0].observation, taken[1].observation)


def test_ids_have_no_noise():
    source = GymSource("FrozenLake-v1", steps=50, action_noise=True)
    assert next(source.batches()).action_noise is None


def test_noise_of_unknown_chances_is_refused():
    with pytest.raises(InvalidInputError, match="one that tells its chances"):
        Memory(*CARTPOLE).noise(np.zeros((1, 4)), np.zeros(1), 1)
