"""Who sums the parts of a log, as a configuration says or as it is given."""

from __future__ import annotations

from typing import Any

from lincat._arguments import fail
from lincat.runs.config import EvaluationConfig
from lincat.runs.in_parts import check_parts
from lincat.runs.sources import Opened
from lincat.scale.cluster import Cluster
from lincat.scale.pool import Here, Pool
from lincat.scale.processes import Processes


def open_pool(config: EvaluationConfig, opened: Opened | None, client: Any = None) -> Pool | None:
    """Return who sums a log by parts; None where this process reads it as one stream.

    A single worker is this process.
    """
    if config.workers is None and config.scheduler is None:
        return None
    if config.workers is not None and config.scheduler is not None:
        raise fail("--workers", "nothing beside --scheduler", config.workers, "leave one out")
    if opened is None:
        got, remedy = "statistics", "they are summed already: leave it out"
        raise fail("--workers and --scheduler", "a log", got, remedy)
    check_parts(config, opened)
    if client is not None:
        return Cluster(client)
    if config.scheduler is not None:
        return Cluster.at(config.scheduler)
    return Here() if config.workers == 1 else Processes(config.workers or 1)
