"""How far values of a configuration reach, case by case; tests/attack/test_code.py has the harm."""

import pytest
from msgspec.structs import replace

from lincat._reach import Allowed, NotAllowedError, Reach, check_allowed, named
from lincat.runs.config import EvaluationConfig

PAPER = EvaluationConfig(source=["paper"])
CODE, CONNECTS = Reach.CODE, Reach.CONNECTS
ALLOWED = {CODE: Allowed(code=True), CONNECTS: Allowed(connect=True)}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"source": ["<mine.Steps>"]},
        {"source": ["gym:Env-v0"], "env_options": {"size": [8, 2.5], "wind": True}},
        {"source": ["a.csv", "file:///logs/*.csv", "memory://log.csv", "-", "minari:pen/human-v2"]},
        {"policy": "p.json"},
        {"policy": "evil:act.npy"},  # a file of that name, which is a table
        {"features": "<sklearn.Scaler>"},
        {"feature_options": {"bins": "8,2"}},
        {"since": "2026-01-01", "given_in": "/home/me"},
    ],
    ids=str,
)
def test_data_of_this_machine_reaches_nowhere(changes):
    config = replace(PAPER, **changes)
    assert list(named(config)) == []
    check_allowed(config, "x", Allowed())


@pytest.mark.parametrize(
    ("field", "value", "reach"),
    [
        ("policy", "p.zip", CODE),
        ("policy", "sb3:PPO:p.json", CODE),
        ("policy", "mine:act", CODE),
        ("policy", "//machine/p.npy", CONNECTS),
        ("policy", r"sb3:PPO:\\machine\p.zip", CODE | CONNECTS),
        ("features", "m:T", CODE),
        ("features", "m:T.json", CODE),
        ("source", ["gym:m:Env-v0"], CODE),
        ("source", ["s3://logs"], CONNECTS),
        ("source", ["a.csv", "zip://a.csv::https://b/c.zip"], CONNECTS),
        ("source", [r"\\machine\log.csv"], CONNECTS),
        ("source", [r"minari:\\machine\pen-v2"], CONNECTS),
        ("given_in", "s3://bucket", CONNECTS),
        ("env_options", {"xml_file": "a.xml"}, CODE),
        ("env_options", {"of": {"x": [1]}}, CODE),
        ("scheduler", "tcp://h:8786", CODE | CONNECTS),
    ],
)
def test_what_reaches_further_is_named_and_needs_a_word(field, value, reach):
    config = replace(PAPER, **{field: value})
    (found,) = named(config)
    assert (found.field, found.reach) == (field, reach)
    with pytest.raises(NotAllowedError, match=f"^x: expected --.*, since it has {field} = "):
        check_allowed(config, "x", Allowed())
    for one, allowed in ALLOWED.items():
        if one in reach and one != reach:
            with pytest.raises(NotAllowedError):
                check_allowed(config, "x", allowed)
    check_allowed(config, "x", Allowed(code=CODE in reach, connect=CONNECTS in reach))
    check_allowed(config, "x", Allowed(), field)


def test_an_error_names_all_that_has_to_be_allowed():
    config = replace(PAPER, policy="m:f", features="m:T", source=["s3://x"], scheduler="tcp://h:1")
    with pytest.raises(NotAllowedError) as caught:
        check_allowed(config, "x", Allowed())
    assert set(caught.value.options) == {"--trust-code", "--connect", "--scheduler", "tcp://h:1"}
    with pytest.raises(NotAllowedError) as caught:
        check_allowed(config, "x", Allowed(code=True), "scheduler")
    assert caught.value.options == ("--connect",)
