import dataclasses
import sys
import warnings

import gymnasium
import minari
import numpy as np
import pytest

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.environments.minari import MinariSource
from tests.environments.cases import Counting, turns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def record(env, policy, episodes, name, data_format="hdf5"):
    """Write a data set with Minari itself; return the plain transitions."""
    rows, buffers = [], []
    for i in range(episodes):
        seen, _ = env.reset(seed=i)
        observations, actions, first, over = [seen], [], len(rows), False
        while not over:
            old = np.array(seen, float)
            actions.append(policy(old))
            seen, reward, terminated, truncated, _ = env.step(actions[-1])
            over = terminated or truncated
            observations.append(seen)
            rows.append((old, reward, np.array(seen, float), terminated, truncated))
        _, rewards, _, terminations, truncations = map(list, zip(*rows[first:], strict=True))
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                id=i,
                observations=np.array(observations),
                actions=np.array(actions),
                rewards=rewards,
                terminations=terminations,
                truncations=truncations,
            )
        )
    about = dict.fromkeys(("algorithm_name", "author", "author_email", "code_permalink"), "test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would like more to be said about the data
        minari.create_dataset_from_buffers(name, buffers, env=env, data_format=data_format, **about)
    return [np.array(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("data_format", ["hdf5", "arrow"])
def test_recorded_cartpole_comes_back(folder, data_format):
    env = gymnasium.make("CartPole-v1", max_episode_steps=30)
    wanted = record(env, lambda seen: int(seen[2] > 0), 12, "cartpole/lean-v0", data_format)
    assert wanted[4].any()
    assert wanted[3].any()
    source = MinariSource("cartpole/lean-v0")
    n = len(wanted[1])
    assert source.length == n
    assert source.description == "Minari cartpole/lean-v0, 12 episodes"
    assert source.space.names[2] == "pole angle"
    whole = joined(list(source.batches()))
    for column, values in zip(
        ("observation", "reward", "next_observation", "terminated", "truncated"),
        wanted,
        strict=True,
    ):
        np.testing.assert_array_equal(getattr(whole, column), values)
    assert whole.observation.dtype == np.float64
    assert source.starts.shape == (12, 4)
    for skip in (1, 29, 30, 31, n - 1, n, n + 5):
        parts = list(source.batches(skip=skip))
        assert sum(map(len, parts)) == max(n - skip, 0)
        if parts:
            np.testing.assert_array_equal(joined(parts).observation, wanted[0][skip:])
            np.testing.assert_array_equal(joined(parts).reward, wanted[1][skip:])


def test_known_episodes_and_numbered_states(folder):
    record(Counting(careless=False), turns, 6, "counting-v0")
    whole = joined(list(MinariSource("counting-v0").batches()))
    assert whole.observation[:, 2].tolist() == [0, 1, 2, 0, 0, 1, 2, 3] * 2
    assert np.flatnonzero(whole.terminated).tolist() == [2, 7, 11]
    ends = whole.terminated | whole.truncated
    assert np.flatnonzero(ends).tolist() == [2, 3, 7, 10, 11, 15]
    assert not (whole.terminated & whole.truncated).any()

    lake = gymnasium.make("FrozenLake-v1")
    wanted = record(lake, lambda seen: 1, 5, "lake-v0")
    source = MinariSource("lake-v0")
    assert source.space.n_states == 16
    whole = joined(list(source.batches()))
    np.testing.assert_array_equal(whole.next_observation, wanted[2].astype(int))


def test_missing_and_malformed_data_sets_are_one_line(folder):
    for name in ("nothing/here-v0", "no version", ""):
        with pytest.raises(InvalidInputError, match="minari") as caught:
            MinariSource(name)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInputError, match="minari download nothing/here-v0"):
        MinariSource("nothing/here-v0")
    (folder / "broken-v0" / "data").mkdir(parents=True)
    (folder / "broken-v0" / "data" / "metadata.json").write_text("{")
    with pytest.raises(InvalidInputError, match="broken-v0") as caught:
        MinariSource("broken-v0")
    assert "\n" not in str(caught.value)


def test_missing_package_prints_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'lincat\[minari\]'"):
        MinariSource("a-v0")


def test_a_data_set_that_breaks_within_is_one_line(folder, monkeypatch):
    record(Counting(careless=False), turns, 3, "counting-v0")
    source = MinariSource("counting-v0")
    whole = source._data.iterate_episodes

    def short(indices):
        for episode in whole(indices):
            yield dataclasses.replace(episode, observations=episode.observations[:-1])

    monkeypatch.setattr(source._data, "iterate_episodes", short)
    with pytest.raises(InvalidInputError, match="episode 0: expected 4 observations for 3 steps"):
        list(source.batches())

    def broken(indices):
        raise OSError("a block\ncannot be read")

    monkeypatch.setattr(source._data, "iterate_episodes", broken)
    with pytest.raises(InvalidInputError, match="episode 0: expected readable data") as caught:
        list(source.batches())
    assert "\n" not in str(caught.value)


def test_long_data_sets_come_in_batches(folder, monkeypatch):
    record(Counting(careless=False), turns, 6, "counting-v0")
    monkeypatch.setattr("lincat.environments.minari._BATCH_STEPS", 5)
    source = MinariSource("counting-v0")
    batches = list(source.batches())
    assert [len(batch) for batch in batches] == [8, 8]  # whole episodes, 3 + 1 + 4 steps
    assert joined(batches).observation[:, 2].tolist() == [0, 1, 2, 0, 0, 1, 2, 3] * 2


def test_data_sets_that_need_other_packages_or_hold_nothing(folder, monkeypatch):
    class Empty:
        env_spec = None
        observation_space = Counting().observation_space
        total_steps = total_episodes = 0

    monkeypatch.setattr(minari, "load_dataset", lambda name: Empty())
    with pytest.raises(InvalidInputError, match="at least one step, got an empty data set"):
        MinariSource("empty-v0")

    def needs(name):
        raise ImportError("No module named 'h5py'")

    monkeypatch.setattr(minari, "load_dataset", needs)
    with pytest.raises(InvalidInputError, match=r"its packages installed, got .*h5py"):
        MinariSource("empty-v0")
