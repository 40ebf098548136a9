import json

import numpy as np
import pytest

import lincat

COIN = {
    "gamma": 0.5,
    "outcomes": [
        {"state": 0, "reward": 0, "next_state": 0, "probability": 0.5},
        {"state": 0, "reward": 1, "next_state": 0, "probability": 0.5},
    ],
}
CHAIN = {"gamma": 0.9, "transitions": [[0.5, 0.5], [0.2, 0.8]], "rewards": [0, 1]}


def read(tmp_path, content):
    file = tmp_path / "process.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return lincat.read_problem(file)


def test_outcomes(tmp_path):
    problem = read(tmp_path, COIN)
    assert problem.name == "process"
    assert problem.gamma == 0.5
    assert problem.process.reward.tolist() == [0.0, 1.0]
    assert problem.is_tabular


def test_matrices_with_names_and_features(tmp_path):
    extra = {"name": "two", "states": ["low", "high"], "features": [[1, 0], [1, 1]], "note": "n"}
    problem = read(tmp_path, CHAIN | extra)
    assert (problem.name, problem.note) == ("two", "n")
    assert problem.state_names == ("low", "high")
    np.testing.assert_array_equal(problem.Phi, [[1, 0], [1, 1]])


def test_rewards_per_transition(tmp_path):
    problem = read(tmp_path, CHAIN | {"rewards": [[0, 1], [2, 3]]})
    assert problem.process.reward.tolist() == [0, 1, 2, 3]


def test_names_actions_policy_and_ends(tmp_path):
    content = {
        "gamma": 0.9,
        "states": ["shop", "closed"],
        "terminal": ["closed"],
        "initial": [1, 0],
        "policy": [[0.25, 0.75], [1, 0]],
        "outcomes": [
            {
                "state": "shop",
                "action": "wait",
                "reward": 1,
                "next_state": "shop",
                "probability": 1,
            },
            {"state": 0, "action": "close", "reward": 5, "next_state": 1, "probability": 1},
        ],
    }
    process = read(tmp_path, content).process
    assert process.probability.tolist() == [0.25, 0.75, 1.0]
    assert process.terminated.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (COIN | {"gama": 1}, "unknown field `gama`"),
        ({**COIN, "outcomes": [{**COIN["outcomes"][0], "prob": 1}]}, "unknown field `prob`"),
        ({"outcomes": COIN["outcomes"]}, "missing required field `gamma`"),
        (COIN | {"gamma": 1.5}, r"gamma: expected a number in \[0, 1\], got 1.5"),
        (COIN | {"gamma": "high"}, r"Expected `float`, got `str` - at `\$.gamma`"),
        ({"gamma": 0.5}, "either outcomes, or transitions and rewards, got neither"),
        (COIN | {"transitions": [[1]]}, "either outcomes, or transitions and rewards, got both"),
        (COIN | {"outcomes": []}, "outcomes: expected at least one outcome"),
        (CHAIN | {"transitions": [[0.5, 0.6], [0.2, 0.8]]}, "got 1.1 for state 0"),
        (CHAIN | {"transitions": [[1.0], [0.2, 0.8]]}, "transitions: expected rows of equal"),
        (CHAIN | {"rewards": [0, [1, 2]]}, "rewards: expected rows of equal length"),
        (CHAIN | {"features": [[1, 0]]}, r"features: expected an array of shape \(2, any\)"),
        (CHAIN | {"states": ["a"]}, "states: expected 2 names"),
        (CHAIN | {"states": ["a", "a"]}, "states: expected names that differ"),
        (CHAIN | {"policy": [[1.0]]}, "policy: expected outcomes with actions"),
        (COIN | {"policy": [[1.0]]}, "an action in every outcome together with a policy"),
        (
            {**COIN, "outcomes": [{**COIN["outcomes"][0], "state": "x"}]},
            r"outcomes\[0\].state: expected a state number, got 'x'; list the names first",
        ),
        (
            {**COIN, "states": ["a"], "outcomes": [{**COIN["outcomes"][0], "next_state": "x"}]},
            r"outcomes\[0\].next_state: expected one of the states listed, got 'x'",
        ),
        (
            {**COIN, "states": ["a"], "outcomes": [{**COIN["outcomes"][0], "next_state": 3}]},
            r"outcomes\[0\].next_state: expected a state below 1, got 3",
        ),
        ('{"gamma": 0.5, "outcomes": [', "Input data was truncated"),
        ('{"gamma": NaN}', "JSON is malformed"),
        ("", "Input data was truncated"),
    ],
)
def test_what_is_wrong_is_named_with_the_file_in_one_line(tmp_path, content, message):
    with pytest.raises(lincat.InvalidInputError, match=message) as caught:
        read(tmp_path, content)
    assert "process.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(lincat.InvalidInputError, match=r"nothing.json: expected a readable JSON"):
        lincat.read_problem(tmp_path / "nothing.json")
