"""Which options each kind of source takes: one that nothing would come of is refused.

Options of what is learned and shown go with every source. These belong to some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lincat._arguments import fail
from lincat._text import shown
from lincat.runs.config import EvaluationConfig
from lincat.runs.given import Given

_POLICY = "policy"
_READING = ("columns", "on_bad_rows", "missing", "episode_end")
_ACTING = (_POLICY, "n_envs", "env_options", "trust_pickle")
_OF_BLOCKS = ("since", "until", "last_blocks")


@dataclass(frozen=True)
class SourceKind:
    """A kind of source.

    Attributes
    ----------
    words : str
    takes : tuple of str
        Of the options that belong to some kinds of source.
    own_policy : str
        Why it takes no policy; empty where it does.
    """

    words: str
    takes: tuple[str, ...]
    own_policy: str = ""


_OF_A_LOG = (
    "a policy acts in environments alone; the returns of a log are those of the policy that made "
    "it, and another policy than the log's own cannot be evaluated yet"
)
_OF_A_PROCESS = "what a finite process draws has the policy in it"

FILES = SourceKind("a log", ("format", *_READING), _OF_A_LOG)
ADDRESS = SourceKind("a log at an address", ("format", "storage_options", *_READING), _OF_A_LOG)
FRAME = SourceKind("a frame", _READING, _OF_A_LOG)
MEMORY = SourceKind("transitions", (), _OF_A_LOG)
MINARI = SourceKind("a Minari data set", (), _OF_A_LOG)
ENVIRONMENT = SourceKind("an environment", _ACTING)
PROCESS = SourceKind("a finite process", ("sampling",), _OF_A_PROCESS)
STATISTICS = SourceKind("statistics", _OF_BLOCKS, _OF_A_LOG)

_KINDS = (FILES, ADDRESS, FRAME, MEMORY, MINARI, ENVIRONMENT, PROCESS, STATISTICS)


def check_options(kind: SourceKind, config: EvaluationConfig, given: Given) -> None:
    """Refuse options that were given and that this kind of source has no use for."""
    usual = EvaluationConfig(source=config.source)
    for name in _belonging_to_some():
        value: Any = getattr(given, name, None)
        if value is None and name in EvaluationConfig.__struct_fields__:
            value = _unless(getattr(config, name), getattr(usual, name))
        if value is None or (isinstance(value, Mapping) and not value) or name in kind.takes:
            continue
        other = " or ".join(dict.fromkeys(x.words for x in _KINDS if name in x.takes))
        why = kind.own_policy if name == _POLICY else f"it is for {other}"
        # Values of storage options may be secrets.
        got = ", ".join(map(str, value)) if isinstance(value, Mapping) else shown(value, 60)
        raise fail(name, f"none beside {kind.words}", got, f"leave it out: {why}")


def only_of(kind: SourceKind, config: EvaluationConfig) -> EvaluationConfig:
    """Return the configuration without the options that this kind of source has no use for."""
    usual = EvaluationConfig(source=config.source)
    others = [name for name in _belonging_to_some() if name not in kind.takes]
    fields = [name for name in others if name in EvaluationConfig.__struct_fields__]
    return msgspec.structs.replace(config, **{name: getattr(usual, name) for name in fields})


def _belonging_to_some() -> list[str]:
    return list(dict.fromkeys(name for kind in _KINDS for name in kind.takes))


def _unless(value: Any, usual: Any) -> Any:
    return None if value == usual else value
