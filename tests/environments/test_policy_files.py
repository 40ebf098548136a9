import json
import sys
import types
import zipfile

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.environments.gym import GymSource
from lincat.environments.policies import policy_from
from lincat.environments.policy_files import Table, Trained

CARTPOLE = (spaces.Box(-5, 5, (4,)), spaces.Discrete(2))
LAKE = (spaces.Discrete(3), spaces.Discrete(2))
SHIFTED = (spaces.Discrete(3, start=10), spaces.Discrete(2, start=5))


@pytest.mark.parametrize("suffix", [".json", ".npy"])
def test_tables_of_actions_and_probabilities(tmp_path, suffix):
    def save(values):
        path = tmp_path / f"table{suffix}"
        if suffix == ".npy":
            np.save(path, np.array(values))
        else:
            path.write_text(json.dumps(values))
        return str(path)

    policy = policy_from(save([5, 6, 5]), *SHIFTED)
    assert isinstance(policy, Table)
    assert policy.description == f"table table{suffix}"
    assert [policy.act(s) for s in (10, 11, 12)] == [5, 6, 5]
    np.testing.assert_array_equal(policy.act_many(np.array([12, 11]), 2), [5, 6])

    chance = [[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]]
    policy = policy_from(save(chance), *SHIFTED)
    drawn = policy.act_many(np.repeat([10, 11, 12], 4000), 12000).reshape(3, -1) - 5
    np.testing.assert_allclose(drawn.mean(axis=1), [1.0, 0.0, 0.7], atol=0.03)
    assert drawn[0].min() == 1
    assert drawn[1].max() == 0
    one = np.mean([policy.act(12) - 5 for _ in range(4000)])
    assert one == pytest.approx(0.7, abs=0.03)

    for values, message in (
        ([5, 6], r"shape \(3,\).*or \(3, 2\)"),
        ([5, 6, 7], "actions 5 .. 6, got 7 for state 2"),
        ([5, 5.5, 6], "got 5.5 for state 1"),
        ([[0.5, 0.5], [0.5, 0.4], [1, 0]], "a sum of 1 for every state, got 0.9 for state 1"),
        ([[0.5, 0.5], [1.5, -0.5], [1, 0]], "at least 0"),
        ([5, np.nan, 6], "finite"),
        (["a", "b", "c"], "numbers"),
    ):
        with pytest.raises(InvalidInputError, match=message) as caught:
            policy_from(save(values), *SHIFTED)
        assert f"table{suffix}" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_unreadable_tables(tmp_path):
    with pytest.raises(InvalidInputError, match=r"nowhere\.json.*FileNotFound"):
        policy_from(str(tmp_path / "nowhere.json"), *LAKE)
    (tmp_path / "bad.json").write_text("[1, 2")
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    np.save(tmp_path / "objects.npy", np.array([{}, 1], object), allow_pickle=True)
    for name in ("bad.json", "bad.npy", "objects.npy"):
        with pytest.raises(InvalidInputError, match="a table of numbers"):
            policy_from(str(tmp_path / name), *LAKE)
    (tmp_path / "fine.json").write_text("[0, 1, 0]")
    with pytest.raises(InvalidInputError, match="numbered observations"):
        policy_from(str(tmp_path / "fine.json"), *CARTPOLE)
    with pytest.raises(InvalidInputError, match="numbered actions"):
        policy_from(str(tmp_path / "fine.json"), LAKE[0], spaces.Box(0, 1, (1,)))


def test_models_need_trust(tmp_path):
    for text in ("model.zip", "sb3:PPO:model.zip"):
        with pytest.raises(InvalidInputError, match=r"--trust-pickle.*any code") as caught:
            policy_from(text, *CARTPOLE)
        assert "\n" not in str(caught.value)
    (tmp_path / "bad.zip").write_bytes(b"nothing")
    for name in ("bad.zip", "nowhere.zip"):
        with pytest.raises(InvalidInputError, match="a Stable-Baselines3 file"):
            policy_from(str(tmp_path / name), *CARTPOLE, trust_pickle=True)


class Leaning:
    """A trained model's manners: an action and its state, many of many, deterministic or not."""

    observation_space, action_space = CARTPOLE

    def predict(self, observations, state=None, deterministic=False):
        assert deterministic  # as it acts when it is evaluated
        return (np.asarray(observations)[..., 2] > 0).astype(np.int64), state


def test_objects_that_predict_are_policies():
    seen = np.array([[0, 0, 0.1, 0], [0, 0, -0.1, 0]], np.float32)
    policy = policy_from(Leaning(), *CARTPOLE)
    assert policy.description == "Leaning"
    assert [policy.act(x) for x in seen] == [1, 0]
    np.testing.assert_array_equal(policy.act_many(seen, 2), [1, 0])

    class Plain:
        def predict(self, observations):  # knows no other way to act, and has no spaces
            return 1 if np.ndim(observations) == 1 else [1, 0]

    policy = policy_from(Plain(), *CARTPOLE)
    assert policy.act(seen[0]) == 1
    np.testing.assert_array_equal(policy.act_many(seen, 2), [1, 0])

    class Native:
        predict = staticmethod(dict)  # without a signature that Python knows

    with pytest.raises(InvalidInputError, match=r"a model that predicts actions, got .* in Native"):
        policy_from(Native(), *CARTPOLE).act(seen[0])


