"""Answers: records that JSON gives back as they were, or that are refused in one line."""

import json

import msgspec
import pytest

import lincat
from lincat.inference.answer import Answer, Caution, Curves
from lincat.inference.intervals import Bands

GRID = lincat.Grid(0.0, 2.0, intervals=2)
CURVES = Curves(
    level=0.05,
    state_names=("start",),
    transitions=(10, 20),
    mean=((1.0, 1.5),),
    cvar=((0.0, 0.5),),
    clipped=(0.0, 0.0),
    negative_mass=(0.0, 0.1),
)


def an_answer(**fields):
    return Answer(
        **{
            "source": "a coin",
            "gamma": 0.5,
            "grid": GRID,
            "state_names": ("start",),
            "cdf": ((0.5, 0.5),),
            **fields,
        }
    )


def full():
    dist = lincat.ReturnDistribution([[0.5, 0.5]] * 4, GRID)
    return an_answer(
        bands=Bands(confidence=0.9, low=((0.4, 0.4),), high=((0.6, 0.6),)),
        curves=CURVES,
        validation=lincat.validate(dist, [0.0, 2.0, 0.0, 2.0], groups=list("aabb")),
        warnings=(Caution("off_grid", "Mass falls off."),),
        threshold=1.0,
        versions={"lincat": "1"},
    )


@pytest.mark.parametrize("answer", [an_answer(), full()])
def test_json_gives_back_the_same(answer):
    text = answer.to_json()
    assert Answer.from_json(text) == answer
    assert json.loads(text)["format"] == 1
    assert json.loads(text)["grid"] == {"low": 0.0, "high": 2.0, "intervals": 2}


def test_a_run_gives_one_that_json_gives_back(tmp_path):
    run = lincat.evaluate("frozen_lake", out=tmp_path, steps=3000, validate=1, learner="linear_ctd")
    answer = run.answer
    written = (tmp_path / "result.json").read_text()
    assert Answer.from_json(written) == Answer.from_json(answer.to_json()) == answer
    with pytest.raises(lincat.InvalidInputError, match=r"result: .* as lincat wrote it"):
        Answer.from_json(written.replace("frozen_lake", "melted_lake"), "result")
    assert answer.curves.state_names == answer.state_names
    assert answer.curves.transitions[-1] == answer.transitions == 3000
    assert answer.validation.method == "exact"


def test_levels_of_coverage_are_data():
    levels = [0.123, 0.5, 0.999]
    dist = lincat.ReturnDistribution([[0.5, 0.5]] * 4, GRID)
    found = lincat.validate(dist, [0.0, 2.0, 0.0, 2.0], levels=levels)
    again = lincat.Validation.from_json(found.to_json())
    assert list(again.levels) == levels
    assert len(again["all"].coverage) == 3
    assert {"coverage_12.3", "coverage_50", "coverage_99.9_se"} <= set(again.rows()[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state_names": ()}, "state_names: expected at least one state"),
        ({"state_names": ("a", "b")}, r"cdf: expected an array of shape \(2, 2\)"),
        ({"cdf": ((0.5,),)}, r"cdf: expected an array of shape \(1, 2\)"),
        ({"cdf": ((0.5, float("nan")),)}, "cdf: expected finite numbers"),
        ({"bands": Bands(confidence=0.9, low=((0.0,),), high=((1.0,),))}, "bands.low: expected"),
        ({"level": 0.0}, "level: expected levels in"),
        ({"threshold": float("inf")}, "threshold: expected a finite number"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        an_answer(**changes)


@pytest.mark.parametrize(
    "shorter", [{"mean": ((1.0,),)}, {"cvar": ()}, {"clipped": (0.0,)}, {"transitions": (1,)}]
)
def test_columns_of_curves_have_a_number_for_each_row(shorter):
    with pytest.raises(lincat.InvalidInputError, match="columns of"):
        msgspec.structs.replace(CURVES, **shorter)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("format"), "got that of another version of lincat; evaluate again"),
        (lambda a: a.update(format=2), "in format 1, got format 2; evaluate again"),
        (lambda a: a.update(format="x"), "got that of another version of lincat"),
        (lambda a: a.update(grade="good"), "unknown field `grade`"),
        (lambda a: a.pop("grid"), "missing required field `grid`"),
        (lambda a: a["validation"].update(method="prose"), "Invalid enum value 'prose'"),
        (lambda a: a.update(cdf=[[0.5]]), "expected an array of shape"),
        (lambda a: a["grid"].update(high=-1.0), "high: expected a number above low"),
    ],
)
def test_files_of_another_version_are_one_line_with_the_remedy(change, message):
    content = json.loads(full().to_json())
    change(content)
    with pytest.raises(lincat.InvalidInputError, match=message) as caught:
        Answer.from_json(json.dumps(content), "run/result.json")
    assert str(caught.value).startswith("run/result.json: expected the answer of a run")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", b"\xff"])
def test_what_is_no_json_is_one_line(text):
    with pytest.raises(lincat.InvalidInputError, match="answer: expected the answer of a run"):
        Answer.from_json(text)
