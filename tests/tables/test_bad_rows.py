import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.tables.columns import Columns
from lincat.tables.file_source import FileSource
from tests.tables.cases import FORMATS, TYPED, write

GOOD = {
    "obs_0": [0.0, 1.0, 2.0, 3.0],
    "obs_1": [0.5, 0.5, 0.5, 0.5],
    "reward": [1.0, 2.0, 3.0, 4.0],
    "next_obs_0": [1.0, 2.0, 3.0, 4.0],
    "next_obs_1": [0.5, 0.5, 0.5, 0.5],
    "terminated": [0, 0, 0, 1],
    "discount": [0.5, 1.0, 0.0, 1.0],
    "weight": [1.0, 2.0, 0.0, 1.0],
}
# column, the cell of row 3, how it is shown
CELLS = [
    ("obs_1", None, "nothing"),
    ("obs_0", np.nan, "nan"),
    ("obs_0", np.inf, "inf"),
    ("next_obs_1", -np.inf, "-inf"),
    ("next_obs_0", None, "nothing"),
    ("reward", np.nan, "nan"),
    ("reward", None, "nothing"),
    ("terminated", 2, "2"),
    ("terminated", None, "nothing"),
    ("discount", 1.5, "1.5"),
    ("discount", -0.5, "-0.5"),
    ("weight", -1.0, "-1"),
    ("weight", np.inf, "inf"),
]


def check_stop_and_skip(file, message, kept, **options):
    """Reading stops with one line, or continues with the rows that are kept."""
    with pytest.raises(InvalidInputError) as caught:
        list(FileSource(file, **options).batches())
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{file}, row {message}"), str(caught.value)
    source = FileSource(file, on_bad_rows="skip", **options)
    steps = joined(list(source.batches()))
    assert steps.reward.tolist() == kept
    return source, steps


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(("column", "cell", "shown"), CELLS)
@pytest.mark.parametrize("batch_rows", [1, 100])
def test_a_bad_cell_is_named_or_its_row_left_out(tmp_path, ending, column, cell, shown, batch_rows):
    values = list(GOOD[column])
    values[2] = cell
    if ending == "jsonl" and isinstance(cell, float) and not np.isfinite(cell):
        values[2], shown = None, "nothing"  # JSON has no such numbers
    if ending.startswith("csv") and shown != "nothing":
        shown = f"'{shown}'"
    file = write(tmp_path / "log", GOOD | {column: values}, ending)
    source, steps = check_stop_and_skip(
        file, f"3, {column}: expected ", [1.0, 2.0, 4.0], batch_rows=batch_rows
    )
    assert source.skipped_rows == 1
    np.testing.assert_array_equal(steps.truncated, [False, True, False])
    with pytest.raises(InvalidInputError, match=re.escape(f"got {shown}")):
        list(FileSource(file).batches())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2.0,0.5", "2: expected 3 cells, got 2"),
        ("2.0,0.5,1,1", "2: expected 3 cells, got 4"),
        ("2.0,abc,1", "2, obs_1: expected a finite number, got 'abc'"),
        ("2.0,,1", "2, obs_1: expected a finite number, got nothing"),
        ("2.0,1_0,1", "2, obs_1: expected a finite number, got '1_0'"),
        ("2.0,0x1,1", "2, obs_1: expected a finite number, got '0x1'"),
        ("2.0,0.5,1e999", "2, reward: expected a finite number, got '1e999'"),
    ],
)
@pytest.mark.parametrize("batch_rows", [1, 100])
def test_bad_lines_of_csv(tmp_path, line, message, batch_rows):
    file = tmp_path / "log.csv"
    rows = ["obs_0,obs_1,reward", "1,1,1", line, "3,3,3", "4,4,4", "5,5,5"]
    file.write_text("\n".join(rows) + "\n")
    source, steps = check_stop_and_skip(file, message, [3.0, 4.0], batch_rows=batch_rows)
    assert source.skipped_rows == 1
    np.testing.assert_array_equal(steps.truncated, [False, True])


