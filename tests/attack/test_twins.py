"""The same question asked twice, of two parts of the program: they have to answer alike."""

import functools
import re
from html import unescape
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import lincat
from lincat.cli.evaluate import evaluate
from lincat.cli.stats import stats
from lincat.inference import budget, verdict
from lincat.inference.answer import Caution, Check, Verdict
from lincat.report.answer_page import evaluation_page
from lincat.report.summary import summary_of_answer
from lincat.runs import folder
from lincat.runs.folder import RunFolder
from lincat.runs.pilot import PILOT, STEPWISE_PILOT
from lincat.runs.validating import validated
from lincat.solvers import influence

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = Path(lincat.__file__).parent


def _only_breaking_off(records, steps, rng):
    """A log of two states that never ends, in records that break off."""
    rows = records * steps
    state = rng.integers(2, size=rows)
    return {
        "episode": np.repeat(np.arange(records), steps),
        "state": state,
        "reward": state + rng.normal(size=rows),
        "terminated": np.zeros(rows, dtype=bool),
        "truncated": np.arange(rows) % steps == steps - 1,
    }


@pytest.mark.parametrize(("steps", "gamma"), [(60, 0.9), (60, 0.95)])
def test_returns_of_records_that_only_break_off_are_known_to_evaluate_and_to_stats(steps, gamma):
    # At gamma 0.95 no return of 60 steps is known, at 0.9 those from the first 16 are. Nothing
    # ends, so that these are no odd sample of what there is.
    log = _only_breaking_off(1_000, steps, np.random.default_rng(0))
    known = round(np.log(1e-2) / np.log(gamma)) < steps
    sums = lincat.stats(log)
    kept = [held.gamma for held in sums.sites[0].held]
    assert (gamma in kept) == known
    run = lincat.evaluate(log, gamma=gamma)
    assert run.trusted
    drawn = "completed by the model" in run.validation.description
    assert drawn != known
    if known:
        assert lincat.evaluate(sums, gamma=gamma).validation["all"].n_returns > 1_000


def _answer():
    return lincat.Answer(
        source="a coin",
        gamma=0.5,
        grid=lincat.Grid(0.0, 2.0, intervals=2),
        state_names=("start",),
        cdf=((0.5, 0.5),),
    )


def test_every_check_has_a_text_on_the_page():
    # Types say that no other codes are made.
    assert set(get_args(verdict.Code)) == set(verdict.WORDS)
    assert "unresolved" in verdict.WORDS
    for code, words in verdict.WORDS.items():
        check = Check(code=code, passed=False, value=0.3, limit=0.1, text="Why.")
        failed = Verdict(trusted=False, sentence="Not to be trusted: why.", checks=(check,))
        page = evaluation_page(msgspec.structs.replace(_answer(), verdict=failed))
        (row,) = re.findall(r"<td[^>]*>([^<]*)</td><td[^>]*>0\.3<", page)
        assert unescape(row) == words
        assert row != code


def test_every_word_of_errors_and_cautions_has_a_text():
    assert set(get_args(budget.Code)) == set(budget.WORDS)
    produced = re.findall(r'\["(\w+)"\] \*|append\("(\w+)"\)', Path(influence.__file__).read_text())
    assert {one or other for one, other in produced} == set(influence.CAUTIONS)


def test_every_caution_is_said_on_page_and_terminal():
    found = "".join(path.read_text() for path in SOURCES.rglob("*.py"))
    codes = {*re.findall(r'\bCaution\(\s*"(\w+)"', found), *influence.CAUTIONS}
    warnings = tuple(Caution(code, f"What {code} says.") for code in sorted(codes))
    answer = msgspec.structs.replace(_answer(), warnings=warnings)
    page, summary = (
        evaluation_page(answer),
        str(summary_of_answer(answer, "runs/coin", [{"mean": 1.0}])),
    )
    for caution in warnings:
        assert caution.text in page
        assert caution.text in " ".join(summary.split())


def test_the_help_of_warm_up_says_what_is_read():
    shown = CliRunner().invoke(evaluate, ["--help"]).output
    said = re.search(r"--warm-up.*?\n  --", shown, re.DOTALL)[0]
    assert f"{PILOT:,}" in said
    assert f"{STEPWISE_PILOT:,}" in said
    features = (DOCS / "features.md").read_text()
    assert f"(`--warm-up`, {PILOT:,}; step by step {STEPWISE_PILOT:,})" in features


@pytest.mark.parametrize("place", ["run-folder.md", "folder.py"])
def test_what_is_said_of_a_run_folder_names_all_of_its_files(place):
    there = RunFolder(Path("run"))
    known = {file.name for name, file in vars(there).items() if name.endswith("_file")}
    known |= {there.checkpoints.path.name, there.parts.name, "lock"}
    if place == "folder.py":
        said = re.findall(r"^    (\S+)", folder.__doc__, re.MULTILINE)
    else:
        said = re.findall(r"^\| `(\S+)` \|", (DOCS / place).read_text(), re.MULTILINE)
    said = [word.partition("/")[0] for word in said]
    for name in known:
        assert any(Path(name).match(word) for word in said), name
    for word in said:
        assert any(Path(name).match(word) for name in known), word


