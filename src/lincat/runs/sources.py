"""From the words that name a source, or the object that it is, to the source itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from lincat._arguments import fail, reason
from lincat.data.in_memory import InMemorySource
from lincat.data.source import Source
from lincat.data.steps import Steps
from lincat.data.transitions import Transitions
from lincat.environments.policies import Policy, Predictor
from lincat.features._base import Features
from lincat.features.identity import Identity
from lincat.features.registry import is_imported
from lincat.processes import catalog
from lincat.processes.files import read_problem
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.mdp import FiniteMDP
from lincat.processes.problem import Problem
from lincat.runs.config import EvaluationConfig
from lincat.runs.given import Given, check_given, names_transformer
from lincat.runs.source_options import (
    ADDRESS,
    ENVIRONMENT,
    FILES,
    FRAME,
    MEMORY,
    MINARI,
    PROCESS,
    check_options,
)
from lincat.tables.file_source import FileSource
from lincat.tables.formats import FORMATS
from lincat.tables.places import is_frame
from lincat.tables.stores import is_address

#: What acts in an environment.
Acting: TypeAlias = str | Callable[..., Any] | Policy | Predictor

#: Of the file system of addresses.
StorageOptions: TypeAlias = Mapping[str, Any] | None

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
    policy : str, function or Policy
        What acts in it.
    features : Features or None
        To be used whatever the configuration says.
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
    policy: Acting = "random"
    features: Features | None = None
    is_recorded: bool = False
    is_live: bool = False

    @property
    def transformer(self) -> object:
        """The object that makes the features, where a file of them only has its name."""
        return Given(features=self.features).transformer


@dataclass(frozen=True)
class _Kind:
    """A kind of Python object that steps come from: in words, how it is told, how it is opened."""

    words: str
    fits: Callable[[Any], bool]
    open: Callable[[EvaluationConfig, Any, Given], Opened]


def open_source(config: EvaluationConfig, given: Given | None = None) -> Opened:
    """Open the object that is given, or what ``config.source`` names.

    ``gym:NAME`` and ``minari:NAME`` say what they are; ``-`` is standard input; a path that exists
    is a process if it ends with .json, and a log otherwise; then come the names of the catalog, and
    of Gymnasium's environments.
    """
    given = Given() if given is None else given
    if given.source is None:
        opened = _named(config, given)
    else:
        current = nullcontext() if given.client is None else given.client.as_current()
        with current:  # by which Dask counts the rows of its frames
            opened = _object(config, given.source, given)
    return opened if given.features is None else replace(opened, features=given.features)


def _object(config: EvaluationConfig, thing: Any, given: Given) -> Opened:
    for kind in _KINDS:
        if kind.fits(thing):
            return kind.open(config, thing, given)
    words = ", ".join(kind.words for kind in _KINDS)
    raise fail("source", f"a path or a name, {words}", type(thing).__name__, _line_for(thing))


def _line_for(thing: Any) -> str:
    """The line that works for what is nearly a source."""
    if isinstance(thing, FiniteMDP):
        return "a decision process needs a policy: mdp.under(policy)"
    if callable(getattr(thing, "collect", None)):
        return "give what its collect() returns"
    if isinstance(thing, np.ndarray):
        return 'name its columns: {"obs_0": array[:, 0], "obs_1": array[:, 1], "reward": ...}'
    if isinstance(thing, list) and thing and isinstance(thing[0], dict):
        return "rows make a table: pyarrow.Table.from_pylist(rows)"
    return ""


def _named(config: EvaluationConfig, given: Given) -> Opened:
    first = config.source[0]
    check_given(first, "source")
    prefix, _, name = first.partition(":")
    if len(config.source) > 1 and not first.endswith(".stats"):
        return _files(config, given)
    if prefix == "gym" and name:
        return _gym(config, name, given)
    if prefix == "minari" and name:
        return _minari(config, name, given)
    if first.endswith(".stats"):
        remedy = f"lincat evaluate {first} answers from it"
        raise fail("SOURCE", "rows", f"{first}, which holds none", remedy)
    if is_address(first):
        return _files(config, given)
    if first in catalog.names():
        return _process(config, catalog.build(first, seed=config.seed), given)
    if first.endswith(".json") and not _is_array(first):
        return _process(config, read_problem(first), given)
    if first == "-" or Path(first).exists():
        return _files(config, given)
    if _is_environment(first):
        return _gym(config, first, given)
    if _looks_like_a_path(first):
        return _files(config, given)  # which says that it is missing
    raise fail(
        "SOURCE",
        "a file or folder of logs, - for standard input, gym:NAME, minari:NAME, or a finite "
        f"process (a .json file, or one of {', '.join(catalog.names())})",
        repr(first),
    )


def _files(config: EvaluationConfig, given: Given, frame: Any = None) -> Opened:
    kind = ADDRESS if any(map(is_address, config.source)) else FILES
    check_options(kind if frame is None else FRAME, config, given)
    source = FileSource(
        config.source if frame is None else frame,
        columns=config.columns,
        format=config.format,
        on_bad_rows=config.on_bad_rows,
        missing=config.missing,
        by_name=is_imported(config.features) or names_transformer(config.features),
        episode_end=config.episode_end,
        storage_options=given.storage_options,
    )
    return Opened(
        source,
        _gamma(config),
        steps=_fewer(config.steps, source.length),
        rows=_fewer(config.steps, source.n_rows),
        is_recorded=True,
        is_live=config.source == ["-"],
    )


def _memory(config: EvaluationConfig, memory: Steps | Transitions, given: Given) -> Opened:
    check_options(MEMORY, config, given)
    source = InMemorySource(memory)
    steps = _fewer(config.steps, source.length)
    # Features that came as such are those to learn with; numbers of states are looked up.
    ready = (
        isinstance(memory, Transitions) and memory.kind != "states" and config.features == "auto"
    )
    features = Identity() if ready else None
    return Opened(source, _gamma(config), steps, steps, features=features, is_recorded=True)


def _environment(config: EvaluationConfig, env: Any, given: Given) -> Opened:
    """Steps of copies: the user's own environment stays where it is."""

    def make(**options: Any) -> Any:
        if options:
            expected = "none for an environment that is made already"
            raise fail("env_options", expected, ", ".join(options))
        try:
            return copy.deepcopy(env)
        except Exception as error:  # other people's code: anything can come
            got = f"{type(env).__name__} ({reason(error)})"
            remedy = "give a function that makes it: evaluate(lambda: ...)"
            raise fail("source", "an environment that can be copied", got, remedy) from error

    make.__name__ = type(getattr(env, "unwrapped", env)).__name__
    return _gym(config, make, given)


