"""The same question asked twice, of two parts of the program: they have to answer alike."""

import functools
import re
from html import unescape
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import parquet

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


def _file(log, folder):
    file = folder / "log.parquet"
    parquet.write_table(pyarrow.table({name: np.asarray(x) for name, x in log.items()}), file)
    return str(file)


def _source(kind, folder):
    if kind == "log":
        return _file(LOG, folder)
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
    log = _source("log", tmp_path)
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
    assert validated(env, [log]).validation.method == "held_out"


def _games(rng, records=4_000, steps=3):
    """Records of some steps, each won or lost by a fair coin, gaining 1 or nothing."""
    won = rng.random((records, steps)) < 0.5
    log = {
        "episode": np.repeat(np.arange(records), steps),
        "state": np.tile(np.arange(steps), records),
        "reward": won.ravel().astype(float),
        "done": np.tile(np.arange(steps) == steps - 1, records),
    }
    return won, log


def _as_often(records, steps=3):
    """Records of three steps, of which some stand for several: those that were won at first."""
    won, log = _games(np.random.default_rng(0), records, steps)
    counts = np.where(won[:, 0], 9, 1)
    return {**log, "weight": np.repeat(counts, steps)}, counts


def _ratios(steps, records=4_000):
    """Ratios of chances, row by row: of one who wins nine in ten, where the log's wins half."""
    won, log = _games(np.random.default_rng(0), records, steps)
    return {**log, "importance_ratio": np.where(won.ravel(), 1.8, 0.2)}


def _repeated(log, counts, steps=3):
    rows = np.repeat(np.arange(len(counts)), counts)
    rows = (steps * rows[:, None] + np.arange(steps)).ravel()
    named = {name: values[rows] for name, values in log.items() if name != "weight"}
    return {**named, "episode": np.repeat(np.arange(counts.sum()), steps)}


@pytest.mark.parametrize("learn", ["evaluate", "stats"])
def test_records_that_stand_for_several_are_checked_as_often_as_they_count(learn):
    log, counts = _as_often(4_000)
    again = _repeated(log, counts)
    made = {"evaluate": lambda log: log, "stats": lincat.stats}[learn]
    weighted, whole = (lincat.evaluate(made(x), gamma=0.9) for x in (log, again))
    start = weighted.predict([0]).mean()[0]
    assert start == pytest.approx(whole.predict([0]).mean()[0], rel=0.02)
    assert start == pytest.approx(0.9 + 0.9 * 0.5 + 0.81 * 0.5, rel=0.02)
    assert weighted.trusted, weighted.verdict
    assert "weighted" in weighted.validation.description


def test_ratios_of_single_choices_are_checked_by_what_they_count():
    run = lincat.evaluate(_ratios(steps=1), gamma=0.9)
    assert run.predict([0]).mean()[0] == pytest.approx(0.9, abs=0.02)
    assert run.trusted, run.verdict


@pytest.mark.parametrize("learn", ["evaluate", "stats"])
def test_ratios_along_a_record_are_learned_with_and_not_checked(learn, tmp_path):
    log = _ratios(steps=2)
    run = lincat.evaluate({"evaluate": lambda x: x, "stats": lincat.stats}[learn](log), gamma=1.0)
    assert run.predict([0]).mean()[0] == pytest.approx(1.8, abs=0.04)
    assert run.trusted is None, run.verdict
    assert run.validation is None
    if learn == "evaluate":
        assert "weights that change within records" in " ".join(run.warnings)
        with pytest.raises(lincat.InvalidInputError, match="weights that change within records"):
            validated(run, [_file(log, tmp_path)])


def test_weighted_returns_are_scored_as_repeated_ones():
    rng = np.random.default_rng(0)
    grid = lincat.Grid(-6.0, 6.0, 120)
    pmf = np.exp(-0.5 * (grid.atoms - rng.normal(size=(50, 1))) ** 2)
    predicted = lincat.ReturnDistribution.from_pmf(pmf / pmf.sum(axis=1, keepdims=True), grid)
    returns, counts = rng.normal(size=50), rng.integers(4, size=50)
    rows = np.repeat(np.arange(50), counts)
    weighted = lincat.validate(predicted, returns, weights=counts)["all"]
    repeated = lincat.validate(predicted[rows], returns[rows])["all"]
    for name in ("w1", "crps", "crps_climatology", "skill", "mean_error", "coverage", "pit"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-9), name
    assert weighted.n_returns == 50
    assert weighted.mean_error_se > repeated.mean_error_se  # fifty draws, not as many as they count


def test_a_return_that_counts_for_nearly_all_says_little():
    grid = lincat.Grid(-6.0, 6.0, 120)
    pmf = np.exp(-0.5 * grid.atoms**2)
    predicted = lincat.ReturnDistribution.from_pmf(np.tile(pmf / pmf.sum(), (100, 1)), grid)
    returns = np.random.default_rng(0).normal(size=100)
    weights = np.where(np.arange(100) < 5, 1e6, 1.0)
    for blocks, least in ((None, 0.4), (np.arange(100) // 5, 0.8)):  # five draws, or one stretch
        found = lincat.validate(predicted, returns, weights=weights, blocks=blocks)["all"]
        assert found.mean_error_se > least * returns.std() / (1.0 if blocks is None else 5**0.5)