LOG = {"state": [0, 1] * 200, "reward": [0.0, 1.0] * 200, "done": [False, True] * 200}
#: What nothing would come of, by kind of source.
UNUSED = {
    "log": {"n_envs": 4, "env_options": {"a": 1}, "trust_pickle": True, "sampling": "generative"},
    "frame": {"format": "csv", "storage_options": {"anon": True}, "n_envs": 4, "since": "2024"},
    "process": {
        "columns": {"reward": "cash"},
        "format": "csv",
        "on_bad_rows": "skip",
        "missing": "skip",
        "episode_end": "truncated",
        "n_envs": 2,
        "env_options": {"a": 1},
        "trust_pickle": True,
        "storage_options": {"anon": True},
    },
    "environment": {
        "columns": {"reward": "cash"},
        "format": "csv",
        "on_bad_rows": "skip",
        "missing": "skip",
        "episode_end": "truncated",
        "sampling": "generative",
        "storage_options": {"anon": True},
        "last_blocks": 3,
    },
    "transitions": {"columns": {"reward": "cash"}, "n_envs": 4, "episode_end": "truncated"},
    "statistics": {
        "on_bad_rows": "skip",
        "missing": "skip",
        "episode_end": "truncated",
        "n_envs": 4,
        "sampling": "generative",
        "trust_pickle": True,
    },
}
CASES = [(kind, {name: x}) for kind, options in UNUSED.items() for name, x in options.items()]


def _act(observation):
    return 0


CASES += [
    (kind, {"policy": policy})
    for kind in ("log", "frame", "process", "transitions", "statistics")
    for policy in ("random", "balance", "nowhere:act", "no_such.zip", _act)
]


@functools.cache
def _sums():
    return lincat.stats(LOG)


def _source(kind, folder):
    if kind == "log":
        file = folder / "log.csv"
        rows = zip(*LOG.values(), strict=True)
        lines = [",".join(LOG), *(f"{s},{r},{str(d).lower()}" for s, r, d in rows)]
        file.write_text("\n".join(lines) + "\n")
        return file
    if kind == "transitions":
        state = np.array(LOG["state"])
        return lincat.Transitions(state, np.ones(400), 1 - state, LOG["done"])
    named = {"frame": LOG, "process": "frozen_lake", "environment": "gym:FrozenLake-v1"}
    return _sums() if kind == "statistics" else named[kind]


@pytest.mark.parametrize(("kind", "option"), CASES)
def test_an_option_that_nothing_would_come_of_is_an_error(kind, option, tmp_path):
    source = _source(kind, tmp_path)
    ((name, _),) = option.items()
    with pytest.raises(lincat.InvalidInputError, match=f"^{name}: expected") as error:
        lincat.evaluate(source, gamma=0.9, **option)
    assert "leave it out" in str(error.value)
    if name == "policy" and kind == "log":
        assert "another policy than the log's own cannot be evaluated yet" in str(error.value)
    if kind != "statistics" and name not in ("since", "last_blocks"):
        with pytest.raises(lincat.InvalidInputError, match=f"^{name}: expected"):
            lincat.stats(source, **option)
        if name != "storage_options" and not callable(option[name]):
            with pytest.raises(lincat.InvalidInputError, match=f"^{name}: expected"):
                lincat.plan(source, error=0.1, gamma=0.9, **option)


@pytest.mark.parametrize("command", [evaluate, stats])
def test_a_policy_beside_a_log_is_an_error_of_commands_too(command, tmp_path):
    log = str(_source("log", tmp_path))
    ended = CliRunner().invoke(command, [log, "--policy", "random", "--quiet"])
    assert isinstance(ended.exception, lincat.InvalidInputError)
    assert str(ended.exception).startswith("policy: expected")


def test_a_run_is_not_resumed_with_a_policy_that_nothing_comes_of(tmp_path):
    log = _source("log", tmp_path)
    run = lincat.evaluate(log, gamma=0.9, steps=100)
    with pytest.raises(lincat.InvalidInputError, match=r"^policy: expected"):
        lincat.resume(run, policy=_act, steps=200)


def test_a_run_of_an_environment_is_held_against_a_log_without_its_policy(tmp_path):
    log = _source("log", tmp_path)
    options = {"policy": "random", "n_envs": 2, "env_options": {"is_slippery": False}}
    env = lincat.evaluate("gym:FrozenLake-v1", gamma=0.9, steps=2_000, validate=0, **options)
    assert validated(env, [str(log)]).validation.method == "held_out"
