"""How far the values of a configuration reach: what they have imported, unpickled, connected to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from lincat._reach import Reach, Reaches, nowhere
from lincat.environments.policy_words import policy_file, policy_kind
from lincat.features.registry import is_imported
from lincat.tables.stores import is_remote


def _of_place(path: str) -> Reach:
    return Reach.CONNECTS if is_remote(path) else Reach.NOTHING


def _of_source(word: str) -> Reach:
    prefix, _, name = word.partition(":")
    if prefix == "gym" and ":" in name:  # gym:module:name
        return Reach.CODE
    return _of_place(name if prefix == "minari" else word)  # whose names are paths below a folder


def _of_policy(word: str) -> Reach:
    runs = Reach.CODE if policy_kind(word) in ("model", "module") else Reach.NOTHING
    return runs | _of_place(policy_file(word) or "")


def _of_features(word: str) -> Reach:
    return Reach.CODE if is_imported(word) else Reach.NOTHING


def _of_options(options: Mapping[str, Any]) -> Reach:
    """Numbers name nothing; what a text has done is up to whoever makes the environment.

    Some of Gymnasium's own import what a text names, others open it.
    """
    return Reach.CODE if _has_text(list(options.values())) else Reach.NOTHING


def _has_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True  # its keys
    if isinstance(value, list | tuple):
        return any(map(_has_text, value))
    return value is not None and not isinstance(value, bool | int | float)


def _of_scheduler(_: str) -> Reach:
    """Dask unpickles what a scheduler answers."""
    return Reach.CODE | Reach.CONNECTS


Place: TypeAlias = Annotated[str, Reaches(_of_place)]
SourceWord: TypeAlias = Annotated[str, Reaches(_of_source)]
PolicyWord: TypeAlias = Annotated[str, Reaches(_of_policy)]
FeaturesWord: TypeAlias = Annotated[str, Reaches(_of_features)]
SchedulerAddress: TypeAlias = Annotated[str, Reaches(_of_scheduler, option="--scheduler")]
EnvOptions: TypeAlias = Annotated[dict[str, Any], Reaches(_of_options)]
#: Features that are named are ours: they take numbers and words of their own.
FeatureOptions: TypeAlias = Annotated[dict[str, Any], Reaches(nowhere)]
