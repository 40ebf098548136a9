import random
import re
import threading
import time
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleEnv, CartPoleVectorEnv

import lincat.environments.rollouts
from lincat import InvalidInputError, catalog, solve_value
from lincat.environments import copies
from lincat.environments.rollouts import rollouts
from tests.environments.cases import Counting, Hollow, Noisy, Outside, Uncopyable, turns


def test_vector_rollouts_have_the_distribution_of_single_ones(monkeypatch):
    options = {"gamma": 0.9, "n_states": 4, "per_state": 200, "seed": 3}
    fast = rollouts("CartPole-v1", "balance", **options)
    monkeypatch.setattr(lincat.environments.rollouts, "_vector_version", lambda *_: None)
    slow = rollouts("CartPole-v1", "balance", **options)
    assert fast.returns.shape == slow.returns.shape == (4, 200)
    assert fast.horizon == slow.horizon == 88
    np.testing.assert_array_equal(fast.observation, slow.observation)
    deviation = np.hypot(fast.returns.std(axis=1), slow.returns.std(axis=1)) / np.sqrt(200)
    assert deviation.max() > 0.05
    assert (abs(fast.returns.mean(axis=1) - slow.returns.mean(axis=1)) < 5 * deviation).all()
    assert (abs(np.log(fast.returns.std(axis=1) / slow.returns.std(axis=1))) < 0.5).all()


def test_ten_thousand_cartpole_rollouts_are_quick():
    begun = time.process_time()
    found = rollouts("CartPole-v1", "balance", gamma=0.95, n_states=50, per_state=200)
    assert time.process_time() - begun < 8.0
    assert found.returns.shape == (50, 200)
    assert "200 rollouts" in found.method
    # Returns lie between one reward and the whole sum, and states differ.
    assert found.returns.min() >= 1.0
    assert found.returns.max() <= 20.0
    assert found.returns.mean(axis=1).std() > 1.0
    assert len(np.unique(found.observation, axis=0)) == 50


def test_vector_version_that_moves_otherwise_is_not_used():
    gymnasium.register(
        "HeavyCartPole-v0",
        "gymnasium.envs.classic_control.cartpole:CartPoleEnv",
        vector_entry_point=HeavyVector,
        max_episode_steps=500,
    )
    try:
        found = rollouts("HeavyCartPole-v0", "balance", gamma=0.5, n_states=2, per_state=3)
        assert HeavyVector.made == [2]  # tried out, and no more
        assert found.returns.shape == (2, 3)
    finally:
        del gymnasium.registry["HeavyCartPole-v0"]


class HeavyVector(CartPoleVectorEnv):
    made: ClassVar[list[int]] = []

    def __init__(self, num_envs=1, **options):
        super().__init__(num_envs, **options)
        self.made.append(num_envs)
        self.force_mag = 1.0


def test_rollouts_ignore_the_time_limit():
    limit = {"max_episode_steps": 10}
    for policy in (lambda seen: int(seen[2] + 0.2 * seen[3] > 0), "balance"):
        short = rollouts(
            "CartPole-v1", policy, gamma=0.9, n_states=3, per_state=3, env_options=limit
        )
        assert (abs(short.observation[:, 2]) < 0.2).all()
        assert short.broken_off == 0
    good = rollouts(
        "CartPole-v1",
        lambda seen: int(seen[2] + 0.2 * seen[3] > 0),
        gamma=0.9,
        n_states=4,
        per_state=2,
        env_options=limit,
    )
    np.testing.assert_allclose(good.returns, 10.0)  # cut off, and taken to continue


