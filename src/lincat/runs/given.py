"""Python objects that a run is given: what its configuration, which is text, cannot hold.

The configuration names them in angle brackets instead, so that a run that is read back says what it
needs to continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lincat._arguments import fail
from lincat._text import shown
from lincat.environments.policies import Policy, Predictor
from lincat.features._base import Features
from lincat.features.transformer import FromTransformer
from lincat.tables.places import frame_name, is_frame


class Transformer(Protocol):
    """What makes features, as scikit-learn's transformers do."""

    def transform(self, X: Any, /) -> Any:
        """Return features of n observations, shape (n, d)."""


@dataclass(frozen=True)
class Given:
    """What came as objects; None where the configuration says it.

    Attributes
    ----------
    source : object
        A frame, an environment or a function that makes one, transitions, a finite process.
    policy : function, Policy or trained model; or the word that the user gave
        The configuration has "random" also where nobody said so.
    features : Features
    client : distributed.Client
        Of Dask.
    storage_options : mapping
        Of the file system of addresses. They may hold secrets, so that no file has them.
    """

    source: Any = None
    policy: str | Callable[..., Any] | Policy | Predictor | None = None
    features: Features | None = None
    client: Any = None
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def transformer(self) -> object:
        """The object that makes the features, if it is none of ours: a file only has its name."""
        return self.features.transformer if isinstance(self.features, FromTransformer) else None


def taken(options: dict[str, Any], client: Any = None) -> Given:
    """Return the objects among the arguments of a run, and leave their marks in their place."""
    storage_options = options.pop("storage_options")
    source, policy, features = (options[name] for name in ("source", "policy", "features"))
    words = words_of(source)
    given = Given(
        source=source if words is None else None,
        policy=policy,
        features=None if isinstance(features, str) else our_features(features),
        client=client,
        storage_options=storage_options,
    )
    options["source"] = [mark_of(source)] if words is None else words
    if policy is None:
        del options["policy"]
    elif not isinstance(policy, str):
        options["policy"] = mark_of(policy)
    options["features"] = features if given.features is None else mark_of(features)
    for name in ("env_options", "feature_options"):
        options[name] = dict(options[name] or {})
    return given


def our_features(features: Any) -> Features:
    """Return features, whoever's they are, as ours."""
    if isinstance(features, Features):
        return features
    if callable(getattr(features, "transform", None)):
        return FromTransformer(features)
    expected = "a word, features such as lincat.Fourier(), or an object with a method transform"
    raise fail("features", expected, shown(features))


def words_of(source: object) -> list[str] | None:
    """Return the texts that name a source; None for a source that is an object.

    Examples
    --------
    >>> from lincat.runs.given import words_of
    >>> words_of("log.csv"), words_of(["a.csv", "b.csv"]), words_of(3)
    (['log.csv'], ['a.csv', 'b.csv'], None)
    """
    if isinstance(source, str | Path):
        return [str(source)]
    if isinstance(source, list | tuple) and all(isinstance(x, str | Path) for x in source):
        return [str(path) for path in source]
    return None


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


def names_transformer(text: str) -> bool:
    """Return whether a word stands for a transformer of features that is none of ours.

    Examples
    --------
    >>> import lincat
    >>> from lincat.runs.given import mark_of, names_transformer
    >>> names_transformer("<sklearn.StandardScaler>"), names_transformer(mark_of(lincat.Fourier()))
    (True, False)
    """
    return is_mark(text) and (not text.startswith("<lincat.") or text.endswith(".FromTransformer>"))


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
