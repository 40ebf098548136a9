"""Stretches of a log, cut anywhere: together they are the log."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from lincat.data.steps import Steps, joined
from lincat.tables.file_source import FileSource

COLUMNS = ("observation", "reward", "next_observation", "terminated", "truncated", "discount")


@st.composite
def logs(draw):
    """Columns of episodes, some with ends, gaps and rows that cannot be used; or transitions."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    n = sum(lengths)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    last = np.append(np.diff(episode) != 0, True)
    flags = st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    log = {"obs_0": np.arange(n) % 7 / 2, "reward": np.arange(n) / 4}
    if draw(st.booleans()):
        log["next_obs_0"] = np.where(draw(flags), np.roll(log["obs_0"], -1), 9.0)
        log["terminated"] = draw(flags)
        return log
    if draw(st.booleans()):
        log["episode"] = episode
        kind = draw(st.sampled_from(["terminated", "truncated", "neither"]))
        if kind != "neither":
            log[kind] = last & draw(flags)
    if draw(st.booleans()):
        log["step"] = np.concatenate([np.arange(k) for k in lengths])
    return log


@given(log=logs(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_steps_of_all_stretches_are_those_of_the_whole(log, data):
    n = len(log["reward"])
    spoiled = data.draw(st.sets(st.integers(0, n - 1), max_size=n // 4))
    log = log | {"reward": np.where(np.isin(np.arange(n), list(spoiled)), np.nan, log["reward"])}
    edges = [0, *sorted(data.draw(st.sets(st.integers(1, max(n - 1, 1)), max_size=3)) | {n})]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, (begin, end) in enumerate(itertools.pairwise(edges)):
            files.append(str(Path(folder) / f"{i}.parquet"))
            table = pa.table({name: column[begin:end] for name, column in log.items()})
            pq.write_table(table, files[-1], row_group_size=data.draw(st.integers(1, 4)))
        source = FileSource(files, on_bad_rows="skip", batch_rows=data.draw(st.integers(1, 5)))
        try:
            whole = joined(list(source.batches()))
        except ValueError:  # not a single step
            return
        cuts = sorted(data.draw(st.sets(st.integers(1, max(n - 1, 1)), max_size=4)) | {0, n})
        parts, skipped = [], 0
        for begin, end in itertools.pairwise(cuts):
            parts += list(source.between(begin, end))
            skipped += source.skipped_rows
        assert_same(joined(parts), whole)
        assert skipped == len(spoiled)
        assert sum(source.row_groups) == n


def assert_same(got: Steps, expected: Steps) -> None:
    for name in COLUMNS:
        left, right = getattr(got, name), getattr(expected, name)
        if name == "next_observation":  # after an end it is that of whatever row comes next
            left, right = left[~got.terminated], right[~expected.terminated]
        np.testing.assert_array_equal(left, right, err_msg=name)
