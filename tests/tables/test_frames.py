"""Frames are read as Parquet files are, whatever library they come from."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lincat import FileSource, InvalidInputError
from lincat.data.steps import Steps, joined
from lincat.tables.places import FramePlace, frame_name, is_frame


class _Foreign:
    """A library that nobody knows: all it has is the protocol."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def _pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def _polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def _duckdb(columns):
    table = pa.table(columns)
    return pytest.importorskip("duckdb").from_arrow(table)


MAKERS = {
    "dict": dict,
    "arrow": pa.table,
    "protocol": lambda columns: _Foreign(pa.table(columns)),
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
}
RNG = np.random.default_rng(0)
TABLES = {
    "points": {"x": RNG.normal(size=500), "y": RNG.normal(size=500)},
    "ids": {"state": RNG.integers(0, 5, 500)},
    "texts": {"state": np.array(list("abcde"), dtype=object)[RNG.integers(0, 5, 500)]},
    "mixed ids": {
        "state_a": RNG.integers(0, 5, 500),
        "state_b": np.array(["left", "right"], dtype=object)[RNG.integers(0, 2, 500)],
    },
}
REST = {
    "reward": RNG.normal(size=500),
    "episode": np.arange(500) // 50,
    "t": np.arange(500) % 50,
}


def _columns(name):
    from lincat import Columns

    return Columns(observation=("x", "y")) if name == "points" else Columns()


def _all(source: FileSource) -> Steps:
    return joined(list(source.batches()))


def _same(left: Steps, right: Steps) -> None:
    for one, other in zip(left._columns(), right._columns(), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("library", MAKERS)
def test_a_frame_gives_the_steps_of_the_file(library, table, tmp_path):
    columns = {**TABLES[table], **REST}
    file = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns), file)
    frame = MAKERS[library](columns)
    assert is_frame(frame)
    found = FileSource(frame, columns=_columns(table), batch_rows=70)
    expected = FileSource(file, columns=_columns(table), batch_rows=70)
    assert found.n_rows == 500
    assert found.space == expected.space
    _same(_all(found), _all(expected))
    _same(joined(list(found.batches(skip=123))), joined(list(expected.batches(skip=123))))


def test_transitions_know_their_number_and_are_entered_in_the_middle():
    columns = {"state": [0, 1, 2, 0], "reward": [1.0] * 4, "next_state": [1, 2, 0, 1]}
    source = FileSource(columns)
    assert source.length == 4
    assert joined(list(source.batches(skip=3))).observation.tolist() == [0]


def test_an_index_without_a_name_is_no_column_and_one_with_a_name_is():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"obs_0": [0.5, 1.5, 2.5], "reward": [1.0, 2.0, 3.0]})
    assert FramePlace.of(frame[frame.reward > 1.0]).table.schema.names == ["obs_0", "reward"]
    named = frame.assign(episode=[0, 0, 1], t=[0, 1, 0]).set_index(["episode", "t"])
    steps = _all(FileSource(named))
    assert steps.terminated.tolist() == [False, True, True]


def test_categories_and_missing_values():
    pandas = pytest.importorskip("pandas")
    states = pandas.Categorical(["a", "b", "a"])
    frame = pandas.DataFrame({"state": states, "reward": [1.0, None, 3.0]})
    with pytest.raises(InvalidInputError, match=r"pandas.DataFrame, row 2, reward: expected"):
        _all(FileSource(frame))
    assert _all(FileSource(frame.fillna({"reward": 0.0}))).observation.tolist() == ["a", "b"]


def test_a_frame_is_taken_as_it_is_now():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"state": [0, 1, 0], "reward": [1.0, 2.0, 3.0]})
    source = FileSource(frame)
    frame["state"] = 7
    assert _all(source).observation.tolist() == [0, 1]


def test_what_arrow_cannot_hold_is_said_in_a_line():
    with pytest.raises(InvalidInputError, match="dict: expected columns that Arrow can hold, got"):
        FileSource({"state": [1, "a"], "reward": [1.0, 2.0]})


def test_names():
    assert frame_name({}) == "dict"
    assert frame_name(pa.table({"x": [1]})) == "pyarrow.Table"
    assert not is_frame([1, 2])
