"""Small files that would unpack to much, and files that no table is: bounded, and one line."""

import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lincat import InvalidInputError
from lincat.tables.file_source import FileSource


def _refused(path, words, **options):
    tracemalloc.start()
    before, begun = pa.total_allocated_bytes(), time.monotonic()
    with pytest.raises(InvalidInputError, match=words) as error:
        for _ in FileSource(str(path), **options).batches():
            pass
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 2100
    taken = tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - before
    tracemalloc.stop()
    assert taken < 2e8
    assert time.monotonic() - begun < 5.0


def _parquet(path, column):
    table = pa.table({"state" if pa.types.is_string(column.type) else "obs": column})
    table = table.append_column("reward", pa.array(np.zeros(len(column))))
    pq.write_table(table, path, compression="zstd", write_statistics=False)
    return path


def test_a_few_kilobytes_of_parquet_with_much_in_them(tmp_path):
    ids = _parquet(tmp_path / "id.parquet", pa.array(["a", "b" * 20_000_000, "c"]))
    ends = pa.array([0, 2, 20_000_002, 20_000_004], pa.int32())
    lists = pa.ListArray.from_arrays(ends, pa.array(np.zeros(20_000_004)))
    row = _parquet(tmp_path / "row.parquet", lists)
    assert max(ids.stat().st_size, row.stat().st_size) < 10_000
    _refused(ids, "state: expected cells of at most 1,048,576 numbers or bytes")
    _refused(row, "obs: expected cells of at most 1,048,576")


def test_one_large_cell_among_many_rows(tmp_path):
    ids = _parquet(tmp_path / "id.parquet", pa.array(["a"] * 400 + ["b" * 2_000_000]))
    _refused(ids, "state: expected cells of at most")
    ends = pa.array([*range(401), 2_000_400], pa.int32())
    row = pa.ListArray.from_arrays(ends, pa.array(np.zeros(2_000_400)))
    _refused(_parquet(tmp_path / "row.parquet", row), "obs: expected cells of at most")


def test_long_lines(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{i}" for i in range(70_000)) + "\n")
    _refused(wide, "at most 65,536 columns, got 70,000")
    wide.write_text("c," * 5_000_000)
    _refused(wide, "lines of less than 8,388,608 bytes")
    line = tmp_path / "line.jsonl"
    line.write_text('{"state": "a", "reward": 1, "x": "' + "y" * 12_000_000 + '"}\n')
    _refused(line, "lines of less than 8,388,608 bytes")
    many = tmp_path / "many.jsonl"
    many.write_text("{" + ", ".join(f'"c{i}": 1' for i in range(70_000)) + "}\n")
    _refused(many, "at most 65,536 columns")


def test_an_array_of_objects_may_be_longer_than_a_line(tmp_path):
    file = tmp_path / "all.json"
    row = '{"state": "a", "reward": 1, "note": "' + "x" * 100_000 + '"}'
    file.write_text("[" + ", ".join([row] * 100) + "]")
    assert sum(len(steps) for steps in FileSource(str(file)).batches()) == 99


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("deep.jsonl", b'{"state": ' + b"[" * 100_000, "row 1: expected a JSON object"),
        ("deep.json", b"[" * 100_000, "an array that is no JSON"),
        ("mac.csv", b"state,reward\ra,1\rb,2\r", "lines that end with a newline"),
        ("field.csv", b'"' + b"s" * 200_000 + b'",reward\na,1\n', "a readable CSV file"),
        (
            "latin.jsonl",
            '{"state": "é", "reward": 1}\n'.encode("latin-1"),
            "row 1: expected a JSON",
        ),
        ("big.jsonl", b'{"state": 9223372036854775808, "reward": 1}\n' * 3, "row 1, state"),
        ("huge.jsonl", b'{"state": 1' + b"0" * 400 + b', "reward": 1}\n', "row 1, state"),
    ],
)
def test_what_is_no_table_is_said_in_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    _refused(tmp_path / name, words)


def test_ids_beyond_int64_are_bad_rows(tmp_path):
    ids = pa.array([1, 2**63, 3, 4], pa.uint64())
    pq.write_table(pa.table({"state": ids, "reward": np.zeros(4)}), tmp_path / "ids.parquet")
    _refused(tmp_path / "ids.parquet", "row 2, state")
    source = FileSource(str(tmp_path / "ids.parquet"), on_bad_rows="skip")
    assert [x for steps in source.batches() for x in steps.observation.tolist()] == [3]
