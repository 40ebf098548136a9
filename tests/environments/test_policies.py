import functools
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.environments.gym import GymSource
from lincat.environments.policies import Balance, Function, Uniform, policy_from

CARTPOLE = (spaces.Box(-5, 5, (4,)), spaces.Discrete(2))
LAKE = (spaces.Discrete(3), spaces.Discrete(2))
SHIFTED = (spaces.Discrete(3, start=10), spaces.Discrete(2, start=5))


def test_random_policy_repeats_with_its_seed_and_is_uniform():
    policy = policy_from("random", *LAKE)
    assert isinstance(policy, Uniform)
    policy.seed(3)
    first = [policy.act(0) for _ in range(2000)]
    policy.seed(3)
    assert [policy.act(0) for _ in range(2000)] == first
    assert 0.45 < np.mean(first) < 0.55
    many = policy_from("random", *SHIFTED).act_many(np.zeros(4000), 4000)
    assert set(many) == {5, 6}
    assert 5.45 < many.mean() < 5.55


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2,)),
        spaces.MultiDiscrete([2, 3]),
        spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0, 1, (1,))}),
    ],
    ids=str,
)
def test_random_actions_of_any_space_fit_a_vector_environment(space):
    policy = Uniform(LAKE[0], space)
    assert space.contains(policy.act(0))
    batch = policy.act_many(np.zeros(3), 3)
    assert gymnasium.vector.utils.batch_space(space, 3).contains(batch)


def test_balance_pushes_where_the_pole_leans_but_often_errs():
    policy = policy_from("balance", *CARTPOLE)
    assert isinstance(policy, Balance)
    policy.seed(0)
    leaning = np.array([0.0, 0.0, 0.1, 0.0])
    one = np.mean([policy.act(leaning) for _ in range(4000)])
    many = policy.act_many(np.tile(leaning, (4000, 1)), 4000).mean()
    assert one == pytest.approx(0.65, abs=0.03)
    assert many == pytest.approx(0.65, abs=0.03)
    assert np.mean([policy.act(-leaning) for _ in range(4000)]) == pytest.approx(0.35, abs=0.03)
    # About to lean the other way: what counts is where it will be.
    turning = np.array([0.0, 0.0, 0.1, -1.0])
    assert policy.act_many(np.tile(turning, (4000, 1)), 4000).mean() < 0.4


def test_balance_makes_returns_that_are_worth_a_look():
    source = GymSource("CartPole-v1", "balance", steps=40_000, n_envs=64)
    whole = joined(list(source.batches()))
    lengths = 1.0 / whole.terminated.mean()
    assert 35 < lengths < 80
    assert whole.truncated.sum() < 0.01 * len(whole)


def test_functions_of_one_and_two_arguments():
    lean = policy_from(lambda seen: seen[2] > 0, *CARTPOLE)
    assert isinstance(lean, Function)
    assert lean.description == "a Python function"
    assert [lean.act(np.array([0, 0, x, 0])) for x in (-1, 1)] == [0, 1]
    np.testing.assert_array_equal(lean.act_many(np.eye(4)[:3], 3), [0, 0, 1])

    def noisy(seen, rng):
        return rng.integers(2)

    policy = policy_from(noisy, *CARTPOLE)
    runs = []
    for _ in range(2):
        policy.seed(5)
        runs.append([policy.act(np.zeros(4)) for _ in range(50)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {0, 1}
    # A default is a setting, not a place for the generator.
    scaled = policy_from(lambda seen, scale=2: scale * 0, *CARTPOLE)
    assert scaled.act(np.zeros(4)) == 0
    # Nor is what functools.partial has filled in.
    fixed = policy_from(functools.partial(lambda action, seen: action, 1), *CARTPOLE)
    assert fixed.act(np.zeros(4)) == 1


def test_vectorised_functions_see_all_observations_at_once():
    shapes = []

    def lean(seen):
        shapes.append(seen.shape)
        return (seen[:, 2] > 0).astype(int)

    lean.vectorised = True
    policy = policy_from(lean, *CARTPOLE)
    np.testing.assert_array_equal(policy.act_many(np.eye(4), 4), [0, 0, 1, 0])
    assert policy.act(np.eye(4)[2]) == 1
    assert shapes == [(4, 4), (1, 4)]

    plain = policy_from(lambda seen: int(seen[2] > 0), *CARTPOLE)
    for n_envs in (1, 5):
        a, b = (
            joined(list(GymSource("CartPole-v1", p, steps=300, n_envs=n_envs).batches()))
            for p in (lambda seen: int(seen[2] > 0), lean)
        )
        np.testing.assert_array_equal(a.observation, b.observation)
    assert plain.description != lean.__name__


def test_vectorised_function_of_pairs():
    space = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0, 1, (1,))})
    actions = spaces.Box(-1, 1, (2,))

    def both(seen):
        return np.column_stack([seen["a"], seen["b"][:, 0]])

    both.vectorised = True
    policy = policy_from(both, space, actions)
    found = policy.act({"a": 1, "b": np.array([0.5], np.float32)})
    np.testing.assert_allclose(found, [1.0, 0.5])
    assert actions.contains(found)
    slow = policy_from(lambda seen: [seen["a"], seen["b"][0]], space, actions)
    batch = {"a": np.array([0, 1]), "b": np.array([[0.25], [0.5]], np.float32)}
    np.testing.assert_allclose(slow.act_many(batch, 2), policy.act_many(batch, 2))


