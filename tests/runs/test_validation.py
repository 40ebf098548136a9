"""Validation: against what was held out, what was rolled out, and the exact answer."""

import math

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps, joined
from lincat.runs.config import EvaluationConfig
from lincat.runs.model import Model
from lincat.runs.realised import realised_returns
from lincat.runs.shown import ShownStates
from lincat.runs.sources import open_source
from lincat.runs.validation import _by_held_out
from tests import naive
from tests.runs.logs import run_whole, write_names


def opened(*source, **options):
    return open_source(EvaluationConfig(source=list(source), **options))


# ------------------------------------------------------------------------------------ held out


def constant_model(ids, low=-50.0, high=50.0):
    """A model that knows some ids, and says the same of all."""
    features = lincat.Tabular().fit(ids)
    learner = lincat.LinearCTD(
        grid=lincat.Grid(low, high, 50), gamma=0.9, n_features=features.n_features_
    )
    model = Model(features, learner)
    no = np.zeros(len(ids), bool)
    learner.partial_fit(model.transitions(Steps(ids, np.zeros(len(ids)), ids, no, no)))
    return model


def test_returns_are_sums_of_what_followed(monkeypatch):
    rng = np.random.default_rng(0)
    n = 300
    ids = rng.integers(0, 3, n)
    terminated = rng.random(n) < 0.05
    truncated = (rng.random(n) < 0.01) & ~terminated
    reward = rng.normal(size=n)
    held = Steps(ids, reward, ids, terminated, truncated)
    compared = {}

    def watch(distribution, returns, **options):
        compared.update(returns=returns, distribution=distribution, **options)
        return "found"

    monkeypatch.setattr("lincat.runs.validation.validate", watch)
    config = EvaluationConfig(source=["x"], validate=40)
    shown = ShownStates(["start", "0", "1"], [np.array([0]), np.array([0]), np.array([1])])
    found = _by_held_out(constant_model(np.arange(3)), shown, held, 0.9, config)
    assert found == "found"
    expected = naive.returns_to_go(reward, terminated, truncated, np.full(n, 0.9))
    usable = [i for i, (_, missing) in enumerate(expected) if missing <= 1e-2][:40]
    described = compared["description"]
    assert described.startswith(f"{len(usable)} held-out returns")
    assert compared["method"] == "held_out"
    assert all(expected[i][1] == 0.0 for i in usable)  # nothing is missing of these
    np.testing.assert_allclose(compared["returns"], [expected[i][0] for i in usable])
    assert compared["groups"] == [{0: "0", 1: "1"}.get(s, "other states") for s in ids[usable]]
    # What returns share is over after 2/(1 − gamma) = 20 steps: a new block, as after each end.
    block, length, blocks = 0, 0, []
    for end in terminated | truncated:
        if length == 20:
            block, length = block + 1, 0
        blocks.append(block)
        length += 1
        if end:
            block, length = block + 1, 0
    assert compared["blocks"] == [blocks[i] for i in usable]


def test_where_episodes_end_what_broke_off_is_no_reason_to_look_at_ends_alone():
    """A step earns 1; one in fifty ends all with −50; records are cut off after 100 steps.

    Of the last steps of a record, only what ended soon is known.
    """
    rng = np.random.default_rng(0)
    n = 20_000
    terminated = rng.random(n) < 0.02
    truncated = ~terminated & (np.arange(n) % 100 == 99)
    state, reward = np.zeros(n, np.int64), np.where(terminated, -50.0, 1.0)
    steps = Steps(state, reward, state, terminated, truncated)
    features = lincat.Tabular(n_states=1).fit(state)
    model = Model(features, lincat.CategoricalLSTD(gamma=0.9, n_features=1))
    model.learner.partial_fit(model.transitions(steps))
    shown = ShownStates(["start"], [np.array([0])])
    config = EvaluationConfig(source=["x"])
    known, usable = realised_returns(steps, model, 0.01)
    truth = (0.98 * 1.0 - 0.02 * 50.0) / (1.0 - 0.9 * 0.98)
    found = _by_held_out(model, shown, steps, 0.9, config)
    error = found["all"].mean_error
    assert "completed by the model" in found.description
    assert abs(known[usable].mean() - truth) > 2.0
    assert abs(error) < 1.0


def test_states_never_seen_before_are_left_out_and_counted():
    ids = np.array([0, 9, 1, 9])
    held = Steps(ids, np.zeros(4), ids, np.ones(4, bool), np.zeros(4, bool))
    shown = ShownStates(["start"], [np.array([0])])
    config = EvaluationConfig(source=["x"], validate=4)
    found = _by_held_out(constant_model(np.arange(3)), shown, held, 0.9, config)
    assert found.description.startswith("2 held-out returns")
    assert "2 more, of states never seen before" in found.description
    assert found["all"].n_returns == 2
    with pytest.raises(lincat.InvalidInputError, match="all of states never seen before"):
        _by_held_out(constant_model(np.array([4])), shown, held, 0.9, config)


