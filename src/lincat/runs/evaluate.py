"""``lincat.evaluate`` and ``lincat.resume``: from a source to a finished run, as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lincat._arguments import for_python
from lincat._files import TemporaryFolder
from lincat._reach import Allowed
from lincat.environments.policies import Policy, Predictor
from lincat.features._base import Features
from lincat.learners.registry import AveragingName, DtypeName, LearnerName
from lincat.runs.binding import given_here
from lincat.runs.config import EvaluationConfig, config_from_dict
from lincat.runs.folder import RunFolder
from lincat.runs.from_statistics import StatisticsRun, open_statistics
from lincat.runs.given import Given, Transformer, our_features, taken
from lincat.runs.loop import EvaluationRun
from lincat.runs.pools import open_pool
from lincat.runs.resuming import continued
from lincat.runs.run import Run
from lincat.runs.sources import open_source
from lincat.scale.cluster import address_of
from lincat.tables.columns import Columns
from lincat.tables.formats import FormatName


@for_python
def evaluate(
    source: object,
    *,
    gamma: float | None = None,
    out: str | Path | None = None,
    force: bool = False,
    steps: int | None = None,
    n_step: int | None = None,
    seed: int = 0,
    format: FormatName | None = None,
    columns: Columns | Mapping[str, str | Sequence[str]] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_bad_rows: Literal["stop", "skip"] = "stop",
    missing: Literal["auto", "indicator", "skip", "stop"] = "auto",
    workers: int | None = None,
    client: Any = None,
    episode_end: Literal["terminated", "truncated"] = "terminated",
    policy: str | Callable[..., Any] | Policy | Predictor | None = None,
    n_envs: int = 1,
    env_options: Mapping[str, Any] | None = None,
    trust_pickle: bool = False,
    sampling: Literal["markov", "generative"] = "markov",
    features: str | Features | Transformer = "auto",
    feature_options: Mapping[str, Any] | None = None,
    warm_up: int | None = None,
    learner: LearnerName = "auto",
    low: float | None = None,
    high: float | None = None,
    intervals: int | None = None,
    step_size: float | Literal["auto"] = "auto",
    step_power: float | None = None,
    averaging: AveragingName = "tail",
    window: int | None = None,
    passes: int | Literal["auto"] = "auto",
    batch_size: int = 1,
    dtype: DtypeName = "float64",
    validate: int | None = None,
    level: float = 0.05,
    below: float | None = None,
    n_states: int = 8,
    since: str | None = None,
    until: str | None = None,
    last_blocks: int | None = None,
) -> Run:
    """Learn return distributions from a source, and keep everything in a run folder.

    The same as ``lincat evaluate`` on the command line, without the page, which
    :meth:`Run.report` writes.

    Parameters
    ----------
    source : object
        A frame (pandas, polars, Arrow, DuckDB, anything with ``__arrow_c_stream__``, or a dict of
        columns), one of Dask, or a dataset of Arrow; a Gymnasium environment, or a function that
        makes one; :class:`Transitions`; a finite process; or, as text, what the command line takes:
        paths of logs, "gym:NAME", "minari:NAME", the name of a finite process. Or statistics, and
        files of them (.stats).
    gamma : float, optional
        Discount factor; 0.99, or that of the finite process. 1 where episodes end.
    out : str or path, optional
        The run folder, which must be new or empty. By default a temporary one, ``run.path``, that
        is there for as long as the run is; :meth:`Run.save` keeps it.
    force : bool
        Begin again in a folder that holds a run.
    steps : int, optional
        At most so many transitions; all of a table, 200,000 of anything without an end.
    n_step : int, optional
        Rewards of so many steps are summed before the learner sees them.
    seed : int
        Of the environment, the policy and the sampled states.
    format : "parquet", "csv", "jsonl" or "arrow", optional
        Of a file whose name does not tell.
    columns : Columns or mapping, optional
        Which column holds what, ``{"reward": "cash"}``; found by their names where not given.
    storage_options : mapping, optional
        Of the file system of addresses such as "s3://bucket/logs", as Dask takes them:
        ``{"anon": True}``. They are written nowhere.
    on_bad_rows : "stop" or "skip"
    missing : "auto", "indicator", "skip" or "stop"
        What to do with cells of observations that are missing.
    workers : int, optional
        So many processes of this machine sum Parquet files, by their row groups, or the pieces of
        a Dask frame or a dataset of Arrow; 1 is this process.
        The answer has the same bits for any number of them, and on a cluster.
    client : distributed.Client, optional
        The workers of a Dask cluster do.
    episode_end : "terminated" or "truncated"
        What the last row of an episode means, where no column says so.
    policy : str, function or model, optional
        What acts in an environment, at random by default: ``f(observation)`` or ``f(observation,
        rng)``; a trained model with ``predict(observation, deterministic=True)``, as
        Stable-Baselines3 has them; or a word that ``--policy`` takes.
    n_envs : int
        Copies of the environment that are stepped together.
    env_options : mapping, optional
        Keyword arguments of the environment.
    trust_pickle : bool
        Whether files that can run code when they are read (Stable-Baselines3) may be read.
    sampling : "markov" or "generative"
        How to draw from a finite process.
    features : str, Features or transformer
        A word that ``--features`` takes, features such as ``lincat.Fourier(order=5)``, or a
        scikit-learn transformer, which gets the columns of a log by name. Fitted ones are used as
        they are; others are fitted on the first rows, and have to be deterministic.
    feature_options : mapping, optional
        Keyword arguments of features that were named.
    warm_up : int, optional
        Transitions from which features are fitted, and states chosen for the report.
    learner : str
    low, high : float, optional
        Ends of the grid; where the returns are, if not given.
    intervals : int, optional
        K; there are K + 1 atoms. By default as many as the returns ask for.
    step_size, step_power, averaging, passes, batch_size, dtype
        Of learners that go step by step; with a power, steps are step_size * t**(-step_power).
    window : int, optional
        Learn from about the last so many transitions, where the world drifts.
    validate : int, optional
        Returns to check the result against; by default a tenth of a record that is long enough, or
        four thousand rollouts; 0 for none.
    level : float
        Of quantiles and CVaR.
    below : float, optional
        Threshold: the chance of a return below it is shown.
    n_states : int
        How many typical states the report shows.
    since, until : str, optional
        Of statistics (:func:`lincat.stats`): only blocks of time between these.
    last_blocks : int, optional
        Likewise: only the last so many blocks of each site.

    Examples
    --------
    >>> import lincat
    >>> run = lincat.evaluate("frozen_lake", steps=20_000, validate=1)
    >>> run.names[0], run.returns[[0]].mean().round(2)
    ('start', array([0.01]))
    >>> run.validation["all"].w1 < 0.01
    True
    >>> run.predict([14]).grid.intervals
    1000
    """
    options = {
        name: value for name, value in locals().items() if name not in ("out", "force", "client")
    }
    given = taken(options, client)
    options["scheduler"] = None if client is None else address_of(client)
    return _run(config_from_dict(options, "evaluate"), given, out, force=force)


@for_python
def resume(
    run: Run | str | Path,
    *,
    source: object = None,
    policy: Callable[..., Any] | Policy | Predictor | None = None,
    features: Features | Transformer | None = None,
    steps: int | None = None,
    append: bool = False,
    on_bad_rows: Literal["stop", "skip"] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    client: Any = None,
    trust_code: bool = False,
    connect: bool = False,
) -> Run:
    """Continue a run from its last checkpoint, or make a finished one longer.

    Parameters
    ----------
    run : Run, str or path
        The run, or its folder.
    source : object, optional
        What the run was given, if that was a Python object: a configuration cannot hold it. Frames
        must have the rows that they had; with ``append`` others follow.
    policy, features : function or object, optional
        Likewise.
    steps : int, optional
        Learn from so many transitions in all.
    append : bool
        Learn from rows that were added to its logs, or to the frame.
    on_bad_rows : "stop" or "skip", optional
        Instead of what the run was told.
    storage_options : mapping, optional
        As for :func:`evaluate`, if it was given some.
    workers : int, optional
    client : distributed.Client, optional
        Who sums the parts of a log that are left, instead of who did.
    trust_code : bool
        Whether what the folder names may be imported, or read from pickles: both run code. Runs of
        this program are trusted as they were.
    connect : bool
        Whether addresses of other machines that the folder names (s3://...) may be connected to. A
        Dask scheduler needs both, as it sends pickles; or give ``client``, or ``workers``.

    Examples
    --------
    >>> import lincat
    >>> run = lincat.evaluate(lincat.catalog.uniform_coin(), steps=1000)
    >>> lincat.resume(run, source=lincat.catalog.uniform_coin(), steps=2000).answer.transitions
    2000
    """
    folder = RunFolder.open(run.path if isinstance(run, Run) else Path(run))
    own = None if features is None else our_features(features)
    given = Given(source, policy, own, client, storage_options)
    before = run.allowed if isinstance(run, Run) else Allowed()
    allowed = Allowed(code=trust_code or before.code, connect=connect or before.connect)
    going_on = continued(
        *(folder, given),
        steps=steps,
        append=append,
        on_bad_rows=on_bad_rows,
        workers=workers,
        scheduler=None if client is None else address_of(client),
        allowed=allowed,
    )
    for _ in going_on.run():
        pass
    kept = run.temporary if isinstance(run, Run) else None
    return Run(folder, allowed=allowed, transformer=given.transformer, temporary=kept)


def _run(config: EvaluationConfig, given: Given, out: str | Path | None, *, force: bool) -> Run:
    config = given_here(config)
    # Before anything is written or, with force, cleared.
    whole = open_statistics(config, given)
    opened = open_source(config, given) if whole is None else None
    pool = open_pool(config, opened, given.client)
    temporary = None
    if out is None:
        temporary = TemporaryFolder()
        out = temporary.path
    folder = RunFolder.create(Path(out), config, force=force)
    with folder.kept_if_learned():
        run = (
            EvaluationRun(folder, opened, pool=pool)
            if whole is None
            else StatisticsRun(folder, whole)
        )
        for _ in run.run():
            pass
    own = Allowed(code=True, connect=True)
    return Run(folder, allowed=own, transformer=given.transformer, temporary=temporary)
