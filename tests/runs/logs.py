"""Small logs and interrupted runs, for the tests of runs and of the command line."""

import functools
import math

import numpy as np

from lincat.runs.candidates import Sizes
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun
from lincat.tables.file_source import FileSource

STEPS_PER_EPISODE = 50


def walk(rows, seed=0):
    """Columns of a log: a point that drifts back to the middle, in episodes of 50 steps."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(rows, 2))
    x = np.empty((rows, 2))
    for t in range(rows):
        x[t] = noise[t] if t % STEPS_PER_EPISODE == 0 else 0.8 * x[t - 1] + 0.6 * noise[t]
    return {
        "episode": np.arange(rows) // STEPS_PER_EPISODE,
        "step": np.arange(rows) % STEPS_PER_EPISODE,
        "x": x,
        "reward": np.clip(x[:, 0], -1.0, 1.0).round(3),
    }


def write_points(path, rows=4000, seed=0):
    """A Parquet file of episodes in the plane."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = walk(rows, seed)
    table = {"episode": log["episode"], "step": log["step"], "reward": log["reward"]}
    table |= {"obs_0": log["x"][:, 0], "obs_1": log["x"][:, 1]}
    pq.write_table(pa.table(table), path)
    return str(path)


def write_names(path, rows=4000, seed=0):
    """A CSV file of episodes among named states, some of which come late."""
    log = walk(rows, seed)
    cell = (4.0 * log["x"][:, 0]).round().astype(int)
    lines = ["episode,step,state,reward"]
    for row in zip(log["episode"], log["step"], cell, log["reward"], strict=True):
        lines.append("{},{},place {},{}".format(*row))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_transitions(path, rows=4000, seed=0):
    """A Parquet file in which every row has its next observation."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = walk(rows + 1, seed)
    x, ends = log["x"], log["step"][:-1] == STEPS_PER_EPISODE - 1
    table = {"obs_0": x[:-1, 0], "obs_1": x[:-1, 1], "reward": log["reward"][:-1]}
    table |= {"next_obs_0": x[1:, 0], "next_obs_1": x[1:, 1], "terminated": ends}
    pq.write_table(pa.table(table), path)
    return str(path)


def in_small_batches(monkeypatch, rows=500, seconds=0.0):
    """Make runs read few rows at a time, and keep a checkpoint after each batch."""
    small = functools.partial(FileSource, batch_rows=rows)
    monkeypatch.setattr("lincat.runs.sources.FileSource", small)
    monkeypatch.setattr("lincat.processes.process_source._BATCH", rows)
    monkeypatch.setattr("lincat.runs.loop._SECONDS_BETWEEN_CHECKPOINTS", seconds)
    # Waiting for the disk, hundreds of times, is all that these tests would do; and trying plans,
    # and solving for many features.
    monkeypatch.setattr("lincat._files.os.fsync", lambda _: None)
    monkeypatch.setattr("lincat.runs.choosing.tried", lambda pilot, gamma, long: 0)
    few = Sizes(math.inf, potential=16, scale=8, rest=(8, 4), sharp=(8, 4), plain=(8, 4))
    monkeypatch.setattr("lincat.runs.candidates.SIZES", (few,))


class KilledError(Exception):
    """Stands for the end of the process."""


def run_until(folder, transitions):
    """Run, but not to the end: whatever is on disk after so many transitions stays there."""
    for progress in EvaluationRun(folder).run():
        if progress.doing == "learning" and progress.transitions >= transitions:
            raise KilledError


def run_whole(path, config):
    """Run to the end; return the folder."""
    folder = RunFolder.create(path, config)
    finish(folder)
    return folder


def finish(folder):
    """Go on with whatever there is in the folder, to the end; return what was said."""
    return list(EvaluationRun(folder).run())


def learned(folder):
    """The bytes of what was learned."""
    return folder.model_file.read_bytes(), folder.features_file.read_bytes()
