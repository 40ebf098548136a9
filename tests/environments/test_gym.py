import functools
import math
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.environments.encoding import Observations
from lincat.environments.gym import GymSource
from lincat.environments.making import quiet
from tests.environments.cases import Counting, plain_loop, turns

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]


def several(n, mode, lengths=(3, 1, 4)):
    # In this mode Gymnasium itself loses the last observation of a careless environment.
    careless = mode is not AutoresetMode.SAME_STEP
    makers = [functools.partial(Counting, who, lengths, careless) for who in range(n)]
    return lambda: SyncVectorEnv(makers, autoreset_mode=mode)


def assert_same_as_plain_loop(batches, n_envs, lengths=(3, 1, 4)):
    """Each environment's rows are those of a plain loop; blocks that go on are marked truncated."""
    whole = joined(batches)
    last_of_block = np.zeros(len(whole), bool)
    place = 0
    for batch in batches:
        who = batch.observation[:, 0]
        assert (np.diff(who) >= 0).all()  # environment by environment
        ends = np.append(np.flatnonzero(np.diff(who)), len(batch) - 1)
        last_of_block[place + ends] = True
        place += len(batch)
    for who in range(n_envs):
        mine = whole.observation[:, 0] == who
        rows = plain_loop(Counting(who, lengths), turns, int(mine.sum()))
        if not rows:
            continue
        seen, reward, following, terminated, truncated = map(np.array, zip(*rows, strict=True))
        np.testing.assert_array_equal(whole.observation[mine], seen)
        np.testing.assert_array_equal(whole.next_observation[mine], following)
        np.testing.assert_array_equal(whole.reward[mine], reward)
        np.testing.assert_array_equal(whole.terminated[mine], terminated)
        marked = truncated | (last_of_block[mine] & ~terminated)
        found = whole.truncated[mine]
        if mine[-1]:  # the very last row may have been cut anywhere
            marked, found = marked[:-1], found[:-1]
        np.testing.assert_array_equal(found, marked)


def test_single_environment_equals_a_plain_loop():
    source = GymSource(Counting, turns, steps=10_000)
    batches = list(source.batches())
    assert [len(b) for b in batches] == [4096, 4096, 1808]
    rows = plain_loop(Counting(), turns, 10_000)
    whole = joined(batches)
    for i, column in enumerate(("observation", "reward", "next_observation", "terminated")):
        np.testing.assert_array_equal(getattr(whole, column), [row[i] for row in rows])
    np.testing.assert_array_equal(whole.truncated, [row[4] for row in rows])
    assert whole.observation.dtype == whole.reward.dtype == np.float64


@pytest.mark.parametrize("mode", MODES)
def test_vector_environments_of_each_mode_equal_a_plain_loop(mode):
    source = GymSource(several(3, mode), turns, steps=500, block=16)
    assert source.n_envs == 3
    batches = list(source.batches())
    assert sum(map(len, batches)) == 500 == source.length
    assert_same_as_plain_loop(batches, 3)
    # Every episode start is (who, episode, 0).
    assert (source.starts[:, 2] == 0).all()
    assert len(source.starts) > 100


@given(
    mode=st.sampled_from(MODES),
    n_envs=st.integers(1, 4),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    block=st.integers(1, 9),
    steps=st.integers(1, 60),
)
@settings(max_examples=80, deadline=None)
def test_any_episodes_and_blocks_equal_a_plain_loop(mode, n_envs, lengths, block, steps):
    source = GymSource(several(n_envs, mode, lengths), turns, steps=steps, block=block)
    batches = list(source.batches())
    assert sum(map(len, batches)) == steps
    assert_same_as_plain_loop(batches, n_envs, lengths)


@pytest.mark.parametrize("mode", MODES)
def test_termination_counts_where_the_time_is_up_as_well(mode):
    class Both(Counting):
        def step(self, action):
            seen, reward, terminated, truncated, info = super().step(action)
            return seen, reward, terminated or truncated, terminated or truncated, info

    makers = [functools.partial(Both, who, careless=False) for who in range(2)]
    for make in (makers[0], lambda: SyncVectorEnv(makers, autoreset_mode=mode)):
        whole = joined(list(GymSource(make, turns, steps=30, block=30).batches()))
        assert whole.terminated.sum() >= 10
        assert not (whole.terminated & whole.truncated).any()


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "Acrobot-v1", "Taxi", "Blackjack-v1"])
def test_random_actions_run_in_real_environments(env_id):
    for n_envs in (1, 3):
        source = GymSource(env_id, steps=300, n_envs=n_envs)
        whole = joined(list(source.batches()))
        assert len(whole) == 300
        assert len(source.starts) >= n_envs
        if source.space.low is not None:
            assert whole.next_observation.shape == (300, len(source.space.names))
            assert (whole.next_observation >= source.space.low - 1e-6).all()


