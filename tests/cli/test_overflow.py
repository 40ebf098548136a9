"""More ids than the first rows of a stream showed: its table grows in place."""

import json

import numpy as np
import pytest

import lincat
from tests.cli.command import assert_one_line, lincat_here

IDS = 1500


def stream(rows=12_000, warm_up=1000):
    """Rewards are those of the id's class, and what follows is any id: V is known."""
    rng = np.random.default_rng(0)
    known = np.where(np.arange(rows + 1) < warm_up, 20, IDS)
    state = rng.integers(0, known)
    reward = (state[:-1] % 2) + 0.1 * rng.normal(size=rows)
    return [
        json.dumps({"state": f"u{s}", "reward": round(r, 3), "next_state": f"u{x}"}) + "\n"
        for s, r, x in zip(state[:-1].tolist(), reward.tolist(), state[1:].tolist(), strict=True)
    ]


def evaluate(lines, *options):
    words = ["evaluate", "-", "--gamma", 0.5, "--warm-up", 1000, "--validate", 0, "--json"]
    return lincat_here(*words, *options, stdin="".join(lines).encode())


@pytest.mark.parametrize("learner", ["auto", "linear_ctd"])
def test_the_table_of_a_stream_grows(here, learner):
    lines = stream()
    ended = evaluate(lines, "--learner", learner, "--out", "run")
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    assert answer["transitions"] == len(lines)
    run = lincat.read_run("run")
    said = " ".join(run.answer.notes)
    assert ("from then on step by step" in said) == (learner == "auto")
    assert run.model.features.n_known_ == IDS
    late = np.array([f"u{i}" for i in range(20, IDS)], dtype=object)
    means, odd = run.predict(late).mean(), np.arange(20, IDS) % 2
    # 0.5 more of what is to come, for which 1 or 0 comes now; an id is seen eight times or so.
    assert means[odd == 1].mean() - means[odd == 0].mean() > 0.5
    assert abs(means.mean() - 1.0) < 0.15
    more = lincat_here("resume", "run", "--append", "--json", stdin="".join(lines[:500]).encode())
    assert json.loads(more.out)["transitions"] == len(lines) + 500


def test_a_capacity_that_was_given_is_kept_to_and_the_named_one_works(here):
    lines = stream(4000)
    capacity = ["--features", "tabular", "--feature-option"]
    ended = evaluate(lines, *capacity, "capacity=200", "--out", "run")
    assert_one_line(ended, "--features tabular --feature-option capacity=2000")
    assert evaluate(lines, *capacity, "capacity=2000", "--out", "again").code == 0
