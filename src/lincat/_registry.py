"""Our own classes by name: of each kind there is one list, a :class:`Registry`.

It names modules without importing them, so that the command line can offer the names at once.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Registry(Mapping[str, Any]):
    """The classes of a package by their words, imported when they are asked for.

    Attributes
    ----------
    package : str
    names : mapping
        The name of each class, by its word, which is also the name of its module.
    offered : tuple of str
        The words that the command line offers.

    Examples
    --------
    >>> from lincat._registry import Registry
    >>> grids = Registry("lincat.core", {"grid": "Grid"}, ("grid",))
    >>> grids["grid"], grids.named("Grid") is grids["grid"]
    (<class 'lincat.core.grid.Grid'>, True)
    """

    package: str
    names: Mapping[str, str]
    offered: tuple[str, ...]

    def __getitem__(self, word: str) -> Any:
        return getattr(importlib.import_module(f"{self.package}.{word}"), self.names[word])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def named(self, class_name: str) -> Any:
        """Return the class with this name, as files have it."""
        return self[{name: word for word, name in self.names.items()}[class_name]]
