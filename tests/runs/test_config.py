"""The record of a run's settings: TOML there and back, and one line for whatever is wrong."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.learners.registry import LEARNERS
from lincat.runs.config import (
    EvaluationConfig,
    config_from_dict,
    config_from_toml,
    config_to_toml,
    read_config,
)
from lincat.tables.columns import Columns
from tests.strategies import finite_floats

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | finite_floats(-1e6, 1e6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
options = st.dictionaries(texts, values, max_size=3)
one_or_more = texts | st.lists(texts, max_size=3).map(tuple)
column_mappings = st.builds(
    Columns,
    observation=st.none() | one_or_more,
    next_observation=st.none() | one_or_more,
    reward=st.none() | texts,
    terminated=st.none() | texts,
    kind=st.sampled_from([None, "points", "ids"]),
).filter(lambda columns: columns != Columns())


@st.composite
def configs(draw):
    grid = draw(st.none() | st.tuples(finite_floats(-1e9, 0.0), finite_floats(1e-9, 1e9)))
    optional = {} if grid is None else {"low": grid[0], "high": grid[1]}
    for name, strategy in {
        "gamma": st.none() | st.floats(0.0, 1.0, exclude_max=True),
        "steps": st.none() | st.integers(1, 2**62),
        "n_step": st.integers(1, 100),
        "seed": st.integers(0, 2**62),
        "format": st.sampled_from([None, "parquet", "csv", "jsonl", "arrow"]),
        "columns": st.none() | column_mappings,
        "on_bad_rows": st.sampled_from(["stop", "skip"]),
        "episode_end": st.sampled_from(["terminated", "truncated"]),
        "policy": texts,
        "env_options": options,
        "trust_pickle": st.booleans(),
        "features": texts,
        "feature_options": options,
        "learner": st.sampled_from(LEARNERS.offered),
        "step_size": st.just("auto") | finite_floats(1e-12, 1e3),
        "averaging": st.sampled_from(["tail", "full", "none"]),
        "dtype": st.sampled_from(["float64", "float32"]),
        "validate": st.integers(0, 10**6),
        "level": st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
        "below": st.none() | finite_floats(-1e9, 1e9),
    }.items():
        if draw(st.booleans()):
            optional[name] = draw(strategy)
    return EvaluationConfig(
        source=draw(st.lists(texts.filter(bool), min_size=1, max_size=3)), **optional
    )


@given(configs())
def test_toml_there_and_back(config):
    text = config_to_toml(config)
    assert config_from_toml(text) == config
    assert config_to_toml(config_from_toml(text)) == text


def test_what_is_not_given_is_left_out():
    text = config_to_toml(EvaluationConfig(source=["log.csv"]))
    for absent in ("gamma", "low", "columns", "env_options", "below"):
        assert absent not in text
    assert 'source = [\n    "log.csv",\n]' in text


def test_every_field_has_a_default_but_the_source():
    fields = msgspec.structs.fields(EvaluationConfig)
    assert [field.name for field in fields if field.required] == ["source"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.1}, "place, gamma: expected float <= 1.0, got 1.1"),
        ({"gamma": -0.1}, "place, gamma: expected float >= 0.0, got -0.1"),
        ({"gamma": math.nan}, "place, gamma: expected float >= 0.0, got nan"),
        ({"gamma": "high"}, "place, gamma: expected float | null, got str"),
        ({"steps": 0}, "place, steps: expected int >= 1, got 0"),
        ({"steps": -5}, "place, steps: expected int >= 1, got -5"),
        ({"steps": 1.5}, "place, steps: expected int | null, got float"),
        ({"steps": True}, "place, steps: expected int | null, got bool"),
        ({"seed": -1}, "place, seed: expected int >= 0, got -1"),
        ({"n_step": 0}, "place, n_step"),
        ({"batch_size": 0}, "place, batch_size"),
        ({"intervals": 0}, "place, intervals"),
        ({"n_states": 0}, "place, n_states"),
        ({"warm_up": 0}, "place, warm_up"),
        ({"validate": -1}, "place, validate"),
        ({"level": 0.0}, "place, level"),
        ({"level": 1.0}, "place, level"),
        ({"level": math.nan}, "place, level"),
        ({"learner": "dqn"}, "place, learner: expected one of 'auto', 'lstd', 'linear_ctd'"),
        ({"averaging": "some"}, "place, averaging: expected one of 'tail', 'full', 'none'"),
        ({"dtype": "float16"}, "place, dtype: expected one of 'float64', 'float32'"),
        ({"format": "xml"}, "place, format: expected one of 'parquet', 'csv', 'jsonl', 'arrow'"),
        ({"step_size": "fast"}, "place, step_size: expected a number above 0 or 'auto'"),
        ({"step_size": 0.0}, "place, step_size: expected a number above 0 or 'auto', got 0.0"),
        ({"step_size": math.nan}, "place, step_size"),
        ({"step_size": math.inf}, "a finite number for step_size, got inf"),
        ({"step_power": 0.6}, "a number for step_size beside step_power, got 'auto'"),
        ({"below": math.nan}, "a finite number for below, got nan"),
        ({"below": -math.inf}, "a finite number for below, got -inf"),
        ({"low": 1.0}, "both low and high"),
        ({"high": 1.0}, "both low and high"),
        ({"low": 1.0, "high": 1.0}, "low below high, got 1 and 1"),
        ({"low": 2.0, "high": 1.0}, "low below high"),
        ({"low": math.nan, "high": 1.0}, "a finite number for low, got nan"),
        ({"low": 0.0, "high": math.inf}, "a finite number for high, got inf"),
        ({"source": []}, "at least one source"),
        ({"source": ["log.csv", ""]}, "none of them empty"),
        ({"source": "log.csv"}, "place, source: expected array, got str"),
        ({"source": [1]}, "place, source[0]: expected str, got int"),
        ({"colour": "red"}, "unknown field colour"),
        ({"columns": {"colour": "red"}}, "place, columns: object contains unknown field colour"),
        ({"columns": {"reward": 3}}, "place, columns.reward: expected str | null, got int"),
        ({"env_options": {"map_name": None}}, "no null in env_options"),
        ({"env_options": {"sizes": [1, None]}}, "no null in env_options"),
        ({"feature_options": {"low": {"a": None}}}, "no null in feature_options"),
    ],
)
def test_bad_settings_are_one_line_that_names_the_key(settings, message):
    with pytest.raises(lincat.InvalidInputError) as caught:
        config_from_dict({"source": ["paper"], **settings}, "place")
    text = str(caught.value)
    assert text.startswith("place")
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source = [", "log.toml: expected TOML text, got something else"),
        ("", "log.toml: object missing required field source"),
        ('source = ["a"]\nsource = ["b"]', "expected TOML text"),
        ('source = ["a"]\ngamma = nan', "log.toml, gamma"),
        ('source = ["a"]\nbelow = inf', "finite number for below"),
        ('source = ["a"]\n[learner]\nname = "x"', "log.toml, learner"),
        ('source = ["a"]\nsteps = 2020-01-01', "log.toml, steps"),
        ('source = ["a"]\npolicy = """two\nlines"""\nlearner = "a\\nb"', "log.toml, learner"),
    ],
)
def test_bad_files_are_one_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "log.toml"
    file.write_text(text)
    with pytest.raises(lincat.InvalidInputError) as caught:
        read_config(file.relative_to(tmp_path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), (b"\xff\xfe=1", "not UTF-8 text")]
)
def test_unreadable_files_are_one_line(tmp_path, content, reason):
    file = tmp_path / "config.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(lincat.InvalidInputError, match=reason):
        read_config(file)
    with pytest.raises(lincat.InvalidInputError, match="directory"):
        read_config(tmp_path)
