"""``lincat.stats`` and ``lincat.merge``: sums of a source, and sums of sums, as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lincat._arguments import fail, for_python
from lincat.environments.policies import Policy, Predictor
from lincat.features._base import Features
from lincat.runs.config import config_from_dict
from lincat.runs.given import taken
from lincat.runs.source_statistics import SourceStatistics, merged
from lincat.runs.sources import open_source
from lincat.runs.summing import Summing
from lincat.tables.columns import Columns
from lincat.tables.formats import FormatName


@for_python
def stats(
    source: object,
    *,
    out: str | Path | None = None,
    site: str = "",
    like: SourceStatistics | str | Path | None = None,
    gammas: Sequence[float] = (),
    steps: int | None = None,
    seed: int = 0,
    format: FormatName | None = None,
    columns: Columns | Mapping[str, str | Sequence[str]] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_bad_rows: Literal["stop", "skip"] = "stop",
    missing: Literal["auto", "indicator", "skip", "stop"] = "auto",
    episode_end: Literal["terminated", "truncated"] = "terminated",
    policy: str | Callable[..., Any] | Policy | Predictor | None = None,
    n_envs: int = 1,
    env_options: Mapping[str, Any] | None = None,
    trust_pickle: bool = False,
    sampling: Literal["markov", "generative"] = "markov",
    features: str | Features = "auto",
    feature_options: Mapping[str, Any] | None = None,
    validate: int | None = None,
) -> SourceStatistics:
    """Sum up a source in one pass, for every later question.

    The sums hold for any gamma, grid, level, threshold and window of time; :func:`merge` adds those
    of several sites, and :func:`evaluate` answers from them. No row is in them.

    Parameters
    ----------
    source : object
        What :func:`evaluate` takes.
    out : str or path, optional
        A file to write them to, as :meth:`SourceStatistics.save` does; its name ends in .stats.
    site : str
        Where the rows are from; by default as the source is called. Statistics of one name are
        taken to be of one site, at several times.
    like : SourceStatistics, str or path, optional
        Statistics to agree with on features, groups of states and reward nodes. Sites with numbers
        (not ids) in their observations, or more than 64 different rewards, need it to be merged.
    gammas : sequence of float
        For which held-out returns are kept, by which answers are checked; ten by default.
    steps, seed, format, columns, storage_options, on_bad_rows, missing, episode_end, policy, n_envs
        As for :func:`evaluate`.
    env_options, trust_pickle, sampling, features, feature_options
        Likewise.
    validate : int, optional
        How many returns to hold out; by default a tenth of the rows, 0 for none, so that the
        statistics hold nothing but sums.

    Examples
    --------
    >>> import lincat
    >>> walk = lincat.stats("paper", steps=5_000)
    >>> [round(float(lincat.evaluate(walk, gamma=gamma).returns.mean()[0]), 2)
    ...  for gamma in (0.5, 0.75)]
    [1.02, 2.04]
    """
    options = {
        name: value
        for name, value in locals().items()
        if name not in ("out", "site", "like", "gammas")
    }
    given = taken(options)
    config = config_from_dict(options, "stats")
    agreed = SourceStatistics.load(like) if isinstance(like, str | Path) else like
    summing = Summing(config, open_source(config, given), site=site, like=agreed, gammas=gammas)
    for _ in summing.run():
        pass
    if out is not None:
        summing.result.save(out)
    return summing.result


@for_python
def merge(
    parts: Sequence[SourceStatistics | str | Path], *, out: str | Path | None = None
) -> SourceStatistics:
    """Add statistics of several sites, or of one site at several times.

    In whatever order they are given, the sums are the same to the last bit.

    Parameters
    ----------
    parts : list of SourceStatistics, or paths of their files
    out : str or path, optional
        A file to write the sum to.

    Examples
    --------
    >>> import lincat
    >>> parts = [lincat.stats("frozen_lake", steps=1_000, seed=seed, site=f"site {seed}")
    ...          for seed in range(3)]
    >>> lincat.merge(parts)
    SourceStatistics(2632 transitions, 16 features, sites site 0, site 1, site 2)
    """
    if isinstance(parts, str | Path | SourceStatistics) or not len(parts):
        raise fail("parts", "a list of statistics, or of their files", repr(parts))
    names = [str(x) if isinstance(x, str | Path) else f"part {i}" for i, x in enumerate(parts)]
    loaded = [SourceStatistics.load(x) if isinstance(x, str | Path) else x for x in parts]
    whole = merged(loaded, names)
    if out is not None:
        whole.save(out)
    return whole
