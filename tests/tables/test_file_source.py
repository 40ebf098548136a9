import io
import itertools
import select
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lincat import InvalidInputError
from lincat.data.steps import joined
from lincat.tables.columns import Columns
from lincat.tables.file_source import FileSource
from lincat.tables.finding import find_files
from tests.tables.cases import FORMATS, TYPED, write


def all_steps(source, skip=0):
    return joined(list(source.batches(skip=skip)))


def assert_same(steps, expected):
    """Compare with a dict of columns; a terminated step's next observation does not matter."""
    assert len(steps) == len(expected["reward"])
    goes_on = ~steps.terminated
    for name, column in expected.items():
        got, want = getattr(steps, name), column
        if name == "record":  # batches may be others
            continue
        if name == "next_observation":
            got, want = got[goes_on], np.asarray(want)[goes_on]
        np.testing.assert_array_equal(got, want, err_msg=name)


def episodes_naively(episodes, ends):
    """Join rows of episodes; each is a list of (observation, reward), ends[k] tells the kind."""
    steps = {
        name: []
        for name in ("observation", "reward", "next_observation", "terminated", "truncated")
    }
    for episode, end in zip(episodes, ends, strict=True):
        for i, (observation, reward) in enumerate(episode):
            is_last = i == len(episode) - 1
            if is_last and end != "terminated":
                continue
            steps["observation"].append(observation)
            steps["reward"].append(reward)
            steps["next_observation"].append(observation if is_last else episode[i + 1][0])
            steps["terminated"].append(is_last)
            steps["truncated"].append(end != "terminated" and i == len(episode) - 2)
    return {name: np.array(column) for name, column in steps.items()}


def episode_table(episodes, ends, *, with_flags, form):
    """Write episodes as rows with an id and a step, or as transitions."""
    rows = []
    for k, (episode, end) in enumerate(zip(episodes, ends, strict=True)):
        for i, (observation, reward) in enumerate(episode):
            is_last = i == len(episode) - 1
            row = {"obs_0": observation[0], "obs_1": observation[1], "reward": reward}
            if form == "episodes":
                row |= {"episode": 3 * k, "step": i}
            elif is_last and end != "terminated":
                continue
            else:
                after = observation if is_last else episode[i + 1][0]
                row |= {"next_obs_0": after[0], "next_obs_1": after[1]}
            if with_flags:
                row["terminated"] = is_last and end == "terminated"
            rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else None


numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def recorded(draw):
    """Episodes whose observations are all different, so that breaks can be seen."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    ends = draw(
        st.lists(
            st.sampled_from(["terminated", "truncated"]),
            min_size=len(lengths),
            max_size=len(lengths),
        )
    )
    offset = draw(numbers)
    count = iter(range(10**6))
    episodes = [
        [((offset + next(count), draw(numbers)), draw(numbers)) for _ in range(length)]
        for length in lengths
    ]
    return episodes, ends


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("form", ["episodes", "transitions"])
@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(record=recorded(), batch_rows=st.integers(1, 9), group=st.integers(1, 9), cut=st.data())
def test_all_formats_and_row_forms_give_the_same_steps(
    tmp_path, ending, form, record, batch_rows, group, cut
):
    episodes, ends = record
    expected = episodes_naively(episodes, ends)
    table = episode_table(episodes, ends, with_flags=True, form=form)
    if len(expected["reward"]) == 0:
        return
    file = write(tmp_path / "log", table, ending, rows_per_group=group)
    source = FileSource(file, batch_rows=batch_rows)
    for _ in range(2):
        assert_same(all_steps(source), expected)
    skip = cut.draw(st.integers(0, len(expected["reward"]) - 1))
    assert_same(all_steps(source, skip), {name: x[skip:] for name, x in expected.items()})
    assert source.skipped_rows == 0
    if ending == "parquet" and form == "transitions":
        assert source.length == len(expected["reward"])
    else:
        assert source.length is None


@pytest.mark.parametrize("end", ["terminated", "truncated"])
@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(record=recorded(), batch_rows=st.integers(1, 9))
def test_without_a_terminated_column_the_end_is_as_told(tmp_path, end, record, batch_rows):
    episodes, _ = record
    ends = [end] * len(episodes)
    table = episode_table(episodes, ends, with_flags=False, form="episodes")
    expected = episodes_naively(episodes, ends)
    file = write(tmp_path / "log", table, "parquet")
    source = FileSource(file, episode_end=end, batch_rows=batch_rows)
    if len(expected["reward"]):
        assert_same(all_steps(source), expected)
    else:
        with pytest.raises(InvalidInputError, match="at least one step, got none"):
            all_steps(source)


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(record=recorded(), batch_rows=st.integers(1, 9), cuts=st.lists(st.integers(0, 20)))
def test_episodes_go_on_in_the_next_file(tmp_path, record, batch_rows, cuts):
    episodes, ends = record
    table = pa.table(episode_table(episodes, ends, with_flags=True, form="episodes"))
    edges = sorted({0, table.num_rows, *(cut for cut in cuts if cut < table.num_rows)})
    files = [
        write(tmp_path / f"part-{i}", table.slice(start, stop - start), "parquet")
        for i, (start, stop) in enumerate(itertools.pairwise(edges))
    ]
    expected = episodes_naively(episodes, ends)
    if len(expected["reward"]):
        assert_same(all_steps(FileSource(files, batch_rows=batch_rows)), expected)


@pytest.mark.parametrize("batch_rows", [1, 2, 10])
def test_a_truncated_column_tells_which_episodes_did_not_end(tmp_path, batch_rows):
    columns = {
        "s": [0, 1, 2, 3, 4, 5],
        "episode": [0, 0, 1, 1, 2, 2],
        "reward": [1.0] * 6,
        "truncated": [False, True, False, False, False, True],
    }
    file = write(tmp_path / "log", columns, "parquet")
    steps = all_steps(FileSource(file, batch_rows=batch_rows))
    assert steps.observation.tolist() == [0, 2, 3, 4]
    assert steps.terminated.tolist() == [False, False, True, False]
    assert steps.truncated.tolist() == [True, False, False, True]


def test_points_of_an_episode_are_not_copied(tmp_path):
    n = 100
    table = {"obs_0": np.arange(n) / 2, "obs_1": np.zeros(n), "reward": np.ones(n)}
    file = write(tmp_path / "log", table | {"episode": np.zeros(n, int)}, "parquet")
    steps = next(FileSource(file, batch_rows=50).batches())
    assert np.shares_memory(steps.observation[1:], steps.next_observation[:-1])
    np.testing.assert_array_equal(steps.observation[1:], steps.next_observation[:-1])
    assert steps.record.flags.c_contiguous
    np.testing.assert_array_equal(steps.record[:-1], steps.observation)
    np.testing.assert_array_equal(steps.record[1:], steps.next_observation)


@pytest.mark.parametrize("ending", FORMATS)
def test_one_endless_trajectory_needs_no_episode(tmp_path, ending):
    file = write(tmp_path / "log", {"obs_0": [0.5, 1.5, 2.5], "r": [1, 2, 3]}, ending)
    expected = {
        "observation": [[0.5], [1.5]],
        "reward": [1, 2],
        "next_observation": [[1.5], [2.5]],
        "terminated": [False, False],
        "truncated": [False, True],
    }
    assert_same(all_steps(FileSource(file, batch_rows=2)), expected)


def test_a_trajectory_breaks_where_the_step_does_not_count_on_and_between_files(tmp_path):
    a = write(tmp_path / "a", {"s": [0, 1, 2, 3], "t": [0, 1, 5, 6], "r": [1.0] * 4}, "parquet")
    b = write(tmp_path / "b", {"s": [4, 5], "t": [7, 8], "r": [1.0] * 2}, "parquet")
    c = write(tmp_path / "c", {"s": [6, 7], "t": [0, 1], "r": [1.0] * 2}, "parquet")
    steps = all_steps(FileSource([a, b, c]))
    np.testing.assert_array_equal(steps.observation, [0, 2, 3, 4, 6])
    np.testing.assert_array_equal(steps.next_observation, [1, 3, 4, 5, 7])
    np.testing.assert_array_equal(steps.truncated, [True, False, False, True, True])
    without = FileSource([a, b], columns=Columns(step=""))
    np.testing.assert_array_equal(all_steps(without).observation, [0, 1, 2, 4])


def test_a_time_called_t_does_not_count_steps(tmp_path):
    file = write(tmp_path / "log", {"s": [0, 1, 2], "t": [0.0, 0.1, 0.2], "r": [1.0] * 3}, "csv")
    np.testing.assert_array_equal(all_steps(FileSource(file)).truncated, [False, True])
    with pytest.raises(InvalidInputError, match=r"row 2, t: expected an integer, got '0.1'"):
        all_steps(FileSource(file, columns=Columns(step="t")))


def test_an_episode_number_in_another_file_is_another_episode_if_steps_begin_again(tmp_path):
    part = {"s": [0, 1], "step": [0, 1], "episode": [0, 0], "r": [1.0, 2.0]}
    files = [write(tmp_path / name, part, "parquet") for name in "ab"]
    steps = all_steps(FileSource(files))
    np.testing.assert_array_equal(steps.terminated, [False, True, False, True])


@pytest.mark.parametrize("ending", TYPED)
def test_lists_are_points(tmp_path, ending):
    points = np.arange(12.0).reshape(6, 2)
    rest = {"reward": np.ones(6), "done": [False] * 5 + [True]}
    flat = pa.array(points.ravel())
    for column in (
        pa.FixedSizeListArray.from_arrays(flat, 2),
        pa.array(points.tolist()),
        pa.array(points.tolist(), type=pa.large_list(pa.int32())),
    ):
        source = FileSource(write(tmp_path / "log", {"obs": column} | rest, ending), batch_rows=4)
        assert source.space.names == ("obs[0]", "obs[1]")
        steps = all_steps(source)
        np.testing.assert_array_equal(steps.observation, points)
        np.testing.assert_array_equal(steps.next_observation[:-1], points[1:])
        assert steps.terminated[-1]


def test_json_lists_are_points(tmp_path):
    file = write(tmp_path / "log", {"obs": [[1, 2], [3, 4.5]], "reward": [0, 1]}, "jsonl")
    np.testing.assert_array_equal(all_steps(FileSource(file)).next_observation, [[3, 4.5]])


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("ids", "dtype"), [(["a", "b", "c"], object), ([5, -7, 5], np.int64)], ids=["texts", "integers"]
)
def test_a_single_column_of_texts_or_integers_holds_ids(tmp_path, ending, ids, dtype):
    file = write(tmp_path / "log", {"state": ids, "reward": [0.5] * 3}, ending)
    source = FileSource(file)
    steps = all_steps(source)
    assert source.space.names == ("state",)
    assert steps.observation.dtype == dtype
    assert steps.observation.tolist() == ids[:2]
    assert steps.next_observation.tolist() == ids[1:]


def test_dictionaries_are_ids(tmp_path):
    state = pa.array(["a", "b", "a"]).dictionary_encode()
    file = write(tmp_path / "log", pa.table({"state": state, "reward": [1, 2, 3]}), "parquet")
    assert all_steps(FileSource(file)).observation.tolist() == ["a", "b"]


@pytest.mark.parametrize("ending", FORMATS)
def test_several_columns_with_texts_are_tuples(tmp_path, ending):
    columns = {"obs_room": ["a", "b", "a"], "obs_door": [1, 2, 3], "reward": [1, 2, 3]}
    found = all_steps(FileSource(write(tmp_path / "log", columns, ending))).observation
    assert [(room, int(door)) for room, door in found] == [("a", 1), ("b", 2)]


def test_integers_are_points_if_told(tmp_path):
    file = write(tmp_path / "log", {"state": [5, 7], "reward": [1, 2]}, "parquet")
    steps = all_steps(FileSource(file, columns=Columns(kind="points")))
    np.testing.assert_array_equal(steps.observation, [[5.0]])
    assert steps.observation.dtype == np.float64


def test_float32_stays_float32_if_all_are(tmp_path):
    x = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    for other, dtype in ((x, np.float32), (x.astype(float), np.float64)):
        columns = {"obs_0": x, "obs_1": other, "reward": x}
        steps = all_steps(FileSource(write(tmp_path / "log", columns, "parquet")))
        assert steps.observation.dtype == steps.next_observation.dtype == dtype
        assert steps.reward.dtype == np.float64
        np.testing.assert_array_equal(steps.observation[:, 0], x[:2])


def test_numbers_of_any_type(tmp_path):
    import decimal

    columns = {
        "obs_0": pa.array([True, False, True]),
        "obs_1": pa.array([1, 2, 3], type=pa.uint8()),
        "obs_2": pa.array([decimal.Decimal("1.5")] * 3),
        "obs_3": pa.array(np.array([0.5, 1.5, 2.5], dtype=np.float16)),
        "reward": pa.array([1, 2, 3], type=pa.int16()),
        "done": pa.array([0, 0, 1], type=pa.int8()),
    }
    steps = all_steps(FileSource(write(tmp_path / "log", columns, "parquet")))
    np.testing.assert_array_equal(
        steps.observation, [[1, 1, 1.5, 0.5], [0, 2, 1.5, 1.5], [1, 3, 1.5, 2.5]]
    )
    np.testing.assert_array_equal(steps.terminated, [False, False, True])


@pytest.mark.parametrize("ending", FORMATS)
def test_discounts_weights_and_truncation_are_read(tmp_path, ending):
    columns = {
        "s": [0, 1, 2, 7],
        "next_s": [1, 2, 3, 8],
        "r": [1.0, 2.0, 3.0, 4.0],
        "discount": [0.5, 1.0, 0.0, 0.25],
        "weight": [1.0, 2.0, 0.0, 3.0],
        "truncated": [True, False, False, False],
        "terminated": [False, False, False, True],
    }
    expected = {
        "discount": columns["discount"],
        "weight": columns["weight"],
        "reward": columns["r"],
        "truncated": [True, False, True, False],
    }
    assert_same(all_steps(FileSource(write(tmp_path / "log", columns, ending))), expected)


def test_transitions_break_at_a_new_episode_and_a_new_file(tmp_path):
    columns = {"s": [0, 1, 2, 3], "next_s": [1, 2, 3, 4], "r": [1.0] * 4, "episode": [0, 0, 1, 1]}
    files = [write(tmp_path / name, columns, "parquet") for name in "ab"]
    for rows in (1, 3, 10):
        steps = all_steps(FileSource(files, batch_rows=rows))
        np.testing.assert_array_equal(steps.truncated, [False, True, False, True] * 2)


def test_skipping_passes_over_files_and_row_groups(tmp_path):
    ids = np.arange(20)
    files = [
        write(
            tmp_path / f"{i}",
            {"s": ids + 20 * i, "next_s": ids + 20 * i + 1, "r": np.ones(20)},
            "parquet",
            rows_per_group=6,
        )
        for i in range(3)
    ]
    source = FileSource(files, batch_rows=4)
    whole = all_steps(source)
    assert source.length == len(whole) == 60
    for skip in (0, 1, 6, 19, 20, 33, 40, 59):
        rest = all_steps(source, skip)
        np.testing.assert_array_equal(rest.observation, np.arange(skip, 60))
        np.testing.assert_array_equal(rest.truncated, whole.truncated[skip:])
    assert list(source.batches(skip=60)) == []


@pytest.mark.parametrize(
    ("kind", "ending"), [("csv", "csv"), ("jsonl", "jsonl"), ("arrow", "arrows")]
)
def test_standard_input_is_read_once(tmp_path, monkeypatch, kind, ending):
    n = 1000
    table = {"obs_0": np.arange(n) / 4, "obs_1": np.ones(n), "reward": np.arange(n) * 1.0}
    file = write(tmp_path / "log", table, ending, rows_per_group=300)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    source = FileSource("-", format=kind, batch_rows=64)
    assert source.description == "standard input"
    steps, expected = all_steps(source), all_steps(FileSource(file))
    assert_same(steps, vars(expected) | {"discount": None, "weight": None})
    with pytest.raises(InvalidInputError, match="standard input: expected a single pass"):
        all_steps(source)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "arrows"])
def test_standard_input_tells_its_format_by_how_it_begins(tmp_path, monkeypatch, ending):
    table = {"obs": np.arange(9) / 4, "reward": np.arange(9) * 1.0}
    file = write(tmp_path / "log", table, ending)
    with file.open("rb") as stream:  # buffered, as standard input is
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        steps = all_steps(FileSource("-"))
    assert_same(steps, vars(all_steps(FileSource(file))) | {"discount": None, "weight": None})


@pytest.mark.parametrize(
    ("begins", "got"), [(b"", "no format"), (b"\x00\x01", "no format"), (b"PAR1....", "Parquet")]
)
def test_standard_input_that_does_not_tell_is_refused(tmp_path, monkeypatch, begins, got):
    (tmp_path / "log").write_bytes(begins)
    with (tmp_path / "log").open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        with pytest.raises(InvalidInputError, match=f"standard input: expected .*, got {got}"):
            FileSource("-")


def test_folders_are_read_by_name(tmp_path):
    for name, state in (("b", 2), ("a", 0), ("c", 4)):
        write(tmp_path / name, {"s": [state, state + 1], "r": [1.0, 1.0]}, "parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.md").touch()
    (tmp_path / "sub").mkdir()
    source = FileSource(tmp_path)
    np.testing.assert_array_equal(all_steps(source).observation, [0, 2, 4])
    assert source.description.startswith("3 parquet files, ")
    assert source.n_rows == 6


def test_separators_spaces_and_byte_order_marks_of_csv(tmp_path):
    file = tmp_path / "log.csv"
    file.write_bytes("\ufeffobs_0; obs_1;reward;done\n 1.5;+2;1e1;True\n\n2; 3 ;4;0\n".encode())
    steps = all_steps(FileSource(file))
    np.testing.assert_array_equal(steps.observation, [[1.5, 2.0]])
    np.testing.assert_array_equal(steps.terminated, [True])
    np.testing.assert_array_equal(steps.reward, [10.0])


def test_large_observations_come_in_smaller_batches(tmp_path):
    values = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(40 * 100_000)), 100_000)
    file = write(tmp_path / "log", {"obs": values, "reward": np.ones(40)}, "parquet")
    assert max(map(len, FileSource(file).batches())) <= 21


@pytest.mark.parametrize("format", [None, "csv"])
def test_find_files_wants_files_of_one_format(tmp_path, format):
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.parquet").touch()
    if format:
        assert find_files(tmp_path, format) == [str(tmp_path / "a.csv")]
    else:
        with pytest.raises(InvalidInputError, match="files of one format"):
            find_files(tmp_path, format)


@pytest.mark.parametrize(
    ("form", "first", "then"),
    [
        ("csv", b"state,reward\n" + b"a,1\n" * 30, b"b,2\n" * 30),
        ("jsonl", b'{"state":"a","reward":1}\n' * 30, b'{"state":"b","reward":2}\n' * 30),
    ],
)
def test_rows_from_a_live_pipe_are_there_before_it_ends(form, first, then):
    script = (
        "import sys\n"
        "from lincat.tables.file_source import FileSource\n"
        "for steps in FileSource('-', format=sys.argv[1]).batches():\n"
        "    print(len(steps), flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, form], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        process.stdin.write(first)
        process.stdin.flush()
        written, until = 30, time.monotonic() + 60.0
        while not select.select([process.stdout], [], [], 0.1)[0]:
            assert time.monotonic() < until
            process.stdin.write(then)
            process.stdin.flush()
            written += 30
        process.stdin.close()
        seen = sum(map(int, process.stdout.read().split()))
    assert seen == written - 1  # the last row has no next one
    assert process.returncode == 0
