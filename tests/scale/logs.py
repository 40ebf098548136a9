"""A log in many row groups, and who sums it."""

import pyarrow as pa
import pyarrow.parquet as pq

from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.loop import EvaluationRun
from lincat.runs.sources import open_source
from tests.runs.logs import walk

GROUPS = 48  # some of which are held out, so that some forty parts are left


def write_log(folder, rows=4000, files=2):
    """Parquet files of episodes in the plane that know nothing of where files end."""
    log = walk(rows)
    names = ("episode", "step", "reward")
    table = pa.table(
        {name: log[name] for name in names} | {"obs_0": log["x"][:, 0], "obs_1": log["x"][:, 1]}
    )
    size = rows // files
    group = -(-size // (GROUPS // files))
    for i in range(files):
        pq.write_table(table.slice(i * size, size), folder / f"{i}.parquet", row_group_size=group)
    return folder / "*.parquet"


def config_of(log, **options):
    """A configuration that is quick to learn by."""
    given = {"features": "fourier", "feature_options": {"order": 2}, "gamma": 0.9, "intervals": 40}
    return EvaluationConfig(source=[str(log)], **{**given, **options})


def run_with(path, config, pool):
    """Run to the end; return the folder."""
    folder = RunFolder.create(path, config)
    for _ in EvaluationRun(folder, open_source(config), pool=pool).run():
        pass
    return folder


def learned(folder):
    """What must not depend on who did it."""
    answer = folder.answer
    return folder.model_file.read_bytes(), answer.cdf, answer.bands, answer.validation
