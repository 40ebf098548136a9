"""Logs at addresses: the same steps, the same fingerprints' sense, the same one-line errors."""

import gzip
import pickle

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lincat
from lincat._arguments import InvalidInputError
from lincat.data.steps import joined
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.tables.file_source import FileSource
from tests.cli.command import lincat_here
from tests.tables.cases import write


def steps_of(source, **options):
    return joined(list(FileSource(source, **options).batches()))


def written_as(path, columns, ending):
    written = write(path, columns, ending.removesuffix(".gz"))
    if ending.endswith(".gz"):
        packed = path.with_suffix(".csv.gz")
        packed.write_bytes(gzip.compress(written.read_bytes()))
        return packed
    return written


@pytest.fixture
def memory():
    """fsspec's file system in memory, which other processes do not see."""
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "jsonl", "arrow"])
def test_a_store_gives_the_steps_of_the_disk(tmp_path, memory, ending):
    columns = {"episode": [0, 0, 0, 1], "state": ["a", "b", "a", "b"], "reward": [1.0, 2.0, 0.0, 1]}
    written = written_as(tmp_path / "log", columns, ending)
    memory.pipe(f"/logs/deep/site=n/1.{ending}", written.read_bytes())
    memory.pipe("/logs/_SUCCESS", b"")
    expected = steps_of(written)
    for place in ("memory://logs", f"memory://logs/**/*.{ending}", f"file://{written}"):
        found = steps_of(place)
        np.testing.assert_array_equal(found.observation, expected.observation)
        np.testing.assert_array_equal(found.reward, expected.reward)
    source = FileSource("memory://logs")
    assert source.n_rows == 4
    assert source.places == [f"memory:///logs/deep/site=n/1.{ending}"]
    (before,) = source.fingerprints()
    other = written_as(tmp_path / "other", columns | {"reward": [1.0, 2.0, 0.0, 3]}, ending)
    memory.pipe(f"/logs/deep/site=n/1.{ending}", other.read_bytes())
    (now,) = FileSource("memory://logs").fingerprints()
    assert now.name == before.name
    assert now.digest != before.digest


def test_commands_and_resume_take_addresses(tmp_path, memory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pa.table({"state": rng.integers(0, 3, 3000), "reward": rng.random(3000).round()})
    with memory.open("/bucket/1.parquet", "wb") as file:
        pq.write_table(table, file)
    options = ("--storage-option", "use_listings_cache=false", "--quiet")
    steps = ("--gamma", "0.9", "--intervals", "20", "--validate", "0", "--steps", "1000")
    done = lincat_here("evaluate", "memory://bucket", "--out", "run", *options, *steps)
    assert done.code == 0, done.err
    assert "use_listings_cache" not in (tmp_path / "run" / "config.toml").read_text()
    assert lincat_here("resume", "run", "--steps", "2000", "--quiet").code == 0
    assert RunFolder.open(tmp_path / "run").answer.transitions == 2000
    assert lincat_here("stats", "memory://bucket", *options, "--out", "a.stats").code == 0
    assert lincat.SourceStatistics.load("a.stats").count > 2000
    with memory.open("/bucket/1.parquet", "wb") as file:
        pq.write_table(table.slice(100), file)
    done = lincat_here("resume", "run", "--steps", "2500")
    assert done.code == 2
    assert "memory:///bucket/1.parquet: expected what the run began with" in done.err


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("lacking://x/*.parquet", "expected what reads such addresses, got Install it .*; pip"),
        ("nowhere://bucket/*.parquet", "storage options that fsspec knows, got .*not known"),
        ("memory://nothing/*.parquet", r"expected a readable .*, got .*nothing"),
        ("memory://nothing/log.csv", r"expected a readable .*, got .*nothing"),
        ("file://logs/a.csv", "expected an absolute path"),
    ],
)
def test_what_is_not_there_is_one_line(address, words, memory):
    fsspec.register_implementation("lacking", "no.Module", clobber=True, errtxt="Install it first")
    with pytest.raises(InvalidInputError, match=words):
        FileSource(address)


def test_secrets_are_not_shown(memory):
    memory.pipe("/log.csv", b"state,reward\na,1\nb,2\n")
    source = FileSource("memory://log.csv", storage_options={"secret": "hunter2"})
    assert "hunter2" not in repr(source._places)
    assert len(joined(list(pickle.loads(pickle.dumps(source)).batches()))) == 1
    assert "storage" not in EvaluationConfig.__struct_fields__