def test_function_that_makes_one_environment_makes_many():
    source = GymSource(Counting, turns, steps=200, n_envs=4, block=10)
    whole = joined(list(source.batches()))
    assert len(whole) == 200
    np.testing.assert_array_equal(
        whole.next_observation[:, 2], whole.observation[:, 2] + 1
    )  # no reset has slipped in


@pytest.mark.parametrize(
    "metadata", [{}, {"autoreset_mode": "sometimes"}, {"autoreset_mode": None}, None]
)
def test_unknown_autoreset_mode_is_refused(metadata):
    def make():
        env = several(2, AutoresetMode.NEXT_STEP)()
        env.metadata = metadata
        return env

    with pytest.raises(InvalidInputError, match=r"autoreset_mode.*n_envs=1"):
        GymSource(make, steps=10)


def test_last_observation_is_found_under_its_old_name_and_missed_otherwise():
    class Renamed(SyncVectorEnv):
        name = "final_observation"

        def step(self, actions):
            *rest, info = super().step(actions)
            if "final_obs" in info:
                info[self.name] = info.pop("final_obs")
            return (*rest, info)

    class Silent(Renamed):
        name = "nothing"

    makers = [functools.partial(Counting, who, careless=False) for who in range(2)]
    source = GymSource(lambda: Renamed(makers, autoreset_mode="SameStep"), turns, steps=50)
    assert_same_as_plain_loop(list(source.batches()), 2)
    source = GymSource(lambda: Silent(makers, autoreset_mode="SameStep"), turns, steps=50)
    with pytest.raises(InvalidInputError, match="final_obs"):
        list(source.batches())


@pytest.mark.parametrize("n_envs", [1, 16])
def test_cartpole_moves_by_its_own_physics(n_envs):
    def lean(seen):
        return int(seen[2] > 0)

    source = GymSource("CartPole-v1", lean, steps=600, n_envs=n_envs)
    whole = joined(list(source.batches()))
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset()
    for i in range(600):
        env.state = whole.observation[i].copy()
        env.steps_beyond_terminated = None
        following, reward, terminated, _, _ = env.step(lean(whole.observation[i]))
        np.testing.assert_allclose(whole.next_observation[i], following, atol=1e-5)
        assert whole.reward[i] == reward
        assert whole.terminated[i] == terminated
    assert 3 < whole.terminated.sum() < 100
    follows = ~(whole.terminated | whole.truncated)[:-1]
    np.testing.assert_array_equal(
        whole.observation[1:][follows], whole.next_observation[:-1][follows]
    )


@pytest.mark.parametrize("n_envs", [1, 3])
def test_time_limit_truncates_and_the_last_observation_stays(n_envs):
    source = GymSource(
        "MountainCar-v0", "random", steps=600, n_envs=n_envs, env_options={"max_episode_steps": 50}
    )
    whole = joined(list(source.batches()))
    assert not whole.terminated.any()
    assert whole.truncated.sum() >= 600 // 50 - n_envs
    # The truncated step's velocity is the difference of its own positions, not a reset's.
    moved = whole.next_observation[:, 0] - whole.observation[:, 0]
    np.testing.assert_allclose(moved, whole.next_observation[:, 1], atol=1e-6)


def test_same_seed_same_steps_and_each_skip_has_its_own():
    def take(seed, skip=0, n_envs=1):
        source = GymSource("CartPole-v1", "balance", steps=300, seed=seed, n_envs=n_envs)
        return joined(list(source.batches(skip=skip)))

    for n_envs in (1, 4):
        first, again, other = take(1, 0, n_envs), take(1, 0, n_envs), take(2, 0, n_envs)
        np.testing.assert_array_equal(first.next_observation, again.next_observation)
        assert not np.array_equal(first.observation, other.observation)
        later = take(1, 100, n_envs)
        assert len(later) == 200
        assert not np.array_equal(later.observation[:50], first.observation[:50])
    source = GymSource("CartPole-v1", steps=10)
    assert list(source.batches(skip=10)) == []
    # Going through it twice does not carry anything over.
    source = GymSource("CartPole-v1", "random", steps=100, n_envs=2)
    one, two = (joined(list(source.batches())) for _ in range(2))
    np.testing.assert_array_equal(one.observation, two.observation)


