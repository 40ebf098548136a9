"""Python objects as sources, policies and features of a run."""

import gc
import inspect
from typing import ClassVar

import gymnasium
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lincat
from lincat import InvalidInputError, Transitions
from lincat.data.steps import Steps
from lincat.runs.config import EvaluationConfig

P = np.array([[0.5, 0.5, 0.0], [0.0, 0.6, 0.4], [0.7, 0.0, 0.3]])
R = np.array([1.0, 0.0, 2.0])
GAMMA = 0.8
PROCESS = lincat.MarkovRewardProcess.from_matrices(P, R)
VALUES = np.linalg.solve(np.eye(3) - GAMMA * P, R)
WALK = PROCESS.sample(20_000, seed=1)
QUICK = {"intervals": 40}
COLUMNS = {"state": WALK.state, "reward": WALK.reward, "next_state": WALK.next_state}


def _means(run, states=(0, 1, 2)):
    return run.predict(np.array(states)).mean()


class Corridor(gymnasium.Env):
    """Walk right to the end: a reward of 1 there, and what the policy does decides how soon."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reward: float = 1.0) -> None:
        self.reward = reward

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action else -1), 0), 3)
        return self.place, self.reward * (self.place == 3), self.place == 3, False, {}


def right(observation):
    return 1


# ------------------------------------------------------------------------------------- tables


def test_a_frame_gives_what_its_file_gives_and_that_is_the_truth(tmp_path):
    file = tmp_path / "log.parquet"
    pq.write_table(pa.table(COLUMNS), file)
    from_file = lincat.evaluate(file, gamma=GAMMA)
    run = lincat.evaluate(pa.table(COLUMNS), gamma=GAMMA)
    np.testing.assert_array_equal(run.returns.cdf_values, from_file.returns.cdf_values)
    assert run.trusted is True
    assert run.verdict == from_file.verdict
    assert run.config.source == ["<pyarrow.Table>"]
    assert run.answer.source == "pyarrow.Table"
    error = np.abs(_means(run) - VALUES)
    low, high = run.predict([0, 1, 2], confidence=0.999).interval("mean")
    assert (error <= (high - low) / 2).all()


def test_columns_may_be_a_mapping():
    renamed = {"place": WALK.state, "cash": WALK.reward, "then": WALK.next_state}
    columns = {"observation": "place", "reward": "cash", "next_observation": "then"}
    run = lincat.evaluate(renamed, gamma=GAMMA, columns=columns, validate=0, **QUICK)
    assert _means(run) == pytest.approx(VALUES, abs=0.1)


@pytest.mark.parametrize("kind", ["states", "dense", "sparse"])
def test_transitions_are_learned_from_as_they_are(kind):
    import scipy.sparse

    eye = {"dense": np.eye(3), "sparse": scipy.sparse.eye_array(3, format="csr")}.get(kind)
    phi, phi_next = (x if eye is None else eye[x] for x in (WALK.state, WALK.next_state))
    run = lincat.evaluate(Transitions(phi, WALK.reward, phi_next), gamma=GAMMA, **QUICK)
    found = run.predict(np.arange(3) if eye is None else np.eye(3)).mean()
    assert found == pytest.approx(VALUES, abs=0.1)
    assert run.validation.method == "held_out"


def test_steps_are_a_source_too():
    no = np.zeros(len(WALK.state), bool)
    steps = Steps(WALK.state, WALK.reward, WALK.next_state, no, no)
    assert _means(lincat.evaluate(steps, gamma=GAMMA, **QUICK)) == pytest.approx(VALUES, abs=0.1)


# ---------------------------------------------------------------- environments and processes


@pytest.mark.parametrize("source", [Corridor(), Corridor, lambda: Corridor()])
def test_environments_and_what_makes_them(source):
    run = lincat.evaluate(source, gamma=0.5, policy=right, steps=300, validate=20)
    assert run.predict([0, 1, 2]).mean() == pytest.approx([0.25, 0.5, 1.0], abs=1e-6)
    assert run.config.policy == "<right>"
    assert "right" in run.answer.source


def test_the_users_own_environment_is_left_alone():
    env = Corridor()
    env.reset(seed=3)
    env.place = 2
    lincat.evaluate(env, gamma=0.5, steps=300, validate=20)
    assert env.place == 2


def test_an_environment_of_a_name_with_a_policy_that_draws():
    def act(observation, rng):
        return int(rng.random() < 0.5)

    run = lincat.evaluate(
        gymnasium.make("FrozenLake-v1"), gamma=0.9, policy=act, steps=500, validate=20
    )
    assert run.config.source == ["<FrozenLake-v1>"]


def test_a_process_is_checked_exactly():
    run = lincat.evaluate(PROCESS, gamma=GAMMA, steps=20_000, **QUICK)
    assert run.validation.method == "exact"
    assert _means(run) == pytest.approx(VALUES, abs=0.1)
    problem = lincat.Problem("three", PROCESS, GAMMA, state_names=["a", "b", "c"])
    assert lincat.evaluate(problem, steps=2000, **QUICK).answer.gamma == GAMMA


def test_features_may_be_an_object():
    points = {"obs_x": WALK.state * 1.0, "reward": WALK.reward, "next_obs_x": WALK.next_state * 1.0}
    fourier = lincat.Fourier(order=2)
    run = lincat.evaluate(points, gamma=GAMMA, features=fourier, validate=0, **QUICK)
    assert _means(run, [[0.0], [1.0], [2.0]]) == pytest.approx(VALUES, abs=0.1)
    assert run.config.features == "<lincat.Fourier>"
    assert isinstance(lincat.read_run(run.path).model.features, lincat.Fourier)


# ------------------------------------------------------------------------------------ folders


def test_a_run_without_a_folder_has_one_for_as_long_as_it_lives(tmp_path):
    run = lincat.evaluate(COLUMNS, gamma=GAMMA, **QUICK)
    path = run.path
    assert (path / "result.json").exists()
    assert run.report().exists()
    kept = run.save(tmp_path / "kept")
    del run
    gc.collect()
    assert not path.exists()
    assert _means(kept) == pytest.approx(VALUES, abs=0.1)
    with pytest.raises(InvalidInputError, match="expected a new or empty folder"):
        kept.save(tmp_path / "kept")


def test_a_run_of_an_object_continues_with_the_object():
    table = pa.table(COLUMNS)
    short = lincat.evaluate(table, gamma=GAMMA, steps=5000, validate=0, **QUICK)
    with pytest.raises(InvalidInputError, match=r"source: .* <pyarrow.Table>.* source=\.\.\."):
        lincat.resume(short, steps=20_000)
    longer = lincat.resume(short, source=table, steps=20_000)
    whole = lincat.evaluate(table, gamma=GAMMA, steps=20_000, validate=0, **QUICK)
    assert longer.answer.transitions == 20_000
    np.testing.assert_allclose(_means(longer), _means(whole), rtol=1e-9)
    with pytest.raises(InvalidInputError, match="not finished, or steps= or append= to make it"):
        lincat.resume(longer)


def test_a_frame_that_has_grown_is_learned_from():
    table = pa.table(COLUMNS)
    run = lincat.evaluate(table.slice(0, 8000), gamma=GAMMA, **QUICK)
    before = run.answer.transitions
    grown = lincat.resume(run, source=table, append=True)
    assert grown.answer.transitions > 2 * before
    assert _means(grown) == pytest.approx(VALUES, abs=0.1)
    with pytest.raises(InvalidInputError, match="rows that are new"):
        lincat.resume(grown, source=table, append=True)


def test_the_command_line_says_that_the_object_is_needed(tmp_path):
    from lincat.runs.folder import RunFolder
    from lincat.runs.resuming import continued

    lincat.evaluate(COLUMNS, gamma=GAMMA, steps=5000, out=tmp_path / "run", **QUICK)
    with pytest.raises(InvalidInputError, match=r"source: expected the Python object .* <dict>"):
        continued(RunFolder.open(tmp_path / "run"), steps=9000)


# ---------------------------------------------------------------------------------- arguments


def test_the_arguments_are_the_fields_of_the_configuration():
    arguments = inspect.signature(lincat.evaluate).parameters
    fields = {field.name: field for field in msgspec.structs.fields(EvaluationConfig)}
    # In Python a cluster is a client, not an address; storage options may be secrets.
    given = {"out", "force", "client", "storage_options"}
    assert set(arguments) - given == set(fields) - {"given_in", "scheduler"}
    # A policy is none unless it is said: beside a log one that was said is refused.
    apart = ("source", "given_in", "scheduler", "env_options", "feature_options", "policy")
    assert arguments["policy"].default is None
    for name, field in fields.items():
        if name not in apart:
            assert arguments[name].default == field.default, name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gama": 0.9}, r"evaluate\(\): expected arguments that it has, got gama=; .* gamma=\?"),
        ({"n_step": 0}, r"evaluate, n_step: expected int >= 1, got 0"),
        ({"learner": "ctd"}, r"evaluate, learner: expected one of 'auto', .*, got 'ctd'"),
        ({"columns": {"rewrd": "x"}}, r"evaluate, columns: .*rewrd"),
        ({"columns": {"reward": "cash"}}, r"dict, reward: expected a column 'cash', got only"),
        ({"validate": 10**6}, r"got none that are not held out \(validate=1000000\)"),
        ({"features": object()}, r"features: expected a word, features such as lincat.Fourier"),
    ],
)
def test_errors_speak_of_arguments(options, said):
    with pytest.raises(InvalidInputError, match=said):
        lincat.evaluate(COLUMNS, **options)


def test_errors_name_no_flags(tmp_path):
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(InvalidInputError, match=r"^out=: .* add force=True to write over") as error:
        lincat.evaluate(COLUMNS, out=tmp_path)
    assert "--" not in str(error.value)
    with pytest.raises(InvalidInputError, match=r'name it: columns={"reward": "NAME"}'):
        lincat.evaluate({"state": [1, 2]})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (3, "source: expected a path or a name, a frame or .*, got int"),
        (
            lincat.FiniteMDP([0, 0], [0, 1], [0.0, 1.0], [0, 0], [1.0, 1.0]),
            r"mdp\.under\(policy\)",
        ),
        ([1, 2], "source: expected a path or a name"),
        ([{"state": 1, "reward": 1.0}], r"pyarrow\.Table\.from_pylist\(rows\)"),
        (np.eye(3), r"name its columns"),
    ],
)
def test_what_is_no_source(source, said):
    with pytest.raises(InvalidInputError, match=said):
        lincat.evaluate(source)


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame({"state": [1], "reward": [1.0]})
    with pytest.raises(InvalidInputError, match=r"source: .*|collect\(\)"):
        lincat.evaluate(lazy)


class Trained:
    """As a model of Stable-Baselines3 acts: an array of no dimensions for one observation."""

    asked: ClassVar[set[bool]] = set()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.add(deterministic)
        one = np.ndim(observation) == 0
        return (np.array(1) if one else np.ones(len(observation), dtype=np.int64)), None


@pytest.mark.parametrize("n_envs", [1, 3])
def test_a_trained_model_acts_as_it_is(n_envs):
    steps = {"gamma": 0.9, "steps": 300, "validate": 0}
    run = lincat.evaluate(Corridor, policy=Trained(), n_envs=n_envs, **steps)
    same = lincat.evaluate(Corridor, policy=lambda _: 1, n_envs=n_envs, **steps)
    assert "Trained" in run.answer.source
    np.testing.assert_array_equal(run.returns.cdf_values, same.returns.cdf_values)
    assert Trained.asked == {True}


def test_models_that_do_not_fit():
    class Plain:
        def predict(self, observation):
            return 7

    with pytest.raises(InvalidInputError, match="policy: expected an action in Discrete"):
        lincat.evaluate(Corridor(), policy=Plain(), steps=100)
    wrong = Trained()
    wrong.action_space = gymnasium.spaces.Box(0.0, 1.0)
    with pytest.raises(InvalidInputError, match="policy: expected a model trained for actions"):
        lincat.evaluate(Corridor(), policy=wrong, steps=100)


def wearing(rows=3000):
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south"], rows)
    load = rng.normal(size=rows).round(3)
    return {"site": site, "load": load, "reward": (site == "north") + load}


def by_name():
    compose = pytest.importorskip("sklearn.compose")
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    parts = [("s", OneHotEncoder(), ["site"]), ("l", StandardScaler(), ["load"])]
    return compose.ColumnTransformer(parts, sparse_threshold=0.0)


def test_a_transformer_gets_columns_by_name_and_is_given_again_to_read(tmp_path):
    pytest.importorskip("pandas")
    frame, made = wearing(), by_name()
    run = lincat.evaluate(frame, features=made, gamma=0.5, out=tmp_path / "run", validate=0)
    asked = {"load": [0.0, 1.0], "site": ["north", "south"]}
    means = run.predict(asked).mean()  # 1 or 0 now, 0.5 a step from then on
    np.testing.assert_allclose(means, [1.5, 1.5], atol=0.15)
    assert "3 features that ColumnTransformer makes" in " ".join(run.answer.notes)
    assert not hasattr(made, "transformers_")  # the user's own stays unfitted
    again = lincat.read_run(run.path, features=by_name())
    np.testing.assert_allclose(again.predict(asked).mean(), means)
    longer = {name: np.concatenate([x, x]) for name, x in frame.items()}
    more = lincat.resume(run, source=longer, features=by_name(), append=True)
    assert more.answer.transitions == 2 * len(frame["load"]) - 1
    with pytest.raises(InvalidInputError, match="the object that the features are made by"):
        lincat.read_run(run.path).model  # noqa: B018 - it is read when it is asked for


def test_what_makes_no_features():
    with pytest.raises(InvalidInputError, match="an object with a method transform, got 3"):
        lincat.evaluate(wearing(), features=3)


def test_an_environment_that_cannot_be_copied():
    class Stubborn(Corridor):
        def __deepcopy__(self, memo):
            raise TypeError("no copies")

    with pytest.raises(InvalidInputError, match=r"give a function that makes it"):
        lincat.evaluate(Stubborn())
    with pytest.raises(InvalidInputError, match="env_options: expected none for an environment"):
        lincat.evaluate(Corridor(), env_options={"reward": 2.0})
