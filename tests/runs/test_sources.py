"""From the words that name a source to the source: what is meant, and what is said if nothing."""

import json

import pytest

import lincat
from lincat.environments.gym import GymSource
from lincat.processes.process_source import ProcessSource
from lincat.runs.config import EvaluationConfig
from lincat.runs.sources import open_source
from lincat.tables.file_source import FileSource
from tests.runs.logs import write_names, write_points, write_transitions

PROCESS = {"gamma": 0.25, "transitions": [[0.5, 0.5], [1, 0]], "rewards": [1, 0]}


def opened(*source, **options):
    return open_source(EvaluationConfig(source=list(source), **options))


def test_a_finite_process_by_name():
    found = opened("frozen_lake", steps=3000, seed=4)
    assert isinstance(found.source, ProcessSource)
    assert found.problem is not None
    assert found.gamma == found.problem.gamma == 0.95
    assert found.steps == found.source.length == 3000
    assert found.source.seed == 4
    assert not found.is_recorded


def test_gamma_given_wins_over_the_process():
    found = opened("frozen_lake", gamma=0.5)
    assert found.gamma == found.problem.gamma == 0.5
    assert found.steps == 200_000


def test_a_finite_process_from_a_file(tmp_path):
    file = tmp_path / "process.json"
    file.write_text(json.dumps(PROCESS))
    found = opened(str(file))
    assert found.gamma == 0.25
    assert found.source.space.n_states == 2
    with pytest.raises(lincat.InvalidInputError, match=r"absent\.json"):
        opened(str(tmp_path / "absent.json"))


@pytest.mark.parametrize("name", ["gym:CartPole-v1", "CartPole-v1"])
def test_an_environment_with_or_without_its_prefix(name):
    found = opened(name, steps=500)
    assert isinstance(found.source, GymSource)
    assert (found.gamma, found.steps, found.is_recorded) == (0.99, 500, False)
    assert found.problem is None


def test_files(tmp_path):
    found = opened(write_transitions(tmp_path / "a.parquet", rows=300))
    assert isinstance(found.source, FileSource)
    assert (found.steps, found.rows, found.is_recorded, found.gamma) == (300, 300, True, 0.99)
    assert opened(str(tmp_path / "a.parquet"), steps=20).steps == 20
    assert opened(str(tmp_path / "a.parquet"), steps=2000).steps == 300
    assert opened(write_names(tmp_path / "b.csv", rows=100)).steps is None
    assert opened(str(tmp_path / "b.csv"), steps=20).steps == 20


def test_several_files_and_folders(tmp_path):
    one = write_points(tmp_path / "a.parquet", rows=100)
    two = write_points(tmp_path / "b.parquet", rows=50)
    by_name, by_folder = opened(one, two), opened(str(tmp_path))
    counts = [sum(len(b) for b in found.source.batches()) for found in (by_name, by_folder)]
    assert counts[0] == counts[1] == 150


def test_a_process_is_meant_even_if_a_file_is_called_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper").write_text("not a process")
    assert opened("paper").problem is not None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["nope"], "SOURCE: expected a file or folder of logs"),
        (["gym:Nope-v0"], "Nope-v0"),
        (["gym:"], "SOURCE: expected"),
        (["minari:nope/nope-v0"], "nope"),
        (["absent.csv"], "absent.csv"),
        (["absent.csv.gz"], "absent.csv.gz"),
        (["absent/folder"], "absent/folder"),
        (["a.csv", "absent.csv"], "absent.csv"),
        (["a.csv", "b.parquet"], "files of one format"),
        (["a.csv", "gym:CartPole-v1"], "gym:CartPole-v1"),
        (["-", "a.csv"], "standard input alone"),
        (["-"], "name the format"),
        (["empty"], "folder with data files"),
        (["a.txt"], "a name that does not tell"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, monkeypatch, source, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("state,reward\n1,1\n")
    (tmp_path / "b.parquet").write_text("")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(lincat.InvalidInputError) as caught:
        for _ in opened(*source).source.batches():
            pass
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
