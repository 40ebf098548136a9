import json

import numpy as np
import pytest
from click.testing import CliRunner

import lincat
from lincat.cli.main import cli


def run(*words):
    return CliRunner().invoke(cli, ["plan", *words])


def test_a_process_in_words_and_for_machines():
    result = run("paper", "--error", "0.1")
    assert result.exit_code == 0, result.output
    for word in ("LinearCTD", "VarianceReducedCTD", "CategoricalLSTD", "asymptotic", "Thm whp"):
        assert word in result.output
    made = json.loads(run("paper", "--error", "0.1", "--json").output)
    expected = lincat.plan("paper", error=0.1)
    assert made["transitions"] == expected.transitions
    assert made["needs"][3]["transitions"] == expected.least


def test_a_log(tmp_path):
    problem = lincat.catalog.frozen_lake()
    seen = problem.process.sample(3000, seed=1)
    lines = ["state,reward,next_state,terminated"]
    for s, r, t, end in zip(*seen, strict=True):
        lines.append(f"{s},{r:g},{t},{int(end)}")
    file = tmp_path / "log.csv"
    file.write_text("\n".join(lines) + "\n")
    made = json.loads(run(str(file), "--error", "0.05", "--gamma", "0.95", "--json").output)
    exact = lincat.plan(problem, error=0.05)
    assert 0.4 < made["least"] / exact.least < 2.5
    frame = {
        "state": seen.state,
        "reward": seen.reward,
        "next_state": seen.next_state,
        "terminated": seen.terminated,
    }
    again = lincat.plan(frame, error=0.05, gamma=0.95)
    assert again.least == made["least"]


def test_constants_alone():
    made = json.loads(
        run("--gamma", "0.9", "--lambda-min", "0.1", "--error", "0.5", "--json").output
    )
    assert made["grid"] is None
    assert made["transitions"] > made["least"]


def test_transitions_from_memory():
    rng = np.random.default_rng(0)
    phi = np.column_stack([np.ones(2000), rng.normal(size=2000)]) / 4.0
    t = lincat.Transitions(phi, rng.random(2000), np.roll(phi, -1, axis=0))
    made = lincat.plan(t, error=0.2, gamma=0.8)
    assert made.least > 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["paper", "--error", "-1"], "--error"),
        (["paper"], "--error"),
        (["--error", "1"], "expected SOURCE"),
        (["--error", "1", "--gamma", "1", "--lambda-min", "0.1"], "--gamma"),
        (["paper", "--error", "1", "--confidence", "2"], "--confidence"),
    ],
)
def test_bad_input_ends_with_exit_code_2(words, said):
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.output


def test_what_is_refused_by_the_plan_itself(tmp_path):
    file = tmp_path / "few.csv"
    file.write_text("state,reward,next_state\n0,1,0\n")
    for words in ([str(file), "--error", "1"], ["paper", "--error", "1", "--gamma", "1"]):
        result = run(*words)
        assert isinstance(result.exception, lincat.InvalidInputError)
