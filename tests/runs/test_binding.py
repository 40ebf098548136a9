"""What a run is bound to, case by case; tests/cli/test_binding.py has the commands."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace

import lincat
from lincat.runs import binding
from lincat.runs.config import EvaluationConfig
from lincat.runs.sources import open_source

PAPER = EvaluationConfig(source=["paper"])
OBJECT = EvaluationConfig(source=["<mine.Steps>"])


def refused(match):
    return pytest.raises(lincat.InvalidInputError, match=match)


def test_how_far_to_go_may_change_and_what_is_learned_may_not():
    binding.check_same_config(replace(PAPER, steps=5), PAPER, "x")
    with refused(r"^x: .*gamma was not given and is 0\.5"):
        binding.check_same_config(PAPER, replace(PAPER, gamma=0.5), "x")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "elsewhere"}, "in the same place, got nothing there"),
        ({"extent": 10**6}, "its size was 1,000,000 and is "),
        ({"digest": "0" * 64}, "of the same size, with another content"),
    ],
)
def test_a_process_that_is_another_is_refused_with_what_differs(change, said):
    opened = open_source(PAPER)
    (print,) = binding.fingerprints_of(opened, PAPER)
    binding.check_same_source([print], opened, PAPER, append=False)
    with refused(said):
        binding.check_same_source([replace(print, **change)], opened, PAPER, append=False)


def test_a_part_that_was_not_there_before_needs_append():
    opened = open_source(PAPER)
    binding.check_same_source([], opened, PAPER, append=True)
    with refused("no part of the source that was not there"):
        binding.check_same_source([], opened, PAPER, append=False)


class Rows:
    """As much of recorded steps as is asked for."""

    def __init__(self, reward):
        self.reward = self.terminated = np.array(reward, dtype=float)

    def __len__(self):
        return len(self.reward)

    def __getitem__(self, part):
        return Rows(self.reward[part])


def recorded(*batches):
    source = SimpleNamespace(
        description="steps", length=sum(map(len, batches)), batches=lambda: map(Rows, batches)
    )
    return SimpleNamespace(source=source, problem=None, is_recorded=True, environment=None)


def test_steps_in_memory_may_have_more_at_their_end():
    then = binding.fingerprints_of(recorded([1, 2], [3]), OBJECT)
    assert then[0].extent == 3
    more, other = recorded([1, 2], [3, 4], [5]), recorded([1, 2], [4, 4], [5])
    binding.check_same_source(then, more, OBJECT, append=True)
    with refused("the same with more at its end.*--append"):
        binding.check_same_source(then, more, OBJECT, append=False)
    with refused("something else"):
        binding.check_same_source(then, other, OBJECT, append=True)
    shorter = recorded([1, 2])  # which ends before as much was seen
    with refused("something else"):
        binding.check_same_source(then, shorter, OBJECT, append=True)


def test_paths_mean_the_same_from_another_folder(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir(), second.mkdir()
    (first / "policy.npy").touch()
    config = EvaluationConfig(source=["log.csv", "-"], policy="sb3:ppo:policy.zip")
    monkeypatch.chdir(first)
    given = binding.given_here(config)
    assert given.given_in == str(first)
    assert binding.resolved(given) is given  # from where it was given
    assert binding.given_here(PAPER).given_in is None
    monkeypatch.chdir(second)
    found = binding.resolved(given)
    assert found.source == [os.path.join(first, "log.csv"), "-"]
    assert found.policy == f"sb3:ppo:{first / 'policy.zip'}"
    assert binding.given_here(given).given_in is None  # written out: nothing is relative any more
    assert binding.resolved(replace(PAPER, given_in=str(first))).policy == PAPER.policy
