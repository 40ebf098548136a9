"""Dask's frames and datasets of Arrow are read as the table that they are."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lincat._arguments import InvalidInputError
from lincat.data.steps import joined
from lincat.tables.file_source import FileSource
from lincat.tables.pieces import DaskPieces, PiecesPlace

dd = pytest.importorskip("dask.dataframe")


def table(rows=60):
    rng = np.random.default_rng(0)
    columns = {"episode": np.arange(rows) // 7, "x": rng.normal(size=rows).round(2)}
    return pa.table(columns | {"reward": rng.integers(0, 3, rows) * 1.0, "unused": ["a"] * rows})


def as_dask(log, folder):
    return dd.from_pandas(log.to_pandas(), npartitions=4)


def as_files(log, folder):
    pq.write_table(log, folder / "log.parquet", row_group_size=13)
    return ds.dataset(folder)


def as_filtered(log, folder):
    return as_files(log, folder).filter(ds.field("episode") >= 0)


def as_reader(log, folder):
    return pa.RecordBatchReader.from_batches(log.schema, log.to_batches(max_chunksize=9))


@pytest.mark.parametrize("form", [as_dask, as_files, as_filtered, as_reader])
def test_rows_are_those_of_the_table(form, tmp_path):
    log = table()
    source, expected = FileSource(form(log, tmp_path), batch_rows=8), FileSource(log, batch_rows=8)
    one, other = (joined(list(x.batches())) for x in (source, expected))
    for name in ("observation", "reward", "next_observation", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert source.n_rows == 60
    if form in (as_reader, as_filtered):
        return
    assert sum(source.row_groups) == 60
    assert len(source.row_groups) == {as_dask: 4, as_files: 5}[form]
    assert source.fingerprints() == FileSource(form(log, tmp_path)).fingerprints()
    again = pickle.loads(pickle.dumps(source))
    parts = [joined(list(again.between(a, b))) for a, b in ((0, 15), (15, 44), (44, 60))]
    np.testing.assert_array_equal(joined(parts).truncated, other.truncated)
    np.testing.assert_array_equal(joined(parts).reward, other.reward)


def test_pieces_that_cannot_be_made_are_one_line():
    def broken(part):
        if len(part) and part.x.iloc[0] > 3:
            raise RuntimeError("no such tape")
        return part

    frame = dd.from_pandas(pd.DataFrame({"x": range(8), "reward": 1.0}), npartitions=2)
    meta = frame._meta
    for changed, words in (
        (
            frame.map_partitions(broken, meta=meta),
            "one that can be made here, got RuntimeError",
        ),
        (frame[frame.x < 6], "the 4 rows that it had, got 2"),
    ):
        place = PiecesPlace("frame", DaskPieces(changed, [4, 4]))
        with pytest.raises(InvalidInputError, match=f"frame, piece 1: expected {words}"):
            list(place.open(stop=True).chunks(["x"], 8))
