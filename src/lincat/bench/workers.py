"""How fast parts of a log are summed: as one stream, by one and two processes, by one Dask worker.

    lincat bench workers --log-rows 10000000

Rows are transitions of 8 numbers with their next ones, d = 17 features, written as Parquet in row
groups of 2^17 rows. Starting the processes is not counted: each does a piece before the clock runs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings
from lincat.features.fourier import Fourier
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.runs.model import Model
from lincat.runs.parts import SumParts, cut_in_parts
from lincat.scale.pool import Here, Pool
from lincat.scale.processes import Processes
from lincat.tables.file_source import FileSource

_NUMBERS = 8
_GROUP = 2**17
_STREAM, _ONE, _TWO, _DASK = "one stream", "1 process", "2 processes", "1 Dask worker, memory kept"


def write_log(folder: Path, rows: int, *, numbers: int = _NUMBERS, seed: int = 0) -> Path:
    """Write a log of transitions, in files of 2^20 rows."""
    rng = np.random.default_rng(seed)
    for i, first in enumerate(range(0, rows, 2**20)):
        n = min(2**20, rows - first)
        x = rng.normal(size=(n + 1, numbers)).astype(np.float32)
        columns: dict[str, Any] = {f"obs_{j}": x[:-1, j] for j in range(numbers)}
        columns |= {f"next_obs_{j}": x[1:, j] for j in range(numbers)}
        columns |= {"reward": np.round(x[:-1, 0]), "terminated": rng.random(n) < 0.01}
        pq.write_table(pa.table(columns), folder / f"{i:04d}.parquet", row_group_size=_GROUP)
    return folder


def job_of(folder: Path, terms: int = 17) -> SumParts:
    """Return the work of summing a log."""
    source = FileSource(folder)
    sample = next(source.batches())
    features = Fourier(order=2, max_terms=terms).fit(sample.observation)
    learner = CategoricalLSTD(gamma=0.9, n_features=features.n_features_, max_blocks=1)
    parts = cut_in_parts(source.row_groups or [], [], cuts=False)
    return SumParts(source, Model(features, learner), 1, parts)


def stream(job: SumParts) -> float:
    """Return the seconds of one pass in this process, as ``lincat evaluate`` reads a log."""
    learner, begun = job.model.learner.clone().set_params(max_blocks=64), time.perf_counter()
    for steps in job.source.batches():
        learner.partial_fit(job.model.transitions(steps))
    return time.perf_counter() - begun


def by(pool: Pool, job: SumParts, workers: int) -> float:
    """Return the seconds that a pool takes, once its processes have done a piece each."""
    extra = tuple(range(workers))
    results = pool.results(job, [*extra, *range(len(job.parts))])
    for _ in extra:
        next(results)
    begun = time.perf_counter()
    for _ in results:
        pass
    return time.perf_counter() - begun


def dask_worker(stack: ExitStack) -> Pool:
    """Return one Dask worker, a process of its own, which keeps its memory."""
    import dask
    from distributed import Client, LocalCluster

    from lincat.scale.cluster import Cluster

    environment = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**30)}
    stack.enter_context(dask.config.set({"distributed.nanny.pre-spawn-environ": environment}))
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = Client(stack.enter_context(cluster))
    return Cluster(stack.enter_context(client))


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Sum one log in turns: as a stream, by parts, by processes, by a Dask worker."""
    rows = 3_000 if settings.quick else settings.log_rows
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        progress(f"workers: a log of {rows:,} rows")
        job = job_of(write_log(Path(folder), rows, seed=settings.seed))
        stream(job)  # kernels are compiled
        kinds: dict[str, Callable[[], float]] = {
            _STREAM: lambda: stream(job),
            "by parts, in this process": lambda: by(Here(), job, 0),
            _ONE: lambda: by(Processes(1), job, 1),
            _TWO: lambda: by(Processes(2), job, 2),
        }
        if find_spec("distributed") is not None:
            kinds[_DASK] = lambda: by(dask_worker(stack), job, 1)
        if settings.quick:
            kinds = dict(list(kinds.items())[:2])
        seconds = {}
        for name, measure in kinds.items():
            progress(f"workers: {name}")
            seconds[name] = measure()
    shown = [
        {"who": name, "seconds": x, "million rows/s": rows / x / 1e6} for name, x in seconds.items()
    ]
    parts = f"{job.model.features.n_features_} features, {len(job.parts)} parts"
    return Result(
        f"Parts of a log of {rows:,} rows, {parts}; processes have started before the clock runs",
        shown,
        [
            Bar("two processes over one, in speed", _over(seconds, _ONE, _TWO), ">=", 1.6),
            Bar("a Dask worker over one stream", _over(seconds, _STREAM, _DASK), ">=", 0.8),
        ],
    )


def _over(seconds: dict[str, float], other: str, one: str) -> float | None:
    """How many times as fast one is as the other; None if it was not measured."""
    return seconds[other] / seconds[one] if one in seconds and other in seconds else None