@pytest.mark.parametrize(
    ("action", "space"),
    [
        (2, spaces.Discrete(2)),
        (-1, spaces.Discrete(2)),
        (0.5, spaces.Discrete(2)),
        (None, spaces.Discrete(2)),
        ([0, 1], spaces.Discrete(2)),
        ("left", spaces.Discrete(2)),
        ([2.0], spaces.Box(-1, 1, (1,))),
        ([np.nan], spaces.Box(-1, 1, (1,))),
        ([0.0, 0.0], spaces.Box(-1, 1, (1,))),
        ("left", spaces.Box(-1, 1, (1,))),
        ([[1], [2, 3]], spaces.Box(-1, 1, (1,))),
        ([5, 0], spaces.MultiDiscrete([2, 2])),
    ],
)
def test_wrong_actions_are_one_line(action, space):
    policy = policy_from(lambda seen: action, CARTPOLE[0], space)
    with pytest.raises(InvalidInputError, match=r"policy: expected an action in .*, got") as caught:
        policy.act(np.zeros(4))
    assert "\n" not in str(caught.value)

    def vectorised(seen):
        return [action] * len(seen)

    vectorised.vectorised = True
    with pytest.raises(InvalidInputError, match="policy: expected"):
        policy_from(vectorised, CARTPOLE[0], space).act_many(np.zeros((3, 4)), 3)


def test_function_that_raises_is_one_line():
    def broken(seen):
        return seen["angle"]

    policy = policy_from(broken, *CARTPOLE)
    with pytest.raises(InvalidInputError, match=r"IndexError.*in .*broken") as caught:
        policy.act(np.zeros(4))
    assert "\n" not in str(caught.value)


def test_function_of_a_module_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "my_local_policy.py").write_text(
        "def always(seen):\n    return 1\nname = 'not a function'\n"
    )
    (tmp_path / "my_broken_policy.py").write_text("def always(seen)\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    policy = policy_from("my_local_policy:always", *CARTPOLE)
    assert policy.act(np.zeros(4)) == 1
    assert policy.description == "my_local_policy:always"
    for text, message in (
        ("my_local_policy:name", "a function of my_local_policy, got 'name'"),
        ("my_local_policy:nothing", "got 'nothing'"),
        ("my_broken_policy:always", "SyntaxError"),
        ("my_missing_policy:always", "No module named"),
        (":always", "'module:name' of something"),
    ):
        with pytest.raises(InvalidInputError, match=message) as caught:
            policy_from(text, *CARTPOLE)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "nothing", "model.pt", 3])
def test_unknown_policies(text):
    with pytest.raises(InvalidInputError, match="random, balance, module:function"):
        policy_from(text, *LAKE)


def test_modules_that_leave_are_errors_of_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaves_at_once.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "leaves_later.py").write_text("import sys\n\ndef act(x):\n    sys.exit(3)\n")
    with pytest.raises(InvalidInputError, match=r"can be imported, got .* \(SystemExit: 3\)"):
        policy_from("leaves_at_once:act", *LAKE)
    with pytest.raises(InvalidInputError, match="returns an action, got SystemExit: 3 in act"):
        policy_from("leaves_later:act", *LAKE).act(0)