def _gym(config: EvaluationConfig, environment: str | Callable[..., Any], given: Given) -> Opened:
    from lincat.environments.gym import GymSource

    check_options(ENVIRONMENT, config, given)
    policy: Acting = config.policy if given.policy is None else given.policy
    if isinstance(policy, str):
        check_given(policy, "policy")
    steps = config.steps or _DEFAULT_STEPS
    if config.n_envs > steps:  # more would not make a step
        raise fail("n_envs", f"at most as many copies as steps, {steps:,}", f"{config.n_envs:,}")
    source = GymSource(
        environment,
        policy,
        steps=steps,
        seed=config.seed,
        n_envs=config.n_envs,
        env_options=config.env_options,
        trust_pickle=config.trust_pickle,
        action_noise=config.from_sums,
    )
    return Opened(source, _gamma(config), steps, steps, environment=environment, policy=policy)


def _minari(config: EvaluationConfig, name: str, given: Given) -> Opened:
    from lincat.environments.minari import MinariSource

    check_options(MINARI, config, given)
    source = MinariSource(name)
    steps = _fewer(config.steps, source.length)
    return Opened(source, _gamma(config), steps, steps, is_recorded=True)


def _process(config: EvaluationConfig, problem: Problem, given: Given) -> Opened:
    from lincat.processes.process_source import ProcessSource

    check_options(PROCESS, config, given)
    if config.gamma is not None and config.gamma != problem.gamma:
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


def _finite(config: EvaluationConfig, process: MarkovRewardProcess, given: Given) -> Opened:
    name = f"a process of {process.n_states:,} states"
    return _process(config, Problem(name, process, _gamma(config)), given)


def _gamma(config: EvaluationConfig) -> float:
    return _DEFAULT_GAMMA if config.gamma is None else config.gamma


def _fewer(wanted: int | None, there: int | None) -> int | None:
    known = [n for n in (wanted, there) if n is not None]
    return min(known, default=None)


def _is_array(path: str) -> bool:
    """Whether a JSON file holds an array, which is a log, and not a finite process."""
    try:
        with open(path, "rb") as file:
            return file.read(64).lstrip().startswith(b"[")
    except OSError:
        return False


def _looks_like_a_path(text: str) -> bool:
    """Whether a missing file was meant: it has a folder, or the ending of a log."""
    endings = tuple(ending for known in FORMATS.values() for ending in known)
    return ("/" in text and ":" not in text) or text.endswith(endings)


def _is_environment(name: str) -> bool:
    """Whether a bare word is an environment's; what imports a module first has to say "gym:"."""
    import gymnasium

    if ":" in name:
        return False
    return name in gymnasium.registry or name.split("/")[0] in {
        spec.namespace for spec in gymnasium.registry.values() if spec.namespace
    }


def _is_environment_object(thing: Any) -> bool:
    return not isinstance(thing, type) and all(hasattr(thing, x) for x in ("reset", "step"))


_KINDS = (
    _Kind(
        "a frame or a dict of columns", is_frame, lambda config, x, given: _files(config, given, x)
    ),
    _Kind(
        "lincat.Transitions",
        lambda x: isinstance(x, Transitions | Steps),
        _memory,
    ),
    _Kind(
        "a finite process",
        lambda x: isinstance(x, MarkovRewardProcess),
        _finite,
    ),
    _Kind(
        "a problem of the catalog",
        lambda x: isinstance(x, Problem),
        _process,
    ),
    _Kind("a Gymnasium environment", _is_environment_object, _environment),
    _Kind("a function that makes one", callable, _gym),
)