def test_rows_lost_at_the_end_are_counted(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("episode,s,reward\n0,0,1\n0,1,2\n0,2\n")
    source = FileSource(file, on_bad_rows="skip")
    steps = joined(list(source.batches()))
    assert source.skipped_rows == 1
    # The episode's last row may be the lost one: the one before is not taken for its end.
    assert (steps.reward.tolist(), steps.terminated.tolist()) == ([1.0], [False])
    assert steps.truncated.tolist() == [True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"obs": [2, 2], "reward"', "2: expected a JSON object, got"),
        ("[1, 2]", "2: expected a JSON object, got '[1, 2]'"),
        ('{"obs": [2, 2]}', "2, reward: expected a finite number, got nothing"),
        ('{"obs": [2], "reward": 1}', "2, obs: expected a list of 2 finite numbers, got [2]"),
        ('{"obs": 2, "reward": 1}', "2, obs: expected a list of 2 finite numbers, got 2"),
        ('{"obs": ["a", 2], "reward": 1}', "2, obs: expected a list of 2 finite numbers, got ['a'"),
        ('{"obs": [2, 2], "reward": "1"}', "2, reward: expected a finite number, got '1'"),
        ('{"obs": [2, 2], "reward": NaN}', "2: expected a JSON object, got"),
        ('{"obs": [2, 2], "reward": 1e999}', "2"),
        ('{"obs": [2, 2], "reward": ' + "9" * 400 + "}", "2"),
        ("\x00\x01", "2: expected a JSON object, got"),
    ],
)
def test_bad_json_lines(tmp_path, line, message):
    file = tmp_path / "log.jsonl"
    good = [json.dumps({"obs": [i, i], "reward": i}) for i in (1, 3, 4, 5)]
    file.write_text("\n".join([good[0], line, *good[1:]]))
    source, _ = check_stop_and_skip(file, message, [3.0, 4.0])
    assert source.skipped_rows == 1


@pytest.mark.parametrize("ending", TYPED)
@pytest.mark.parametrize("bad", [[1.0], [1.0, 2.0, 3.0], None, [1.0, None], [1.0, np.nan]])
def test_bad_lists(tmp_path, ending, bad):
    values = pa.array([[0.0, 0.0], bad, [2.0, 2.0], [3.0, 3.0]])
    file = write(tmp_path / "log", {"obs": values, "reward": [1.0, 2.0, 3.0, 4.0]}, ending)
    check_stop_and_skip(file, "2, obs: expected a list of 2 finite numbers", [3.0])


def test_nothing_in_a_list_of_fixed_size(tmp_path):
    values = pa.array([[0.0, 0.0], None, [2.0, 2.0], [3.0, 3.0]], type=pa.list_(pa.float64(), 2))
    file = write(tmp_path / "log", {"obs": values, "reward": [1.0, 2.0, 3.0, 4.0]}, "arrow")
    check_stop_and_skip(file, "2, obs: expected a list of 2 finite numbers, got nothing", [3.0])


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("ids", [["a", None, "c", "d"], [1, None, 3, 4]])
def test_missing_ids(tmp_path, ending, ids):
    file = write(tmp_path / "log", {"state": ids, "reward": [1.0, 2.0, 3.0, 4.0]}, ending)
    check_stop_and_skip(file, "2, state: expected", [3.0])


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    bad=st.sets(st.integers(0, 19)),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    batch_rows=st.integers(1, 7),
    ending=st.sampled_from(["parquet", "csv"]),
)
def test_skipped_rows_break_episodes(tmp_path, bad, lengths, batch_rows, ending):
    episode = np.repeat(np.arange(len(lengths)), lengths)
    step = np.concatenate([np.arange(length) for length in lengths])
    n = len(step)
    reward = [None if i in bad else float(i) for i in range(n)]
    obs = np.arange(n)
    columns = {"s": obs, "step": step, "episode": episode, "reward": pa.array(reward, pa.float64())}
    file = write(tmp_path / "log", columns, ending)
    expected = []
    for i in range(n):
        last = i == n - 1 or episode[i + 1] != episode[i]
        lost_next = i + 1 in bad and i + 1 < n
        if i in bad or lost_next:
            continue
        # A row before a lost one leads nowhere, so the record breaks off before it.
        expected.append((i, last, not last and i + 2 in bad and i + 2 < n))
    source = FileSource(file, on_bad_rows="skip", batch_rows=batch_rows)
    if not expected:
        with pytest.raises(InvalidInputError, match="rows"):
            list(source.batches())
        return
    steps = joined(list(source.batches()))
    found = zip(steps.reward, steps.terminated, steps.truncated, strict=True)
    assert [(int(r), bool(end), bool(cut)) for r, end, cut in found] == expected
    assert source.skipped_rows == len([i for i in bad if i < n])


