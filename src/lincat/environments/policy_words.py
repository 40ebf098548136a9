"""What a word for a policy stands for: told once, for whoever makes it and for who allows it."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Of lincat's own; a table of numbers; a pickle of Stable-Baselines3's; a function to import.
PolicyKind: TypeAlias = Literal["random", "balance", "table", "model", "module"]

_SB3 = "sb3:"


def policy_kind(word: str) -> PolicyKind | None:
    """Return what a word stands for; None for one that is no policy.

    Examples
    --------
    >>> from lincat.environments.policy_words import policy_kind
    >>> [policy_kind(word) for word in ("balance", "p.npy", "sb3:PPO:p.npy", "mine:act", "x")]
    ['balance', 'table', 'model', 'module', None]
    """
    if word == "random":
        return "random"
    if word == "balance":
        return "balance"
    if word.startswith(_SB3) or word.endswith(".zip"):
        return "model"
    if word.endswith((".json", ".npy")):
        return "table"
    return "module" if ":" in word else None


def policy_file(word: str) -> str | None:
    """Return the path in a word, if there is one.

    Examples
    --------
    >>> from lincat.environments.policy_words import policy_file
    >>> policy_file("sb3:PPO:model.zip"), policy_file("table.npy"), policy_file("mine:act")
    ('model.zip', 'table.npy', None)
    """
    kind = policy_kind(word)
    if kind == "model":
        return model_file(word)[1]
    return word if kind == "table" else None


def model_file(word: str) -> tuple[str, str]:
    """Return the kind of a trained model, which may be empty, and its path."""
    if not word.startswith(_SB3):
        return "", word
    kind, _, path = word.removeprefix(_SB3).rpartition(":")
    return kind, path