def test_space_has_names_and_bounds():
    space = GymSource("CartPole-v1", steps=1).space
    assert space.names == (
        "cart position",
        "cart velocity",
        "pole angle",
        "pole angular velocity",
    )
    assert space.n_states is None
    assert space.high[1] == math.inf == -space.low[3]
    assert space.high[0] == pytest.approx(4.8)
    lake = GymSource("FrozenLake-v1", steps=100)
    assert (lake.space.n_states, lake.space.names) == (16, ("observation",))
    steps = next(lake.batches())
    assert steps.observation.dtype == np.int64
    assert steps.observation.shape == (100,)
    assert set(lake.starts) == {0}


class Odd(gymnasium.Env):
    """Any observation space; what comes out is what went in."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, space, observation=None, reward=0.0):
        self.observation_space, self.action_space = space, spaces.Discrete(2)
        self.observation, self.reward, self.time = observation, reward, 0

    def _observe(self):
        if self.observation is not None and self.time >= 7:
            return self.observation
        return self.observation_space.sample()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        self.time += 1
        return self._observe(), self.reward, self.time % 5 == 0, False, {}


PICTURE = spaces.Box(0, 255, (3, 4, 2), np.uint8)
HAND = spaces.Dict(
    {"bet": spaces.Discrete(20, start=2), "more": spaces.Tuple([spaces.MultiBinary(2)])}
)
PAIR = spaces.Dict(
    {"place": spaces.Box(-1, 1, (2,)), "card": spaces.Discrete(3, start=1), "on": spaces.Text(1)}
)


@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(4, start=-2),
        PICTURE,
        spaces.Box(-1, 1, ()),
        spaces.MultiDiscrete([3, 2]),
        spaces.MultiBinary(3),
        spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (1,))]),
        HAND,
        PAIR,
        spaces.Text(4),
    ],
    ids=str,
)
def test_every_kind_of_observation_becomes_rows(space, n_envs):
    raw = []

    def policy(seen):
        raw.append(seen)
        return 1

    source = GymSource(lambda: Odd(space), policy, steps=60, n_envs=n_envs)
    whole = joined(list(source.batches()))
    assert len(whole) == 60
    assert len(raw) >= 60
    with quiet():  # it remarks upon a Box of no dimensions
        assert all(space.contains(seen) for seen in raw)
    m = len(source.space.names)
    if source.space.low is not None:
        assert whole.observation.shape == (60, m) == (60, source.space.low.size)
        assert whole.observation.dtype == np.float64
        assert (whole.observation >= source.space.low).all()
        assert (whole.next_observation <= source.space.high).all()
        assert source.starts.shape[1] == m
    else:
        assert whole.observation.shape == (60,)
        assert source.starts.ndim == 1
        if source.space.n_states is None:
            assert all(isinstance(text, str) for text in whole.observation)
        else:
            assert set(whole.observation) <= set(range(source.space.n_states))
    follows = ~(whole.terminated | whole.truncated)[:-1]
    np.testing.assert_array_equal(
        whole.observation[1:][follows], whole.next_observation[:-1][follows]
    )


def test_whole_numbers_stay_whole_numbers():
    """So that few of them can have a table; beside other numbers they become indicators."""
    hand = Observations(HAND)
    assert hand.space.names == ("bet", "more[0][0]", "more[0][1]")
    np.testing.assert_array_equal(hand.one({"bet": 14, "more": (np.array([1, 0]),)}), [14, 1, 0])
    np.testing.assert_array_equal(hand.space.low, [2, 0, 0])
    np.testing.assert_array_equal(hand.space.high, [21, 1, 1])
    assert "card=1" in Observations(PAIR).space.names
    cards = GymSource("Blackjack-v1", steps=10).space
    assert cards.names == ("player's sum", "dealer's card", "usable ace")


def test_pictures_come_in_small_batches():
    space = spaces.Box(0, 255, (210, 160, 3), np.uint8)
    source = GymSource(lambda: Odd(space), steps=100)
    assert source.block * source.space.low.size * 16 <= 64 << 20


def test_spaces_without_a_fixed_size_are_refused():
    with pytest.raises(InvalidInputError, match=r"observation space.*Sequence"):
        GymSource(lambda: Odd(spaces.Sequence(spaces.Discrete(2))), steps=10)


@pytest.mark.parametrize("n_envs", [1, 2])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Odd(PICTURE, reward=np.nan), r"Odd.*, step 0.*finite reward, got nan"),
        (
            lambda: Odd(spaces.Box(0, 1, (2,)), np.array([0, np.inf])),
            r"step \d.*inf for obs.*\[1\]",
        ),
        (lambda: Odd(spaces.Discrete(3), 7), r"step \d.*7, which is not in Discrete\(3\)"),
        (lambda: Odd(spaces.Box(0, 1, (2,)), np.zeros(3)), r"step \d.*ValueError"),
    ],
)
def test_bad_numbers_name_the_step(make, message, n_envs):
    make.__name__ = "Odd"
    source = GymSource(make, steps=50, n_envs=n_envs)
    with pytest.raises(InvalidInputError, match=message) as caught:
        list(source.batches())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("CartPol-v1",), "Did you mean: `CartPole`"),
        (("CartPole-v9",), "v9.*doesn't exist"),
        (("Cart Pole",), "Malformed"),
        (("no_such_module:Env-v0",), "module that can be imported, got 'no_such_module'"),
        ((lambda: 3,), "gymnasium.Env, got int"),
        ((3,), "an id or a function"),
        ((lambda: 1 / 0,), "ZeroDivisionError"),
        (("CartPole-v1", "balance", 0), "steps.*at least 1"),
        (("CartPole-v1", "nonsense"), "policy.*got 'nonsense'"),
        (("FrozenLake-v1", "balance"), "like CartPole"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(arguments, message):
    environment, policy, steps = (*arguments, *("random", 10)[len(arguments) - 1 :])
    with pytest.raises(InvalidInputError, match=message) as caught:
        GymSource(environment, policy, steps=steps)
    assert "\n" not in str(caught.value)


def test_wrong_options_are_refused():
    for n_envs in (1, 2):
        with pytest.raises(InvalidInputError, match="gravity"):
            GymSource("CartPole-v1", steps=5, n_envs=n_envs, env_options={"gravity": 1})
    with pytest.raises(InvalidInputError, match="n_envs: expected 2"):
        GymSource(several(2, MODES[0]), steps=5, n_envs=3)


def test_missing_packages_are_named_with_the_remedy():
    pytest.importorskip("gymnasium")
    for env_id, module in (("LunarLander-v3", "Box2D"), ("HalfCheetah-v5", "mujoco")):
        try:
            __import__(module)
        except ImportError:
            with pytest.raises(InvalidInputError, match="pip install"):
                GymSource(env_id, steps=5)


def test_environment_that_raises_is_one_line():
    class Broken(Counting):
        def step(self, action):
            if self.time == 2:
                raise RuntimeError("the motor\nis hot")
            return super().step(action)

    for n_envs in (1, 2):
        with pytest.raises(InvalidInputError, match=r"step 2.*RuntimeError: the motor is hot"):
            list(GymSource(Broken, turns, steps=20, n_envs=n_envs).batches())


def test_environments_of_a_module_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "my_local_envs.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('MyLake-v3', 'gymnasium.envs.toy_text:FrozenLakeEnv')\n"
        "def lake(size=4):\n"
        "    return gymnasium.make('FrozenLake-v1', map_name=f'{size}x{size}')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert GymSource("my_local_envs:MyLake-v3", steps=5).space.n_states == 16
    big = GymSource("my_local_envs:lake", steps=5, env_options={"size": 8}, n_envs=2)
    assert big.space.n_states == 64


def test_gymnasiums_own_warnings_stay_away():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        source = GymSource("CartPole-v0", steps=50)  # out of date, it would say
        list(source.batches())
    assert [str(w.message) for w in heard] == []
    assert GymSource("CartPole", steps=1).name == "CartPole-v1"


def test_environments_are_closed():
    closed = []

    class Closing(Counting):
        def close(self):
            closed.append(1)

    source = GymSource(Closing, turns, steps=20_000)
    assert len(closed) == 1
    stream = source.batches()
    next(stream)
    stream.close()
    assert len(closed) == 2


def test_a_package_that_an_environment_needs_is_named():
    def needs():
        raise ModuleNotFoundError("No module named 'box2d'", name="box2d")

    with pytest.raises(InvalidInputError, match="it needs the package box2d: pip install box2d"):
        GymSource(needs, steps=10)


def test_last_observations_of_older_libraries():
    """A list in "final_observation", as SAME_STEP had it before."""

    class Older(SyncVectorEnv):
        def step(self, actions):
            *found, info = super().step(actions)
            if "final_obs" in info:
                info["final_observation"] = list(info.pop("final_obs"))
            return (*found, info)

    def make():
        makers = [functools.partial(Counting, who, (3, 1, 4), False) for who in range(2)]
        return Older(makers, autoreset_mode=AutoresetMode.SAME_STEP)

    assert_same_as_plain_loop(list(GymSource(make, turns, steps=100, block=16).batches()), 2)


def test_environments_that_fail_to_start_an_episode_are_one_line():
    class Stuck(Counting):
        def reset(self, *, seed=None, options=None):
            raise RuntimeError("the door\nis locked")

    with pytest.raises(
        InvalidInputError, match=r"reset to work, got .*the door is locked"
    ) as error:
        list(GymSource(Stuck, steps=10).batches())
    assert "\n" not in str(error.value)
