import json

import numpy as np
import pytest

from lincat import InvalidInputError
from lincat.tables.columns import Columns
from lincat.tables.read_observations import read_observations
from tests.tables.cases import FORMATS, write


@pytest.mark.parametrize("ending", FORMATS)
def test_only_observations_are_needed(tmp_path, ending):
    file = write(tmp_path / "s", {"obs_0": [0.5, 1.5], "obs_1": [2, 3], "name": ["x", "y"]}, ending)
    np.testing.assert_array_equal(read_observations(file), [[0.5, 2.0], [1.5, 3.0]])
    columns = Columns(observation=("obs_1",))
    found = read_observations(file, columns=columns)
    assert (found.dtype, found.tolist()) == (np.int64, [2, 3])
    assert read_observations(file, columns=Columns(observation="name")).tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[0, 1], [2, 3.5]], [[0.0, 1.0], [2.0, 3.5]]),
        ([0, 3, 2], [0, 3, 2]),
        (["a", "b"], ["a", "b"]),
        ([{"obs_0": 1.5, "obs_1": 2}], [[1.5, 2.0]]),
        ([{"state": "a"}, {"state": "b"}], ["a", "b"]),
    ],
)
def test_lists_in_json(tmp_path, values, expected):
    file = tmp_path / "states.json"
    file.write_text(json.dumps(values))
    assert read_observations(file).tolist() == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a JSON list of observations, got something else"),
        ("{}", "expected a JSON list of observations"),
        ("[]", "expected a JSON list of observations"),
        ("[[1, 2], [3]]", "row 2, observation: expected a list of 2 finite numbers, got [3]"),
        (
            '[[1, 2], "a", [3, 4]]',
            "row 2, observation: expected a list of 2 finite numbers, got 'a'",
        ),
        ('[{"state": "a"}, {}]', "row 2, state: expected a text, got nothing"),
        ('[{"x": "a"}]', "observation: expected a column named"),
    ],
)
def test_bad_json(tmp_path, content, message):
    file = tmp_path / "states.json"
    file.write_text(content)
    with pytest.raises(InvalidInputError) as caught:
        read_observations(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_rows_and_empty_tables(tmp_path):
    file = write(tmp_path / "s", {"obs_0": [0.5, np.nan]}, "parquet")
    with pytest.raises(InvalidInputError, match="row 2, obs_0: expected a finite number, got nan"):
        read_observations(file)
    (tmp_path / "s.csv").write_text("obs_0\n")
    with pytest.raises(InvalidInputError, match="expected observations, got none"):
        read_observations(tmp_path / "s.csv")
    with pytest.raises(InvalidInputError, match="No such file"):
        read_observations(tmp_path / "none.json")