@pytest.mark.parametrize("on_bad_rows", ["stop", "skip"])
@pytest.mark.parametrize(
    ("episode", "step", "terminated", "message"),
    [
        ([0, 0, 0], [0, 2, 1], None, "row 3: expected step 3 of episode 0, got step 1"),
        ([0, 0, 0], [0, 0, 1], None, "row 2: expected step 1 of episode 0, got step 0"),
        ([0, 1, 0], [0, 0, 1], None, "row 3: expected the rows of an episode together, got 0"),
        ([0, 1, 0], None, None, "row 3: expected the rows of an episode together, got 0 again"),
        ([0, 0, 0], [0, 1, 2], [0, 1, 1], "row 3: expected the end of an episode in its last row"),
    ],
)
@pytest.mark.parametrize("batch_rows", [1, 10])
def test_disorder_is_an_error(
    tmp_path, on_bad_rows, episode, step, terminated, message, batch_rows
):
    columns = {"s": [0, 1, 2], "reward": [1.0, 2.0, 3.0], "episode": episode}
    columns |= {} if step is None else {"step": step}
    columns |= {} if terminated is None else {"terminated": terminated}
    file = write(tmp_path / "log", columns, "parquet")
    if step == [0, 2, 1] and on_bad_rows == "stop":
        message = "row 2: expected step 1 of episode 0, got step 2"
    with pytest.raises(InvalidInputError, match=re.escape(f"{file}, {message}")):
        list(FileSource(file, on_bad_rows=on_bad_rows, batch_rows=batch_rows).batches())


def test_missing_steps_break_the_record_if_bad_rows_are_skipped(tmp_path):
    columns = {"s": [0, 1, 5, 6], "step": [0, 1, 5, 6], "episode": [0] * 4, "reward": [1.0] * 4}
    file = write(tmp_path / "log", columns, "parquet")
    with pytest.raises(InvalidInputError, match="row 3: expected step 2 of episode 0, got step 5"):
        list(FileSource(file).batches())
    steps = joined(list(FileSource(file, on_bad_rows="skip").batches()))
    assert steps.observation.tolist() == [0, 5, 6]
    assert steps.truncated.tolist() == [True, False, False]


def test_interleaved_episodes_of_many_environments_are_noticed(tmp_path):
    episode = np.tile(np.arange(1000), 2)
    columns = {"s": episode, "reward": np.ones(2000), "episode": episode}
    file = write(tmp_path / "log", columns, "parquet")
    with pytest.raises(InvalidInputError, match="row 1001: expected the rows of an episode"):
        list(FileSource(file, batch_rows=64).batches())