@pytest.fixture
def trained(monkeypatch, tmp_path):
    """Stable-Baselines3 without its gigabytes: `load` of each kind, and a file as they write it."""
    loaded = []

    def load(kind):
        def read(path, device):
            loaded.append((kind, device))
            return Leaning()

        return staticmethod(read)

    kinds = ("PPO", "A2C", "DQN", "SAC", "TD3")
    module = types.ModuleType("stable_baselines3")
    for kind in kinds:
        setattr(module, kind, type(kind, (), {"load": load(kind)}))
    module.common = types.ModuleType("common")
    monkeypatch.setitem(sys.modules, "stable_baselines3", module)

    def write(content):
        path = tmp_path / "model.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data", json.dumps(content))
        return str(path)

    return module, write, loaded


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        ("clip_range", "PPO"),
        ("exploration_fraction", "DQN"),
        ("target_entropy", "SAC"),
        ("target_policy_noise", "TD3"),
        ("normalize_advantage", "A2C"),
    ],
)
def test_the_kind_of_a_trained_model_is_told_from_its_settings(trained, mark, kind):
    _, write, loaded = trained
    path = write({"gamma": 0.99, mark: 0.1})
    policy = policy_from(path, *CARTPOLE, trust_pickle=True)
    assert loaded == [(kind, "cpu")]
    assert policy.description == f"{kind} from model.zip"
    assert policy.act(np.array([0, 0, 0.1, 0])) == 1


def test_trained_models_that_cannot_be_used_are_one_line(trained, monkeypatch):
    module, write, _ = trained
    path = write({"clip_range": 0.1})
    with pytest.raises(InvalidInputError, match="a model trained for observations Discrete"):
        policy_from(path, *LAKE, trust_pickle=True)
    with pytest.raises(InvalidInputError, match="a model trained for actions Box"):
        policy_from(path, CARTPOLE[0], spaces.Box(0, 1, (1,)), trust_pickle=True)
    for text in (f"sb3:Nonsense:{path}", f"sb3:common:{path}"):
        with pytest.raises(InvalidInputError, match="sb3:PPO:, A2C, DQN"):
            policy_from(text, *CARTPOLE, trust_pickle=True)
    for content in ({"gamma": 0.99}, ["clip_range"]):
        with pytest.raises(InvalidInputError, match=r"its kind, as in sb3:PPO:model\.zip"):
            policy_from(write(content), *CARTPOLE, trust_pickle=True)

    def fails(path, device):
        raise RuntimeError("a tensor\nis missing")

    module.PPO.load = staticmethod(fails)
    with pytest.raises(InvalidInputError, match=r"a file that PPO\.load reads") as caught:
        policy_from(write({"clip_range": 0.1}), *CARTPOLE, trust_pickle=True)
    assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'lincat\[sb3\]'"):
        policy_from(path, *CARTPOLE, trust_pickle=True)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    sb3 = pytest.importorskip("stable_baselines3")
    folder = tmp_path_factory.mktemp("models")
    made = {}
    for kind in ("PPO", "A2C", "DQN", "SAC", "TD3", "DDPG"):
        options = {} if kind in ("PPO", "A2C") else {"buffer_size": 10}
        env_id = "CartPole-v1" if kind in ("PPO", "A2C", "DQN") else "Pendulum-v1"
        options |= {"device": "cpu", "policy_kwargs": {"net_arch": [8]}}
        made[kind] = getattr(sb3, kind)("MlpPolicy", env_id, **options)
        made[kind].save(folder / f"{kind}.zip")
    return folder, made


@pytest.mark.parametrize("kind", ["PPO", "A2C", "DQN", "SAC", "TD3", "DDPG"])
def test_trained_models_act_as_they_do_by_themselves(models, kind):
    folder, made = models
    env_id = "CartPole-v1" if kind in ("PPO", "A2C", "DQN") else "Pendulum-v1"
    env = gymnasium.make(env_id)
    seen = np.stack([env.reset(seed=i)[0] for i in range(6)])
    wanted = made[kind].predict(seen, deterministic=True)[0]
    for prefix in ("", f"sb3:{kind}:"):
        policy = policy_from(
            f"{prefix}{folder / kind}.zip",
            env.observation_space,
            env.action_space,
            trust_pickle=True,
        )
        assert isinstance(policy, Trained)
        np.testing.assert_allclose(policy.act_many(seen, 6), wanted, rtol=1e-6)
        np.testing.assert_allclose([policy.act(x) for x in seen], wanted, rtol=1e-5)
        assert env.action_space.contains(policy.act(seen[0]))


def test_trained_models_in_a_source_and_where_they_do_not_fit(models):
    folder, _ = models
    text = str(folder / "PPO.zip")
    for n_envs in (1, 3):
        source = GymSource("CartPole-v1", text, steps=100, n_envs=n_envs, trust_pickle=True)
        assert len(joined(list(source.batches()))) == 100
        assert source.description == "CartPole-v1, PPO from PPO.zip policy"
    with pytest.raises(InvalidInputError, match="a model trained for observations"):
        GymSource("MountainCar-v0", text, steps=10, trust_pickle=True)
    with pytest.raises(InvalidInputError, match="sb3:PPO:, A2C"):
        GymSource("CartPole-v1", f"sb3:Nonsense:{text}", steps=10, trust_pickle=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", b"[" * 100_000),
        ("large.json", b"[1" + b"0" * 400 + b"]"),
        ("header.npy", b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f8', (" + b" " * 20),
        (
            "long.npy",
            b"\x93NUMPY\x01\x00\x76\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }".ljust(117)
            + b"\n",
        ),
    ],
)
def test_files_that_are_no_tables_are_refused_in_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match="numbers") as error:
        policy_from(str(tmp_path / name), *SHIFTED)
    assert len(str(error.value)) < 2100
    assert "\n" not in str(error.value)
