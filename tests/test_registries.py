"""One place for each choice: lists, commands, configuration, files and documentation agree."""

import importlib
import inspect
import pathlib
import pkgutil
import re
from typing import Literal, get_args, get_origin, get_type_hints

import click
import numpy as np
import pytest

import lincat
from lincat._registry import Registry
from lincat.cli.evaluate import evaluate
from lincat.features._base import Features
from lincat.features.auto import features_from_name
from lincat.features.registry import FEATURE_NAMES, FEATURES
from lincat.learners import schedules
from lincat.learners._base import Learner
from lincat.learners._batch import BatchLearner
from lincat.learners.averaging import IterateAverage
from lincat.learners.registry import AVERAGINGS, DTYPES, LEARNERS, AveragingName, StepSizeName
from lincat.runs.config import EvaluationConfig
from lincat.tables.formats import FORMATS, FormatName
from tests.features.cases import ALL as FEATURE_CASES
from tests.test_checks import LEARNERS as CHECKED

ROOT = pathlib.Path(lincat.__file__).parents[2]


def subclasses(base):
    found = base.__subclasses__()
    return {*found, *(deeper for cls in found for deeper in subclasses(cls))}


def literals(hint):
    kinds = (hint,) if get_origin(hint) is Literal else get_args(hint)
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def choices(name):
    (option,) = [p for p in evaluate.params if p.name == name]
    return list(option.type.choices) if isinstance(option.type, click.Choice) else None


def test_commands_offer_what_the_configuration_takes():
    fields = get_type_hints(EvaluationConfig)
    for option in evaluate.params:
        if option.name in fields and option.name not in ("step_size", "passes"):
            words = literals(fields[option.name])
            assert choices(option.name) == (words or None), option.name
    assert choices("learner") == list(LEARNERS.offered)
    assert choices("averaging") == list(AVERAGINGS)
    assert choices("dtype") == list(DTYPES)
    assert choices("format") == list(FORMATS) == list(get_args(FormatName))
    assert literals(fields["step_size"]) == list(get_args(StepSizeName))


@pytest.mark.parametrize(
    ("registry", "bases"),
    [(LEARNERS, (Learner, BatchLearner)), (FEATURES, (Features,))],
    ids=["learners", "features"],
)
def test_every_class_is_registered_and_exported(registry: Registry, bases):
    for file in pkgutil.iter_modules(importlib.import_module(registry.package).__path__):
        importlib.import_module(f"{registry.package}.{file.name}")
    found = {cls for base in bases for cls in subclasses(base)}
    ours = {cls for cls in found if cls.__module__.startswith("lincat.")}
    final = {cls for cls in ours if not inspect.isabstract(cls)}
    assert {registry[word] for word in registry} == final
    assert set(registry.offered) - {"auto"} <= set(registry)
    for word, name in registry.names.items():
        assert getattr(lincat, name) is registry[word] is registry.named(name)
        assert name in lincat.__all__


def test_every_learner_is_checked_and_every_one_has_its_case():
    stepwise = {cls for word in LEARNERS if issubclass(cls := LEARNERS[word], Learner)}
    assert {type(learner) for learner in CHECKED.values()} >= stepwise
    assert {type(make()) for make, _ in FEATURE_CASES.values()} == {FEATURES[w] for w in FEATURES}


@pytest.mark.parametrize("word", list(LEARNERS))
def test_every_learner_comes_back_from_its_file(word, tmp_path):
    grid = {} if word in ("linear_td", "lstd") else {"grid": lincat.Grid(0.0, 2.0, 4)}
    sizes = ("auto", 0.1, lincat.PolynomialDecay(0.1, 0.6))
    steps = [{"step_size": size} for size in sizes] if issubclass(LEARNERS[word], Learner) else [{}]
    for step in steps:
        model = LEARNERS[word](gamma=0.5, **step, **grid)
        model.partial_fit([[1.0]], [1.0], [[1.0]]).save(tmp_path / "model")
        again = lincat.load(tmp_path / "model")
        assert type(again) is type(model)
        assert again.get_params() == model.get_params()


@pytest.mark.parametrize("word", FEATURE_NAMES[1:])
def test_every_name_of_features_makes_them(word):
    made = features_from_name(word)
    assert type(made) is FEATURES[word]
    assert made.kind == word


def test_every_schedule_is_exported_and_gives_steps():
    for cls in schedules.SCHEDULES:
        assert getattr(lincat, cls.__name__) is cls
    assert schedules.SCHEDULES == (lincat.PolynomialDecay,)
    for word in get_args(StepSizeName):
        assert schedules.schedule_from(word) is None


@pytest.mark.parametrize("averaging", get_args(AveragingName))
def test_every_averaging_averages(averaging):
    """Theta_i = i, so that the sum of the first t is t(t+1)/2 and U = -t(t-1)/2."""
    average = IterateAverage(averaging, None)
    mean = average.mean(4, np.full((1, 1), 4.0), np.full((1, 1), -6.0))
    assert mean == pytest.approx(4.0 if averaging == "none" else 2.5)


def test_the_documentation_names_them_all():
    learners = (ROOT / "docs" / "learners.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", learners, flags=re.MULTILINE)
    assert sorted(rows) == sorted(LEARNERS.names.values())
    for word in AVERAGINGS:
        assert f'"{word}"' in learners
    data = (ROOT / "docs" / "features.md").read_text()
    for word in FEATURE_NAMES:
        assert f"`{word}`" in data, word