FILES = {
    "empty.parquet": (b"", "expected a Parquet file, got an empty file"),
    "empty.csv": (b"", "expected a CSV file with a header, got an empty file"),
    "empty.jsonl": (b"", "expected JSON lines, got an empty file"),
    "blank.jsonl": (b"\n\n \n", "expected JSON lines, got no object"),
    "empty.arrow": (b"", "expected an Arrow file or stream, got an empty file"),
    "noise.parquet": (b"no parquet at all", "expected a readable Parquet file, got "),
    "noise.arrow": (b"no arrow at all, really", "expected a readable Arrow file or stream, got "),
    "noise.feather": (b"ARROW1\0\0 and then noise", "expected a readable Arrow file or stream"),
    "noise.jsonl": (b"no json", "row 1: expected a JSON object that names the columns, got"),
    "noise.csv": (b"\xff\xfe\x00\n", "expected text in UTF-8, got other bytes in the header"),
    "noise.csv.gz": (b"not packed", "expected a readable"),
    "bytes.csv": (b"s,reward\na,1\n\xff\xfe,1\n", "row 2, s: expected a text, got '\ufffd\ufffd'"),
    "cells.csv": (b"s,reward\na,1\n\xff\xfe\n", "row 2: expected 2 cells, got 1"),
    "header.csv": (b"s,reward\n", "expected rows, got none"),
    "noise.txt": (b"", "got a name that does not tell; name the format: parquet, csv"),
    "single.csv": (b"s,reward\na,1\n", "expected rows that make at least one step, got none"),
    "all_bad.csv": (
        b"obs_0,reward\n1,a\n2,b\n",
        "row 1, reward: expected a finite number, got 'a'",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_used(tmp_path, name):
    content, message = FILES[name]
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        list(FileSource(file).batches())
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize("ending", TYPED)
def test_a_file_cut_short_is_one_line(tmp_path, ending):
    n = 10_000
    columns = {"obs_0": np.random.default_rng(0).random(n), "reward": np.ones(n)}
    file = write(tmp_path / "log", columns, ending, rows_per_group=1000)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(InvalidInputError, match=f"{file}: expected a readable") as caught:
        list(FileSource(file).batches())
    assert "\n" not in str(caught.value)


def test_a_damaged_parquet_page_is_one_line(tmp_path):
    n = 10_000
    columns = {"obs_0": np.random.default_rng(0).random(n), "reward": np.ones(n)}
    file = write(tmp_path / "log", columns, "parquet")
    content = bytearray(file.read_bytes())
    content[4:4000] = b"\xff" * 3996
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match="expected a readable Parquet file") as caught:
        list(FileSource(file).batches())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", FORMATS)
def test_damaged_files_give_one_line_or_clean_steps(tmp_path, ending):
    rng = np.random.default_rng(0)
    n = 60
    columns = {
        "state": [f"s{i % 9}" for i in range(n)],
        "reward": rng.random(n),
        "episode": np.arange(n) // 7,
    }
    content = write(tmp_path / "log", columns, ending, rows_per_group=20).read_bytes()
    file, errors = tmp_path / f"damaged.{ending}", []
    for _ in range(40):
        damaged = bytearray(content)
        for at in rng.integers(len(damaged), size=rng.integers(1, 4)):
            damaged[at : at + rng.integers(1, 3)] = rng.bytes(rng.integers(0, 4))
        file.write_bytes(damaged)
        for on_bad_rows in ("stop", "skip"):
            try:
                steps = joined(list(FileSource(file, on_bad_rows=on_bad_rows).batches()))
                assert np.isfinite(steps.reward).all()
                assert all(isinstance(state, str) for state in steps.observation)
            except InvalidInputError as error:
                errors.append(str(error))
    assert errors
    assert all(error.startswith(str(file)) and "\n" not in error for error in errors)


@pytest.mark.parametrize("name", ["none.parquet", "none.csv", "none.jsonl", "none.arrow"])
def test_missing_files(tmp_path, name):
    expected = f"{tmp_path / name}: expected a readable file, got No such file or directory"
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        FileSource(tmp_path / name)


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    file = write(tmp_path / "log", GOOD, "parquet")

    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InvalidInputError, match="expected a readable file, got Permission denied"):
        FileSource(file)