def test_frozen_lake_rollouts_agree_with_the_exact_means():
    problem = catalog.frozen_lake()
    values = solve_value(problem.process, np.eye(16), 0.8, weights=np.full(16, 1 / 16))
    found = rollouts("FrozenLake-v1", "random", gamma=0.8, n_states=12, per_state=400)
    assert found.observation.dtype == np.int64
    error = found.returns.mean(axis=1) - values[found.observation]
    allowed = 5 * (found.returns.std(axis=1) + 0.02) / np.sqrt(400)
    assert (abs(error) < allowed).all()


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "Taxi", "CliffWalking", "Blackjack-v1"])
def test_copies_of_random_environments_part_ways(env_id):
    found = rollouts(env_id, "random", gamma=0.9, n_states=8, per_state=20)
    assert "copies" in found.method
    assert found.returns.std(axis=1).max() > 0.0


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "Acrobot-v1", "Pendulum-v1"])
def test_copies_do_not_disturb_the_original(env_id):
    env = gymnasium.make(env_id)
    env.reset(seed=0)
    before, _ = copies.copied(env)
    for _ in range(3):
        copied, generators = copies.copied(env)
        assert len(generators) >= 1
        assert copied.unwrapped is not env.unwrapped
        for _ in range(5):
            copied.step(copied.action_space.sample())
    action = env.action_space.sample()
    np.testing.assert_array_equal(env.step(action)[0], before.step(action)[0])


def test_hidden_generators_are_found_and_reseeded():
    found = rollouts(Noisy, gamma=0.5, n_states=5, per_state=50)
    assert "copies" in found.method
    # Given the place x, the first reward is x + normal: the mean return is about 2x.
    assert (found.returns.std(axis=1) > 0.3).all()
    assert len(np.unique(found.returns)) == 250
    # A walk from x continues from x: rewards x + steps, discounted by half.
    near = abs(found.observation[:, 0]) < 2
    np.testing.assert_allclose(
        found.returns.mean(axis=1)[near], 2 * found.observation[near, 0], atol=1.5
    )


def test_known_returns_of_the_counting_environment():
    found = rollouts(Counting, turns, gamma=0.5, n_states=40, per_state=2)
    assert found.horizon == 14
    lengths = (3, 1, 4)
    for row, returns in zip(found.observation, found.returns, strict=True):
        _, episode, start = row.astype(int)
        total, discount = 0.0, 1.0
        for t in range(start + 1, lengths[episode % 3] + 1):
            total += discount * (100 * episode + 10 * t + (t - 1) % 2)
            discount *= 0.5
        np.testing.assert_allclose(returns, total)
    # Odd episodes are truncated by the environment itself, and that is counted.
    odd = int((found.observation[:, 1] % 2 == 1).sum())
    assert found.broken_off == 2 * odd > 0
    assert f"cut {2 * odd} of them short" in found.method


def test_states_are_chosen_uniformly_over_time():
    found = rollouts(Counting, turns, gamma=0.0, n_states=200, per_state=1)
    # Episodes of lengths 3, 1, 4 (and again, with the other ending): 3/8 of all states at time 0.
    share = np.bincount(found.observation[:, 2].astype(int), minlength=4) / 200
    np.testing.assert_allclose(share, [3 / 8, 2 / 8, 2 / 8, 1 / 8], atol=0.12)
    np.testing.assert_array_equal(
        found.returns[:, 0],
        100 * found.observation[:, 1]
        + 10 * (found.observation[:, 2] + 1)
        + found.observation[:, 2] % 2,
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Uncopyable, r"cannot be copied \(TypeError"),
        (Hollow, r"has copies that cannot be stepped \(AssertionError"),
        (Outside, "do not behave alike"),
    ],
)
def test_environments_that_cannot_be_copied_give_single_returns(make, reason):
    found = rollouts(make, gamma=0.5, n_states=20, per_state=10)
    assert found.returns.shape == (200, 1)
    assert found.observation.shape == (200, 1)
    assert "one return from each of 200 visited states, because" in found.method
    assert re.search(reason, found.method)
    if make is Outside:  # moves by 1/4 to the end beyond 5, a reward of 1 for each move
        left = np.floor((5 - found.observation[:, 0]) / 0.25) + 1
        left[left > found.horizon] = np.inf  # cut off, and taken to continue
        np.testing.assert_allclose(found.returns[:, 0], (1 - 0.5**left) / 0.5)


