"""Python objects that a run is given: what its configuration, which is text, cannot hold.

The configuration names them in angle brackets instead, so that a run that is read back says what it
needs to continue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lincat._arguments import fail
from lincat.environments.policies import Policy
from lincat.features._base import Features
from lincat.tables.places import frame_name, is_frame


@dataclass(frozen=True)
class Given:
    """What came as objects; None where the configuration says it.

    Attributes
    ----------
    source : object
        A frame, an environment or a function that makes one, transitions, a finite process.
    policy : function or Policy
    features : Features
    """

    source: Any = None
    policy: Callable[..., Any] | Policy | None = None
    features: Features | None = None


def mark_of(thing: Any) -> str:
    """Return what a configuration calls an object.

    Examples
    --------
    >>> from lincat.runs.given import mark_of
    >>> mark_of({"state": [0, 1], "reward": [0.0, 1.0]}), mark_of(len)
    ('<dict>', '<len>')
    """
    name = getattr(thing, "__qualname__", None) or frame_name(thing)
    spec = getattr(thing, "spec", None)
    return f"<{getattr(spec, 'id', None) or name}>"


def is_mark(text: str) -> bool:
    """Return whether a word of a configuration stands for an object."""
    return text.startswith("<") and text.endswith(">")


def check_given(text: str, argument: str) -> None:
    """Refuse a word that stands for an object which is not there."""
    if is_mark(text):
        raise fail(
            argument,
            f"the Python object that the run was given, {text}",
            "none",
            f"give it again: lincat.resume(run, {argument}=...)",
        )


def frames_of(source: str) -> str:
    """Return the library of the frame that a configuration names; empty if it was none.

    Examples
    --------
    >>> from lincat.runs.given import frames_of
    >>> frames_of("<pandas.DataFrame>"), frames_of("log.csv")
    ('pandas', '')
    """
    library = source.strip("<>").partition(".")[0] if is_mark(source) else ""
    return library if library in ("pandas", "polars", "pyarrow") else ""


def library_of(frame: Any) -> str:
    """Return the library of a frame; empty for what is none, or of another one."""
    return frames_of(mark_of(frame)) if is_frame(frame) else ""
