"""From the words that name a source to the source itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lincat._arguments import fail
from lincat.data.source import Source
from lincat.processes import catalog
from lincat.processes.files import read_problem
from lincat.processes.problem import Problem
from lincat.runs.config import EvaluationConfig
from lincat.tables.file_source import FileSource
from lincat.tables.formats import FORMATS

_DEFAULT_GAMMA = 0.99
_DEFAULT_STEPS = 200_000  # of what has no end


@dataclass(frozen=True)
class Opened:
    """A source, and what is known beside its transitions.

    Attributes
    ----------
    source : Source
    gamma : float
    steps : int or None
        How many transitions there are, or are asked for; None if only the end will tell.
    rows : int or None
        The same, or about that many where only the number of rows is known: for progress.
    problem : Problem or None
        The finite process that they are drawn from.
    environment : object or None
        The environment that they come from, which can be rolled out again.
    is_recorded : bool
        Whether the same transitions come each time, so that some can be held out.
    is_live : bool
        Whether they come once, as they happen, and may never end: standard input.
    """

    source: Source
    gamma: float
    steps: int | None
    rows: int | None
    problem: Problem | None = None
    environment: Any = None
    is_recorded: bool = False
    is_live: bool = False


def open_source(config: EvaluationConfig) -> Opened:
    """Open what ``config.source`` names.

    ``gym:NAME`` and ``minari:NAME`` say what they are; ``-`` is standard input; a path that exists
    is a process if it ends with .json, and a log otherwise; then come the names of the catalog, and
    of Gymnasium's environments.
    """
    first = config.source[0]
    prefix, _, name = first.partition(":")
    if len(config.source) > 1:
        return _files(config)
    if prefix == "gym" and name:
        return _gym(config, name)
    if prefix == "minari" and name:
        return _minari(config, name)
    if first in catalog.names():
        return _process(config, catalog.build(first, seed=config.seed))
    if first.endswith(".json"):
        return _process(config, read_problem(first))
    if first == "-" or Path(first).exists():
        return _files(config)
    if _is_environment(first):
        return _gym(config, first)
    if _looks_like_a_path(first):
        return _files(config)  # which says that it is missing
    raise fail(
        "SOURCE",
        "a file or folder of logs, - for standard input, gym:NAME, minari:NAME, or a finite "
        f"process (a .json file, or one of {', '.join(catalog.names())})",
        repr(first),
    )


def _files(config: EvaluationConfig) -> Opened:
    source = FileSource(
        config.source,
        columns=config.columns,
        format=config.format,
        on_bad_rows=config.on_bad_rows,
        missing=config.missing,
        by_name=":" in config.features,
        episode_end=config.episode_end,
    )
    return Opened(
        source,
        _gamma(config),
        steps=_fewer(config.steps, source.length),
        rows=_fewer(config.steps, source.n_rows),
        is_recorded=True,
        is_live=config.source == ["-"],
    )


def _gym(config: EvaluationConfig, name: str) -> Opened:
    from lincat.environments.gym import GymSource

    steps = config.steps or _DEFAULT_STEPS
    source = GymSource(
        name,
        config.policy,
        steps=steps,
        seed=config.seed,
        n_envs=config.n_envs,
        env_options=config.env_options,
        trust_pickle=config.trust_pickle,
    )
    return Opened(source, _gamma(config), steps, steps, environment=source.environment)


def _minari(config: EvaluationConfig, name: str) -> Opened:
    from lincat.environments.minari import MinariSource

    source = MinariSource(name)
    steps = _fewer(config.steps, source.length)
    return Opened(source, _gamma(config), steps, steps, is_recorded=True)


def _process(config: EvaluationConfig, problem: Problem) -> Opened:
    from lincat.processes.process_source import ProcessSource

    if config.gamma is not None:
        problem = replace(problem, gamma=config.gamma)
    steps = config.steps or _DEFAULT_STEPS
    source = ProcessSource(
        problem.process,
        steps=steps,
        seed=config.seed,
        kind=config.sampling,
        state_names=problem.state_names,
        name=problem.name,
    )
    return Opened(source, problem.gamma, steps, steps, problem=problem)


def _gamma(config: EvaluationConfig) -> float:
    return _DEFAULT_GAMMA if config.gamma is None else config.gamma


def _fewer(wanted: int | None, there: int | None) -> int | None:
    known = [n for n in (wanted, there) if n is not None]
    return min(known, default=None)


def _looks_like_a_path(text: str) -> bool:
    """Whether a missing file was meant: it has a folder, or the ending of a log."""
    endings = tuple(ending for known in FORMATS.values() for ending in known)
    return ("/" in text and ":" not in text) or text.endswith(endings)


def _is_environment(name: str) -> bool:
    import gymnasium

    return name in gymnasium.registry or name.split("/")[0] in {
        spec.namespace for spec in gymnasium.registry.values() if spec.namespace
    }
