"""What a run is bound to: its configuration, and the content of its source.

A checkpoint keeps the configuration and fingerprints of the source. What continues with another
configuration, or another source, would mix two answers in one: it is refused, with what differs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from lincat._arguments import fail
from lincat.environments.policy_words import policy_file
from lincat.processes import catalog
from lincat.runs.config import EvaluationConfig, differences
from lincat.runs.given import is_mark
from lincat.runs.sources import Opened
from lincat.tables.file_source import FileSource
from lincat.tables.fingerprints import Fingerprint, digest_of, of_file
from lincat.tables.formats import FORMATS
from lincat.tables.stores import is_address

# What may change on the way: each is checked in its own way, or only says how far to go.
_FREE = ("steps", "on_bad_rows", "source", "given_in", "trust_pickle", "workers", "scheduler")


def check_same_config(then: EvaluationConfig, now: EvaluationConfig, place: str) -> None:
    """Refuse to continue with settings that the run did not begin with."""
    one, other = (
        {key: value for key, value in msgspec.to_builtins(x).items() if key not in _FREE}
        for x in (then, now)
    )
    if one != other:
        remedy = "restore it, or begin another run with lincat evaluate --config"
        got = f"another: {differences(one, other)}"
        raise fail(place, "the configuration that the run began with", got, remedy)


def fingerprints_of(
    opened: Opened, config: EvaluationConfig, upto: Iterable[Fingerprint] = ()
) -> list[Fingerprint]:
    """Return what tells a source from others; none of environments, but of a policy's file."""
    before = {print.name: print for print in upto}
    found = []
    source, problem = opened.source, opened.problem
    if isinstance(source, FileSource):
        found += source.fingerprints(before)
    elif problem is not None:
        process = problem.process
        arrays = (process.state, process.reward, process.next_state, process.probability)
        found.append(Fingerprint(source.description, len(process.state), digest_of(arrays)))
    elif opened.is_recorded and opened.environment is None and is_mark(config.source[0]):
        found.append(_in_memory(opened, before.get(source.description)))
    policy = None if is_mark(config.policy) else policy_file(config.policy)
    if policy is not None and Path(policy).is_file():
        found.append(of_file(policy, before.get(os.path.abspath(policy))))
    return found


def _in_memory(opened: Opened, upto: Fingerprint | None) -> Fingerprint:
    length = opened.source.length or 0
    extent = length if upto is None else upto.extent
    rows, parts = 0, []
    for batch in opened.source.batches():
        part = batch[: extent - rows]
        rows += len(part)
        parts += [part.reward, part.terminated]
        if rows >= extent:
            break
    return Fingerprint(opened.source.description, extent, digest_of(parts))


def check_same_source(
    then: Sequence[Fingerprint], opened: Opened, config: EvaluationConfig, *, append: bool
) -> None:
    """Refuse to continue with another source; with ``append`` more may have come to its end."""
    now = {print.name: print for print in fingerprints_of(opened, config)}
    upto = {print.name: print for print in fingerprints_of(opened, config, then)}
    expected, remedy = "what the run began with", "restore it, or begin another run"
    for print in then:
        name = print.name
        if name not in now:
            raise fail(name, f"{expected}, in the same place", "nothing there", remedy)
        if now[name] == print:
            continue
        if print.with_more(now[name], upto[name]):
            if append:
                continue
            more = "the same with more at its end"
            raise fail(name, expected, more, "--append learns from what is new")
        raise fail(name, expected, f"something else ({_what(print, now[name])})", remedy)
    new = [name for name in now if name not in {print.name for print in then}]
    if new and not append:
        raise fail(new[0], "no part of the source that was not there before", "one", remedy)


def _what(then: Fingerprint, now: Fingerprint) -> str:
    if then.extent != now.extent:
        return f"its size was {then.extent:,} and is {now.extent:,}"
    return "of the same size, with another content"


# --------------------------------------------------------------------------------------- places


def given_here(config: EvaluationConfig) -> EvaluationConfig:
    """Return the configuration with relative paths meant from the current folder, noted in it.

    Those that were given in another folder are written out.
    """
    here = os.getcwd()
    if config.given_in not in (None, here):
        config = resolved(config)
    paths = [x for x in config.source if _is_path(x, here)] + [policy_file(config.policy) or "/"]
    relative = any(not os.path.isabs(path) for path in paths)
    return msgspec.structs.replace(config, given_in=here if relative else None)


def resolved(config: EvaluationConfig) -> EvaluationConfig:
    """Return the configuration with paths that mean the same from the current folder."""
    folder = config.given_in
    if folder is None or folder == os.getcwd():
        return config
    if not os.path.isabs(folder):  # with it before them, paths could become words of another kind
        raise fail("given_in", "an absolute path", repr(folder))
    source = [os.path.join(folder, x) if _is_path(x, folder) else x for x in config.source]
    policy, path = config.policy, policy_file(config.policy)
    if path is not None:
        policy = policy.removesuffix(path) + os.path.join(folder, path)
    return msgspec.structs.replace(config, source=source, policy=policy)


def _is_path(word: str, folder: str) -> bool:
    """Whether a word of a source names a place, seen from a folder, and not something else."""
    if word == "-" or is_mark(word) or is_address(word) or word in catalog.names():
        return False
    endings = tuple(ending for known in FORMATS.values() for ending in known)
    like = word.endswith((".json", *endings)) or any(sign in word for sign in "*?[")
    return like or os.path.exists(os.path.join(folder, word))
