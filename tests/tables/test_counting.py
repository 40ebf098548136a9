"""Counting rows before they are read."""

import gzip
import os

import pytest

from lincat.tables.counting import count_rows
from lincat.tables.file_source import FileSource


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("rows", [1, 2, 70_000])
@pytest.mark.parametrize("packed", [False, True])
def test_lines_of_text(tmp_path, rows, end, packed):
    text = "state,reward\n" + "\n".join(["a,1"] * rows) + end
    file = tmp_path / ("log.csv.gz" if packed else "log.csv")
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert count_rows(str(file), "csv") == rows
    assert count_rows(str(file), "jsonl") == rows + 1
    assert FileSource(file).n_rows == rows
    assert FileSource(file).length is None


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_batches_of_arrow(tmp_path, kind):
    import pyarrow as pa

    table = pa.table({"state": ["a", "b", "c"], "reward": [1.0, 0.0, 2.0]})
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(tmp_path / "log.arrow", table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table)
    assert count_rows(str(tmp_path / "log.arrow"), "arrow") == 6


def test_what_comes_only_once_or_is_damaged_is_not_counted(tmp_path):
    assert count_rows("-", "csv") is None
    os.mkfifo(tmp_path / "pipe.csv")
    assert count_rows(str(tmp_path / "pipe.csv"), "csv") is None
    (tmp_path / "log.arrow").write_bytes(b"ARROW1 and nothing else")
    assert count_rows(str(tmp_path / "log.arrow"), "arrow") is None
    (tmp_path / "log.csv.gz").write_bytes(b"\x1f\x8b no more")
    assert count_rows(str(tmp_path / "log.csv.gz"), "csv") is None


def test_files_together(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("state,reward\na,1\nb,2\n")
    assert FileSource([tmp_path / "a.csv", tmp_path / "b.csv"]).n_rows == 4