def test_a_record_that_breaks_off_everywhere_is_no_reason_to_lose_the_run(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)  # shuffled: no row follows another
    state = rng.integers(0, 100, 400)
    table = {"state": state, "next_state": state + 100, "reward": np.ones(400)}
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    config = EvaluationConfig(
        source=[str(tmp_path / "log.parquet")], gamma=0.9, validate=50, warm_up=400
    )
    result = run_whole(tmp_path / "run", config).answer
    assert result.complete is True
    assert result.validation is None
    assert "Not validated: validate: expected held-out steps" in result.warnings[0].text


def test_a_good_model_is_told_to_be_good_and_a_bad_one_bad(tmp_path):
    file = write_names(tmp_path / "log.csv", rows=12_000)
    options = {"source": [file], "gamma": 0.5, "validate": 2000, "warm_up": 4000}
    good = run_whole(tmp_path / "good", EvaluationConfig(**options)).answer
    few = EvaluationConfig(**options, learner="softmax_ctd", step_size=1e-9, averaging="none")
    bad = run_whole(tmp_path / "bad", few).answer
    one, other = (r.validation.groups[0] for r in (good, bad))
    assert one.group == other.group == "all"
    assert one.crps < 0.8 * other.crps
    assert abs(one.coverage[1] - 0.8) < 0.05
    held = joined(list(opened(file, gamma=0.5).source.batches()))[-2011:]
    assert one.n_returns == 2000
    expected = naive.returns_to_go(
        held.reward, held.terminated, held.truncated, np.full(len(held), 0.5)
    )
    usable = [g for g, missing in expected if missing <= 1e-3][:2000]
    # E y = the predicted mean minus the error of the mean
    distribution = good.returns
    assert distribution.grid.low < np.mean(usable) < distribution.grid.high
    assert abs(one.mean_error) < 0.1 * np.std(usable)


# --------------------------------------------------------------------------- exact, rolled out


def test_the_exact_answer_of_a_finite_process(tmp_path):
    config = EvaluationConfig(source=["frozen_lake"], steps=20_000, validate=1, intervals=20)
    result = run_whole(tmp_path / "run", config).answer
    assert result.validation.method == "exact"
    assert result.validation.description == "the exact answer for 11 states"
    groups = {g.group: g for g in result.validation.groups}
    assert groups["all"].w1 < 0.01
    assert groups["all"].n_returns is None
    assert len(groups) == 1 + 11


def test_the_exact_answer_is_exact(tmp_path):
    config = EvaluationConfig(source=["uniform_coin"], steps=50_000, validate=1, intervals=20)
    result = run_whole(tmp_path / "run", config).answer
    score = result.validation.groups[0]
    distribution = result.returns
    problem = lincat.catalog.uniform_coin()
    truth = lincat.true_returns(problem.process, problem.gamma, distribution.grid)
    assert score.w1 == pytest.approx(lincat.wasserstein(distribution[[0]], truth)[0], abs=1e-12)
    assert score.mean_error == pytest.approx((distribution.mean()[0] - truth.mean())[0], abs=1e-12)


def test_rollouts_of_an_environment(tmp_path):
    config = EvaluationConfig(
        source=["gym:CartPole-v1"], policy="balance", gamma=0.8, steps=8000, validate=400, n_envs=4
    )
    result = run_whole(tmp_path / "run", config).answer
    score = result.validation.groups[0]
    assert score.n_returns == 400
    assert score.n_states == 20
    assert result.validation.method == "rollouts"
    assert score.w1 < 0.2 * (result.grid.high - result.grid.low)
    assert 0.0 <= score.coverage[1] <= 1.0
    assert math.isfinite(score.crps)


def test_one_return_is_enough_to_be_asked_for(tmp_path):
    config = EvaluationConfig(
        source=["gym:CartPole-v1"], policy="balance", gamma=0.5, steps=2000, validate=1
    )
    result = run_whole(tmp_path / "run", config).answer
    assert result.validation.groups[0].n_returns == 1


def test_what_depends_on_something_unseen_is_not_trusted():
    """Rewards follow a number that stays for ten steps and is not in the log: nothing is Markov.

    What is learned from single steps is far too narrow: a fifth of the returns fall below the 5 %
    quantile.
    """
    rng = np.random.default_rng(3)
    hidden, seen, rows = 0.0, 0.0, {"speed": [], "reward": []}
    for _ in range(20_000):
        rows["speed"].append(seen)
        rows["reward"].append(hidden + (0.3 + 2.0 * abs(seen)) * rng.normal())
        hidden, seen = 0.9 * hidden + 0.4 * rng.normal(), 0.9 * seen + 0.3 * rng.normal()
    frame = {name: np.array(x) for name, x in rows.items()}
    run = lincat.evaluate(frame, gamma=0.9, features="scaling")
    assert run.answer.validation["all"].below_tail > 0.1
    assert run.trusted is False
    assert "quantile" in run.verdict