def test_short_episodes_are_not_stepped_for_long():
    """One state an episode, once it is seen how short they are: of three steps here."""
    steps = []

    class Short(Counting):
        def __init__(self):
            super().__init__(lengths=(3,))
            self.lock = threading.Lock()  # cannot be copied

        def step(self, action):
            steps.append(action)
            observation, reward, terminated, truncated, told = super().step(action)
            return observation, reward, terminated or truncated, False, told

    found = rollouts(Short, gamma=0.9, n_states=20, per_state=20)
    assert "one return from each of 400" in found.method
    assert len(steps) < 3_000
    assert len(np.unique(found.observation[:, 1])) > 200  # episodes


def test_single_returns_go_beyond_the_time_limit():
    def make():
        return gymnasium.wrappers.TimeLimit(Outside(), 4)

    found = rollouts(make, gamma=0.5, n_states=50, per_state=1)
    assert found.observation.max() <= 0.75  # as a stream with the limit visits
    np.testing.assert_allclose(found.returns, 2.0, rtol=1e-12)  # as if it went on so
    assert found.broken_off == 0


def test_same_seed_same_returns():
    for env_id in ("CartPole-v1", "FrozenLake-v1"):
        options = {"gamma": 0.8, "n_states": 4, "per_state": 5}
        one, again = (rollouts(env_id, "random", seed=1, **options) for _ in range(2))
        other = rollouts(env_id, "random", seed=2, **options)
        np.testing.assert_array_equal(one.returns, again.returns)
        np.testing.assert_array_equal(one.observation, again.observation)
        assert not np.array_equal(one.observation, other.observation)


@pytest.mark.parametrize(("gamma", "horizon"), [(0.0, 1), (0.5, 14), (0.95, 180), (0.99, 917)])
def test_horizon(gamma, horizon):
    assert lincat.environments.rollouts._horizon(gamma) == horizon
    assert gamma**horizon < 1e-4
    assert horizon == 1 or gamma ** (horizon - 1) >= 1e-4


