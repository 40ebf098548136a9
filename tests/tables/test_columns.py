import msgspec
import pytest

from lincat import InvalidInputError
from lincat.tables.columns import Columns, find_columns


def find(names, **given):
    return find_columns(Columns(**given), names.split(), "log.csv")


def test_common_names_are_found():
    found = find("next_state r done episode_id t state timeout weight discount other")
    assert found.observation == ("state",)
    assert found.next_observation == ("next_state",)
    assert (found.reward, found.terminated, found.truncated) == ("r", "done", "timeout")
    assert (found.episode, found.weight, found.discount) == ("episode_id", "weight", "discount")
    assert found.step is None  # transitions need none
    assert "other" not in found.needed
    assert find("state r t").step == "t"


@pytest.mark.parametrize(
    ("names", "observation"),
    [
        ("obs_10 obs_2 obs_1 reward", ("obs_1", "obs_2", "obs_10")),
        ("obs_speed obs_angle reward", ("obs_speed", "obs_angle")),
        ("observation obs_0 reward", ("observation",)),
        ("state_0 state_1 reward", ("state_0", "state_1")),
        ("obs_0 obs_1 obs_next_0 obs_next_1 reward", ("obs_0", "obs_1")),
    ],
)
def test_observations_are_found_by_prefix(names, observation):
    assert find(names).observation == observation


def test_next_observations_follow_the_order_of_observations():
    found = find("next_obs_b next_obs_a obs_a obs_b reward")
    assert found.observation == ("obs_a", "obs_b")
    assert found.next_observation == ("next_obs_a", "next_obs_b")
    found = find("x0 x1 y1 y0 reward", observation="x*", next_observation="y*")
    assert found.next_observation == ("y0", "y1")
    found = find("x0 x1 y1 y0 reward", observation=("x1", "x0"), next_observation=("y0", "y1"))
    assert (found.observation, found.next_observation) == (("x1", "x0"), ("y0", "y1"))


def test_columns_that_are_nothing_else_are_observed_by_default():
    found = find("episode t site load reward action done")
    assert (found.observation, found.by_default) == (("site", "load"), True)
    assert (found.next_observation, found.step) == (None, "t")
    found = find("site load next_site load_next reward")
    assert (found.observation, found.next_observation) == (
        ("site", "load"),
        ("next_site", "load_next"),
    )
    assert not find("state site load reward").by_default


def test_an_empty_name_means_no_such_column():
    found = find("obs reward next_obs done", next_observation="", terminated="")
    assert found.next_observation is None
    assert found.terminated is None


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        ("r a", {}, "log.csv, observation: expected a column named observation, .* only r, a;"),
        ("x y next_x reward", {}, "next_observation: expected a column next_y, as others have"),
        ("obs b", {}, "log.csv, reward: expected a column named reward, rewards or r, got only"),
        ("obs r", {"reward": "cash"}, "log.csv, reward: expected a column 'cash', got only obs, r"),
        ("obs r", {"observation": "x_*"}, r"observation: expected a column 'x_\*', got only"),
        ("obs r", {"observation": ("obs", "y")}, "observation: expected a column 'y'"),
        ("obs r", {"observation": ("obs", "obs")}, "columns.observation: expected names"),
        ("obs r", {"observation": "*_*"}, "columns.observation: expected a pattern with one star"),
        ("obs r done", {"terminated": "end"}, "terminated: expected a column 'end'"),
        ("obs_0 obs_1 next_obs_0 r", {}, "next_observation: expected one column for each of"),
        ("obs_a obs_b next_obs_a next_obs_c r", {}, "next_observation: expected one column for"),
        ("obs r r", {}, "expected columns of different names, got 'r' more than once"),
    ],
)
def test_what_is_missing_is_said_with_what_there_is(names, given, message):
    with pytest.raises(InvalidInputError, match=message):
        find(names, **given)


def test_the_mapping_can_be_part_of_a_configuration():
    columns = Columns(observation=("a", "b"), reward="cash", kind="points")
    text = msgspec.toml.encode(columns)
    assert msgspec.toml.decode(text, type=Columns) == columns
    with pytest.raises(msgspec.ValidationError, match="unknown field `rewards`"):
        msgspec.toml.decode("rewards = 'r'", type=Columns)