def test_folders_without_files(tmp_path):
    with pytest.raises(InvalidInputError, match="expected a folder with data files, got no file"):
        FileSource(tmp_path)
    with pytest.raises(InvalidInputError, match="at least one file"):
        FileSource([])


def test_files_with_other_columns_or_types_than_the_first(tmp_path):
    first = write(tmp_path / "a", {"s": [1, 2], "reward": [1.0, 1.0]}, "parquet")
    for columns, message in (
        ({"s": [1, 2], "r": [1.0, 1.0]}, f"expected the columns of {first}, got a difference in"),
        ({"s": [1, 2]}, "reward: expected a column named"),
        ({"s": ["a", "b"], "reward": [1.0, 1.0]}, "column s: expected integer, got text"),
        ({"s": [1, 2], "reward": ["a", "b"]}, "column reward: expected numbers, got text"),
        (
            {"s": [1, 2], "reward": [1.0, 1.0], "terminated": [0, 1]},
            f"expected the columns of {first}, got a difference in 'terminated'",
        ),
    ):
        other = write(tmp_path / "b", columns, "parquet")
        with pytest.raises(InvalidInputError, match=re.escape(message)) as caught:
            list(FileSource([first, other]).batches())
        assert str(caught.value).startswith(str(other))


@pytest.mark.parametrize("role", ["obs", "reward", "done", "episode"])
def test_types_of_no_use(tmp_path, role):
    columns = {"obs": [1.5, 2.5], "reward": [1.0, 1.0], "done": [0, 1], "episode": [0, 0]}
    columns |= {"step": [0, 1], role: pa.array([0, 1], type=pa.timestamp("us"))}
    file = write(tmp_path / "log", columns, "parquet")
    message = re.escape(f"{file}, column {role}: expected")
    with pytest.raises(InvalidInputError, match=message + r".*timestamp\[us\]"):
        FileSource(file, columns=Columns(step="step"))


def test_standard_input_needs_a_format_that_streams():
    with pytest.raises(
        InvalidInputError, match=r"standard input: expected a file .*, got no format"
    ):
        FileSource("-")
    with pytest.raises(InvalidInputError, match="standard input: expected a stream, got Parquet"):
        FileSource("-", format="parquet")
    with pytest.raises(InvalidInputError, match="standard input alone"):
        FileSource(["-", "a.csv"], format="csv")


@pytest.mark.parametrize(
    "options",
    [
        {"format": "xml"},
        {"on_bad_rows": "ignore"},
        {"episode_end": "maybe"},
        {"batch_rows": 0},
    ],
)
def test_options_out_of_range(tmp_path, options):
    file = write(tmp_path / "log", GOOD, "parquet")
    with pytest.raises(InvalidInputError, match=f"^{next(iter(options))}: expected"):
        FileSource(file, **options)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("lost", [{1}, {2, 3, 57}, {40, 80, 99}, set(range(0, 100, 7)), {98, 99}])
def test_rows_keep_their_numbers_over_blocks(tmp_path, monkeypatch, kind, lost):
    monkeypatch.setattr("lincat.tables.text._BLOCK", 128)
    if kind == "csv":
        lines = [f"{i},{i}" if i not in lost else f"{i}" for i in range(1, 100)]
        lines.insert(0, "obs_0,reward")
    else:
        lines = [
            json.dumps({"obs_0": i / 1, "reward": i}) if i not in lost else "{"
            for i in range(1, 100)
        ]
    file = tmp_path / f"log.{kind}"
    file.write_text("\n".join(lines))
    source = FileSource(file, on_bad_rows="skip", batch_rows=8)
    steps = joined(list(source.batches()))
    good = [i for i in range(1, 99) if not {i, i + 1} & lost]
    assert steps.reward.tolist() == good
    assert steps.truncated.tolist() == [i + 2 in lost or i + 2 == 100 for i in good]
    assert source.skipped_rows == len(lost - {0})
    with pytest.raises(InvalidInputError, match=f", row {min(lost - {0})}: expected"):
        list(FileSource(file, batch_rows=8).batches())