class Dealt(gymnasium.Env):
    """Observes how many cards were drawn; ends after the second, and pays what was dealt first."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, hides=True):
        self.observation_space = spaces.Discrete(2)
        self.action_space = spaces.Discrete(1)
        self.hides = hides

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.drawn, self.card = 0, self.np_random.integers(0, 2)
        return self.drawn, {}

    def step(self, action):
        self.drawn += 1
        card = self.card if self.hides else self.np_random.integers(0, 2)
        over = self.drawn == 2
        return min(self.drawn, 1), float(card) if over else 0.0, over, False, {}


@pytest.mark.parametrize("hides", [True, False])
def test_copies_that_know_more_than_is_observed_are_told(hides):
    found = rollouts(lambda: Dealt(hides), gamma=1.0, n_states=20, per_state=10)
    assert ("knows more than is observed" in found.method) == hides
    assert found.returns.shape == ((200, 1) if hides else (20, 10))
    assert set(found.returns.ravel()) == {0.0, 1.0}
    assert 0.3 < found.returns.mean() < 0.7  # each observation has both


def test_without_discounting_episodes_are_rolled_to_their_end(monkeypatch):
    found = rollouts("FrozenLake-v1", gamma=1.0, n_states=5, per_state=20)
    assert set(found.returns.ravel()) <= {0.0, 1.0}
    poles = rollouts("CartPole-v1", "balance", gamma=1.0, n_states=5, per_state=20)
    assert (poles.returns == poles.returns.round()).all()  # steps, which count 1 each
    monkeypatch.setattr(lincat.environments.rollouts, "_LONGEST", 2)
    for environment in ("FrozenLake-v1", "CartPole-v1", Uncopyable):
        with pytest.raises(InvalidInputError, match=r"gamma: .*episodes that end, got one that"):
            rollouts(environment, gamma=1.0, n_states=5, per_state=20)


def test_long_rollouts_are_fewer_from_each_state():
    options = {"gamma": 0.9, "n_states": 3, "per_state": 50}
    found = rollouts("FrozenLake-v1", most_steps=1, **options)
    assert found.returns.shape == (3, 30)
    assert found.method.startswith("30 rollouts from copies")
    assert rollouts("FrozenLake-v1", most_steps=10**6, **options).returns.shape == (3, 50)


def test_wrong_arguments_are_one_line():
    class Broken(Noisy):
        def step(self, action):
            raise RuntimeError("no\nmotor")

    class Rich(Noisy):
        def step(self, action):
            return np.array([self.place]), np.inf, False, False, {}

    class Lost(Noisy):
        def step(self, action):
            return np.array([np.nan]), 0.0, False, False, {}

    for make, options, message in (
        ("CartPol-v1", {}, "Did you mean"),
        ("CartPole-v1", {"gamma": 1.1}, "gamma"),
        ("CartPole-v1", {"most_steps": 0}, "most_steps"),
        ("CartPole-v1", {"n_states": 0}, "n_states"),
        (lambda: gymnasium.make_vec("CartPole-v1", num_envs=2), {}, "single environment"),
        (Broken, {}, "RuntimeError: no motor"),
        (Lost, {}, "finite observations"),
        (Rich, {}, "finite rewards, got a return that is not finite"),
    ):
        with pytest.raises(InvalidInputError, match=message) as caught:
            rollouts(make, **{"gamma": 0.5, "n_states": 3, "per_state": 2, **options})
        assert "\n" not in str(caught.value)


def stateless(num_envs=1, **options):
    """A vector of single ones, which has no state that could be set."""
    return gymnasium.vector.SyncVectorEnv([CartPoleEnv] * num_envs)


def not_made(num_envs=1, **options):
    raise OSError("no room for vectors")


def wrapped(**options):
    """Whose rewards are twice those of the vector version, which knows nothing of the wrapper."""
    return gymnasium.wrappers.TransformReward(CartPoleEnv(), lambda reward: 2.0 * reward)


@pytest.mark.parametrize(
    ("single", "vector"),
    [(CartPoleEnv, stateless), (CartPoleEnv, not_made), (wrapped, CartPoleVectorEnv)],
)
def test_a_vector_version_that_cannot_be_used_is_left_alone(single, vector):
    gymnasium.register("OddCartPole-v0", single, vector_entry_point=vector, max_episode_steps=500)
    options = {"gamma": 0.5, "n_states": 2, "per_state": 3}
    try:
        found = rollouts("OddCartPole-v0", "balance", **options)
        again = rollouts(lambda: gymnasium.make("OddCartPole-v0"), "balance", **options)
    finally:
        del gymnasium.registry["OddCartPole-v0"]
    np.testing.assert_array_equal(found.returns, again.returns)  # by copies, one by one


def test_vector_rollouts_stop_when_all_have_fallen():
    def left(observation):
        return 0

    found = rollouts("CartPole-v1", left, gamma=0.99, n_states=2, per_state=2)
    assert found.horizon == 917
    # Pushed to one side all the time a pole falls within ten steps or so.
    assert (found.returns < 15.0).all()
    assert (found.returns >= 1.0).all()


class Library(Noisy):
    """A walk by generators of other kinds: NumPy's old one, Python's own."""

    def reset(self, *, seed=None, options=None):
        observation = super().reset(seed=seed)
        if seed is not None:
            self.old, self.own = np.random.RandomState(seed), random.Random(seed)
        return observation

    def step(self, action):
        self.place += self.old.normal() + self.own.gauss(0.0, 1.0)
        return np.array([self.place]), self.place, abs(self.place) > 5, False, {}


def test_copies_part_ways_whatever_their_generators_are():
    found = rollouts(Library, gamma=0.5, n_states=3, per_state=20)
    assert "copies" in found.method
    assert len(np.unique(found.returns)) == 60
    one, again = (rollouts(Library, gamma=0.5, n_states=3, per_state=4, seed=2) for _ in range(2))
    np.testing.assert_array_equal(one.returns, again.returns)


class Uncertain(Uncopyable):
    """Cannot be copied, and breaks off by itself."""

    def __init__(self):
        super().__init__(limit=3)


def test_single_returns_that_break_off_are_counted():
    found = rollouts(Uncertain, gamma=0.5, n_states=10, per_state=2)
    assert found.returns.shape == (20, 1)
    assert found.broken_off > 10
    assert f"the environment itself cut {found.broken_off} of them short" in found.method
