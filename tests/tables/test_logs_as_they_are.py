"""Folders of folders, patterns, decimal commas, arrays: logs as other programs write them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lincat import InvalidInputError
from lincat.data.mixed import rows_of
from lincat.data.steps import joined
from lincat.tables.counting import count_rows
from lincat.tables.file_source import FileSource
from lincat.tables.finding import find_files


def steps_of(source, **options):
    return joined(list(FileSource(source, **options).batches()))


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_folders_with_keys_are_columns(tmp_path, ending):
    for site, day in (("a", 1), ("b c", 2)):
        folder = tmp_path / f"site={site.replace(' ', '%20')}" / f"day={day}"
        folder.mkdir(parents=True)
        table = pa.table({"x": [0.5, 1.5, 2.5], "reward": [1.0, 2.0, 3.0]})
        if ending == "parquet":
            pq.write_table(table, folder / "part.parquet")
        elif ending == "csv":
            (folder / "part.csv").write_text("x,reward\n0.5,1\n1.5,2\n2.5,3\n")
        else:
            lines = (json.dumps(row) for row in table.to_pylist())
            (folder / "part.jsonl").write_text("\n".join(lines))
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / f"part.{ending}").write_text("junk")
    steps = steps_of(tmp_path)
    assert rows_of(steps.observation) == [
        (0.5, "a", 1.0),
        (1.5, "a", 1.0),
        (0.5, "b c", 2.0),
        (1.5, "b c", 2.0),
    ]
    assert steps.observation.dtype.names == ("x", "site", "day")


def test_patterns_in_quotes(tmp_path):
    for name in ("b", "a", "other"):
        (tmp_path / f"{name}.csv").write_text("state,reward\nx,1\ny,2\n")
    found = find_files(str(tmp_path / "[ab].csv"), None)
    assert found == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    with pytest.raises(InvalidInputError, match="No such file"):
        FileSource(str(tmp_path / "z*.csv"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas(tmp_path, delimiter):
    rows = ["obs_0 obs_1 reward", "0,5 -1,25e1 1", "1 ,5 2,5", "2,5 3 -3,5"]
    text = "\n".join(row.replace(" ", delimiter) for row in rows)
    (tmp_path / "log.csv").write_text(text)
    steps = steps_of(tmp_path / "log.csv")
    np.testing.assert_array_equal(steps.observation, [[0.5, -12.5], [1.0, 0.5]])
    assert steps.reward.tolist() == [1.0, 2.5]


def test_texts_keep_their_commas(tmp_path):
    (tmp_path / "log.csv").write_text("state;reward\nParis, France;1,5\n1,x;2\nParis, France;3\n")
    assert steps_of(tmp_path / "log.csv").observation.tolist() == ["Paris, France", "1,x"]


@pytest.mark.parametrize("indent", [None, 1])
def test_arrays_of_objects(tmp_path, indent):
    rows = [{"state": "a", "reward": 1}, {"state": "b", "reward": 2.5}, {"state": "a", "reward": 3}]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(rows, indent=indent))
    steps = steps_of(file)
    assert (steps.observation.tolist(), steps.reward.tolist()) == (["a", "b"], [1.0, 2.5])
    assert count_rows(str(file), "jsonl") == FileSource(file).n_rows == 3
    file.write_text("[{]")
    with pytest.raises(InvalidInputError, match="array that is no JSON"):
        FileSource(file)


def test_times_are_not_observed_unless_named(tmp_path):
    import datetime

    times = [datetime.datetime(2026, 1, day) for day in (1, 2, 3)]
    for name in ("a", "b"):
        table = pa.table({"when": times, "x": [0.5, 1.5, 2.5], "y": [1, 2, 3], "reward": [1, 2, 3]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    source = FileSource(tmp_path)
    assert source.space.names == ("x", "y")
    assert len(joined(list(source.batches()))) == 4
